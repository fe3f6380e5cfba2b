import subprocess
import time

from case import ANONYMOUS, PROGRAMS, Case, Expected, call_event
from lagtrap_test import wait_for

FROZEN_S = 0.3  # planted: until long after the recording begins


def run(*command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=60)


def prepare(world):
    disk, mounted = world.folder / "disk", world.folder / "mounted"
    with disk.open("wb") as image:
        image.truncate(64 << 20)
    mounted.mkdir()
    run("mkfs.ext4", "-q", disk)
    run("mount", "-o", "loop", disk, mounted)
    world.at_end(lambda: run("umount", "--lazy", mounted))
    world.mounted = mounted
    world.program = world.watched(PROGRAMS / "frozen", mounted / "counters")


def provoke(world):
    run("fsfreeze", "--freeze", world.mounted)
    world.program.go()
    wait_for(lambda: world.daemon.status()["state"] == "recording", "the write to be recorded")
    time.sleep(FROZEN_S)
    run("fsfreeze", "--unfreeze", world.mounted)
    world.program.process.communicate(timeout=60)


CASE = Case(
    "a mapped file whose file system is frozen",
    "frozen.cpp",
    lambda world: call_event(ANONYMOUS + "count_request", PROGRAMS / "frozen"),
    provoke,
    Expected(
        cause=(
            r"mapped file of a frozen file system in count_request \(\S*/counters\b.*until "
            r"fsfreeze .* thawed it"
        ),
        guilty=r"\bcount_request\b",
        holder=r"^fsfreeze of fsfreeze\b",
    ),
    100,
    prepare,
)
