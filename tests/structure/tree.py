"""The files of the source tree, for the checks beside this file."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {"build", "dist", ".git", "__pycache__", "node_modules"}
SOURCE_SUFFIXES = {".cpp", ".hpp", ".c", ".h"}


def files():
    """All files of the tree, without build results and git's own."""
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_symlink():
                continue
            if path.is_dir():
                if path.name not in SKIPPED_FOLDERS:
                    pending.append(path)
            else:
                yield path


def sources():
    return [path for path in files() if path.suffix in SOURCE_SUFFIXES and path.name != "vmlinux.h"]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def finish(problems: list, checked: int) -> None:
    """Ends the check: prints a line per problem, and never succeeds if nothing was checked."""
    for problem in problems:
        print(problem)
    if checked == 0:
        print("nothing was checked")
    else:
        print(f"{checked} checked, {len(problems)} wrong")
    sys.exit(1 if problems or checked == 0 else 0)
