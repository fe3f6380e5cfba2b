"""No include and no link points upward: docs/architecture.md has the same table in words."""

import re

import tree

# Folder: the folders whose headers it may include and whose libraries it may link.
ALLOWED = {
    "core": set(),
    "markers": set(),
    "bpf": {"core"},
    "calls": {"core"},
    "binaries": {"core", "bpf"},
    "settings": {"core", "binaries", "calls"},
    "trace": {"core", "binaries", "bpf", "calls"},
    "analysis": {"core", "binaries", "calls", "trace"},
    "formats": {"core", "trace", "analysis"},
    "uploader": {"core", "settings"},
    "daemon": {"core", "binaries", "calls", "settings", "bpf", "trace", "uploader"},
    "server": {"core", "trace", "analysis", "formats"},
    "cli": {"core", "binaries", "calls", "settings", "bpf", "trace", "analysis", "formats", "uploader"},
    "examples": {"markers"},
}
# Of these folders others may include this header alone.
ONLY_HEADER = {("trace", "bpf"): "bpf/records.h", ("binaries", "bpf"): "bpf/unwind.h",
               ("daemon", "uploader"): "uploader/spool.hpp",
               ("cli", "bpf"): "bpf/kernel_features.hpp",
               ("cli", "uploader"): "uploader/spool.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LINK = re.compile(r"\blagtrap_([a-z]+)\b")
# Made by the build, so they have no folder; and the library of flags.
GENERATED = re.compile(r"^[a-z_]+\.skel\.h$|^vmlinux\.h$")


def check_include(folder: str, header: str) -> str:
    target = header.split("/")[0]
    if GENERATED.match(header):
        return ""
    if not (tree.ROOT / header).is_file():
        return "is not a path from the top of the tree"
    if target == folder:
        return ""
    if target not in ALLOWED[folder]:
        return f"points upward: {folder} may use {', '.join(sorted(ALLOWED[folder])) or 'no other folder'}"
    only = ONLY_HEADER.get((folder, target), header)
    return "" if header == only else f"reaches past {only}, which is all that {folder} may see of {target}"


def main() -> None:
    problems, checked = [], 0
    for path in tree.sources():
        folder = tree.relative(path).split("/")[0]
        if folder not in ALLOWED:
            continue
        for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
            checked += 1
            wrong = check_include(folder, match.group(1))
            if wrong:
                problems.append(f'{tree.relative(path)}: "{match.group(1)}" {wrong}')
    for folder, allowed in ALLOWED.items():
        listing = tree.ROOT / folder / "CMakeLists.txt"
        if not listing.is_file():
            continue
        # Tests may link anything; what they link stands in the calls that make them.
        text = re.sub(r"lagtrap_(unit|integration)_test\([^)]*\)", "", listing.read_text(encoding="utf-8"))
        for target in set(LINK.findall(text)) & set(ALLOWED):
            checked += 1
            if target != folder and target not in allowed:
                problems.append(f"{folder}/CMakeLists.txt: lagtrap_{target} points upward")
    tree.finish(problems, checked)


if __name__ == "__main__":
    main()
