"""No include and no link points upward: docs/architecture.md has the same table in words."""

import re

import tree

# Folder: the folders whose headers it may include and whose libraries it may link.
ALLOWED = {
    "core": set(),
    "markers": set(),
    "bpf": {"core"},
    "calls": {"core"},
    "sandbox": {"core"},
    "spool": {"core", "sandbox"},
    "binaries": {"core", "sandbox", "bpf"},
    "settings": {"core", "sandbox", "binaries", "calls"},
    "trace": {"core", "sandbox", "binaries", "bpf", "calls"},
    "analysis": {"core", "binaries", "calls", "trace"},
    "formats": {"core", "trace", "analysis"},
    "uploader": {"core", "settings", "spool"},
    "daemon": {"core", "sandbox", "spool", "binaries", "calls", "settings", "bpf", "trace"},
    "server": {"core", "sandbox", "calls", "trace", "analysis", "formats"},
    "cli": {"core", "sandbox", "spool", "binaries", "calls", "settings", "bpf", "trace", "analysis", "formats", "uploader"},
    "examples": {"markers"},
}
# The rooms of a folder, each a library, in an order in which each may use those before it.
ROOMS = {
    "trace": ("logs", "perfetto", "processes", "run_batches", "system_file", "stacks", "names", "bundle", "merge"),
    "daemon": ("threads", "kernel", "processes", "unwinding", "probes", "events", "control", "budget", "calls", "functions",
               "objects", "tracing", "merges", "capture", "runs", "status"),
    "server": ("sketch", "store", "reports", "web", "accounts", "ingest", "tell", "api"),
    "cli": ("console", "control", "bundles", "status", "programs", "daemons", "calls", "objects", "reports", "why", "doctor", "add", "watch"),
}
# What one folder may see of the headers that the kernel's side and user space share.
ONLY_HEADERS = {("trace", "bpf"): {"bpf/records.h"}, ("binaries", "bpf"): {"bpf/unwind.h"},
                ("cli", "bpf"): {"bpf/kernel_features.hpp"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LINK = re.compile(r"\blagtrap_([a-z_]+)\b")
# Made by the build, so they have no folder.
GENERATED = re.compile(r"^[a-z_]+\.skel\.h$")


def room_of(path: str) -> tuple:
    """The folder of a file, and its room or "" for what stands at the folder's root."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def room_allowed(folder: str, room: str, target: str) -> bool:
    """Whether a room may use another of its folder; what stands at the root may use them all, and is used by none."""
    rooms = ROOMS.get(folder, ())
    if room == target or room == "" or room not in rooms:
        return True
    return target in rooms and rooms.index(target) < rooms.index(room)


def check_include(path: str, header: str) -> str:
    folder, room = room_of(path)
    target, target_room = room_of(header)
    if GENERATED.match(header):
        return ""
    if not (tree.ROOT / header).is_file():
        return "is not a path from the top of the tree"
    if target == folder:
        return "" if room_allowed(folder, room, target_room) else f"points upward: {folder}/{room} comes before {target_room or 'what is at the root'}"
    if target not in ALLOWED[folder]:
        return f"points upward: {folder} may use {', '.join(sorted(ALLOWED[folder])) or 'no other folder'}"
    only = ONLY_HEADERS.get((folder, target), {header})
    return "" if header in only else f"reaches past {', '.join(sorted(only))}, which is all that {folder} may see of {target}"


def library(target: str) -> tuple:
    """The folder and room of a library's name without its prefix; none for those that are no folder's."""
    for folder, rooms in ROOMS.items():
        for room in rooms:
            if target == f"{folder}_{room}":
                return folder, room
    return (target, "") if target in ALLOWED else ("", "")


def check_links(listing: str, text: str) -> list:
    folder, room = room_of(listing)
    problems = []
    # Tests may link anything; what they link stands in the calls that make them.
    for name in set(LINK.findall(re.sub(r"lagtrap_(unit|integration)_test\([^)]*\)", "", text))):
        target, target_room = library(name)
        if not target:
            continue
        if target == folder:
            if target_room and not room_allowed(folder, room, target_room):
                problems.append(f"{listing}: lagtrap_{name} points upward")
        elif target not in ALLOWED[folder]:
            problems.append(f"{listing}: lagtrap_{name} points upward")
    return problems


def main() -> None:
    problems, checked = [], 0
    for path in tree.sources():
        name = tree.relative(path)
        if room_of(name)[0] not in ALLOWED:
            continue
        for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
            checked += 1
            wrong = check_include(name, match.group(1))
            if wrong:
                problems.append(f'{name}: "{match.group(1)}" {wrong}')
    for folder in ALLOWED:
        for listing in sorted((tree.ROOT / folder).rglob("CMakeLists.txt")):
            checked += 1
            problems += check_links(tree.relative(listing), listing.read_text(encoding="utf-8"))
    for folder, rooms in ROOMS.items():
        for path in sorted((tree.ROOT / folder).iterdir()):
            if path.is_dir() and path.name not in rooms:
                problems.append(f"{tree.relative(path)} is a room without a place in the order of tests/structure/check_includes.py")
    tree.finish(problems, checked)


if __name__ == "__main__":
    main()
