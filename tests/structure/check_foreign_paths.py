"""The daemon does not touch file systems or memory that a process controls: only helpers look at
what is behind /proc/PID/root, exe, cwd, mem, map_files, cmdline and environ
(daemon/processes/inspector_pool.hpp)."""

import re

import tree

# Code that helpers run. The daemon requests it through inspector_pool.cpp.
OF_HELPERS = {
    f"daemon/processes/{name}"
    for name in (
        "careful_walk.cpp",
        "code_file_copier.cpp",
        "foreign_files.cpp",
        "inspector_service.cpp",
        "process_inspector.cpp",
        "process_texts.cpp",
        "started_path.cpp",
    )
}
SHAPED = r"(?:root|exe|cwd|mem|map_files|cmdline|environ)"
# Part of a path in quotes: "/proc/{}/exe", "/exe", "exe" after a slash or in a call.
LITERAL = re.compile(rf'"(?:[^"\s]*/)?{SHAPED}(?:/[^"\s]*)?"')
OWN = re.compile(r'"/proc/self/')
# The text of a link comes from the kernel.
OF_THE_LINK = re.compile(r"\b(?:readlink|readlinkat|read_symlink)\(")
# Functions that look there; only for the same files.
FUNCTIONS = re.compile(
    r"\b(?:started_path|describe_process|for_each_code_mapping|open_own_tmp|open_mapped_file|"
    r"walk_to|find_module_file|mapped_files)\("
)


def statements(text: str):
    """Each statement with its line; without comments."""
    text = re.sub(r"//[^\n]*", "", text)
    line = 1
    for statement in re.split(r"(?<=[;{}])", text):
        yield line + len(statement) - len(statement.lstrip("\n")), statement
        line += statement.count("\n")


def problems_of(name: str, text: str) -> list:
    found = []
    for line, statement in statements(text):
        for literal in LITERAL.finditer(statement):
            is_path = "/" in literal[0] or re.search(r"/\s*$", statement[: literal.start()])
            if (
                is_path
                and not OWN.match(literal[0])
                and "/proc/self" not in statement
                and not OF_THE_LINK.search(statement)
            ):
                found.append(
                    f"{name}:{line}: {literal[0]} leads to what a process shapes at will: "
                    "ask the inspector pool"
                )
        for function in FUNCTIONS.finditer(statement):
            found.append(
                f"{name}:{line}: {function[0]}...) looks at what a process shapes at will: "
                "ask the inspector pool"
            )
    return found


def main() -> None:
    problems, checked = [], 0
    for path in tree.sources():
        name = tree.relative(path)
        if not name.startswith("daemon/") or path.suffix != ".cpp" or name in OF_HELPERS:
            continue
        checked += 1
        problems += problems_of(name, path.read_text(encoding="utf-8"))
    for name in sorted(OF_HELPERS):
        if not (tree.ROOT / name).is_file():
            problems.append(f"{name} is not there: tests/structure/check_foreign_paths.py names it")
    tree.finish(problems, checked)


if __name__ == "__main__":
    main()
