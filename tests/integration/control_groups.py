"""Control groups of version 2 below one of the test's own, created as a manager does."""

import contextlib
import os
import pathlib

from lagtrap_test import skip, wait_for


def hierarchy():
    """Where control groups of version 2 are mounted."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line:
            return pathlib.Path(line.split()[4])
    skip("control groups of version 2 are not mounted")


@contextlib.contextmanager
def group(*names):
    """A control group below others, created as a manager does."""
    made = []
    try:
        folder = hierarchy() / f"lagtrap-test-{os.getpid()}"
        for name in ("", *names):
            folder = folder / name if name else folder
            if not folder.exists():
                folder.mkdir()
                made.append(folder)
        yield folder
    finally:
        for folder in reversed(made):
            wait_for(
                lambda folder=folder: not (folder / "cgroup.procs").read_text(),
                "the group's processes to end",
            )
            folder.rmdir()


def command_in(folder, *command):
    """A command that is in the group from its first instruction."""
    return ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$0" "$@"', *map(str, command)]
