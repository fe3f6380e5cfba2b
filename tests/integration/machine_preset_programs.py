"""Slow operations for the presets that watch the machine: units, disks and CPUs."""

import os
import pathlib
import shutil
import subprocess
import time

from control_groups import command_in, group
from lagtrap_test import check, wait_for
from servers import PYTHON

PLANTED_MS = 400
# systemd as a user's manager, in a mount namespace where it finds what a machine it had booted has.
SYSTEMD = """
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup && mkdir -p /run/systemd || exit 1
mount -t tmpfs none /run/systemd && mkdir /run/systemd/system || exit 1
mkdir "/sys/fs/cgroup/$1" && echo $$ > "/sys/fs/cgroup/$1/cgroup.procs" || exit 1
/usr/lib/systemd/systemd --user --unit=default.target &
MANAGER=$!
trap 'kill -KILL $MANAGER; wait $MANAGER; echo $$ > /sys/fs/cgroup/cgroup.procs
      find "/sys/fs/cgroup/$1" -depth -type d -exec rmdir {} \\;; exit 0' TERM
wait $MANAGER
"""


def start_systemd(world):
    units = world.folder / ".config/systemd/user"
    units.mkdir(parents=True)
    (units / "default.target").write_text("[Unit]\nDescription=Nothing\n", encoding="ascii")
    (units / "slow.service").write_text(
        "[Service]\nType=oneshot\nExecStart=/bin/sleep 0.4\n", encoding="ascii"
    )
    world.environment = {
        **os.environ,
        "HOME": str(world.folder),
        "XDG_RUNTIME_DIR": str(world.folder),
    }
    world.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
    manager = world.start(
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "bash",
        "-c",
        SYSTEMD,
        "bash",
        f"lagtrap-test-{os.getpid()}",
        env=world.environment,
    )
    world.at_end(lambda: (manager.terminate(), manager.wait(timeout=60)))
    wait_for(lambda: ask_systemd(world, "is-active", "default.target") == 0, "systemd")


def ask_systemd(world, *words):
    return subprocess.run(
        ["systemctl", "--user", *words], env=world.environment, check=False, capture_output=True
    ).returncode


def start_unit(world):
    check(ask_systemd(world, "start", "slow.service") == 0, "the unit did not start")


def run_shell(world, script):
    return world.run("bash", "-c", 'set -e; cd "$0"; ' + script, world.folder).strip()


def stack_disks(world):
    """A disk in a file on a file system that can be frozen, and one that keeps working
    meanwhile."""
    world.at_end(
        lambda: run_shell(
            world,
            "umount mounted || true; for name in outer other mounted/inner; "
            "do losetup -j $name -O NAME -n | xargs -r losetup -d; done",
        )
    )
    run_shell(
        world,
        "truncate -s 64M outer; mkfs.ext4 -q outer; mkdir mounted; mount -o loop outer mounted; "
        "dd if=/dev/zero of=mounted/inner bs=1M count=8 status=none; sync mounted/inner; "
        "truncate -s 8M other",
    )
    world.disk = run_shell(world, "losetup -f --show mounted/inner")
    world.at_end(lambda: run_shell(world, f"losetup -d {world.disk}"))
    world.other_disk = run_shell(world, "losetup -f --show other")


def sum_over_disks(field):
    """The sum of a field in the statistics of all disks, numbered from 0 as in the kernel's
    Documentation/block/stat.rst."""
    return sum(
        int((disk / "stat").read_text().split()[field])
        for disk in pathlib.Path("/sys/block").iterdir()
    )


def count_requests_without_partner():
    """Requests in progress now, whose begins were not seen, and flushes from now on: a flush
    begins at sector 0 and ends without a sector, and the write that it follows ends once more."""
    under_way, flushes = sum_over_disks(8), sum_over_disks(15)
    return lambda: under_way + 3 * (sum_over_disks(15) - flushes)


def write_one_sector(disk):
    return (
        "dd",
        "if=/dev/zero",
        f"of={disk}",
        "oflag=direct",
        "bs=4k",
        "count=1",
        "seek=100",
        "conv=notrunc",
    )


def write_to_frozen_disk(world):
    """Meanwhile the same sector of another disk is written, which is a different request."""
    run_shell(world, "fsfreeze -f mounted")
    writer = world.start(*write_one_sector(world.disk))
    wait_for(
        lambda: pathlib.Path("/sys/block", os.path.basename(world.disk), "inflight")
        .read_text()
        .split()
        != ["0", "0"],
        "the request",
    )
    world.run(*write_one_sector(world.other_disk))
    time.sleep(PLANTED_MS / 1000)
    run_shell(world, "fsfreeze -u mounted")
    check(writer.wait(timeout=60) == 0, "dd failed")


def write_much(world):
    world.program = world.folder / "dd"
    shutil.copy("/usr/bin/dd", world.program)


def sync_file(world):
    world.run(
        world.program, "if=/dev/zero", f"of={world.folder}/file", "bs=1M", "count=500", "conv=fsync"
    )


# Wakes up each millisecond, while a higher-priority thread allows it, and for another second.
WAITER = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 1.5
while time.monotonic() < end: time.sleep(0.001)
"""
# Takes the CPU for itself, as a real-time thread may.
CPU_HOG = """
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
def hog_the_cpu(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
hog_the_cpu(0.45)
"""
HOG_NAME = "cpu-hog"


def start_waiter(world):
    slice_group = group("app.slice", f"waiter-{os.getpid()}.service")
    folder = slice_group.__enter__()
    world.at_end(lambda: slice_group.__exit__(None, None, None))
    world.cpu = str(min(os.sched_getaffinity(0)))
    world.program = world.start(
        *command_in(folder, "taskset", "-c", world.cpu, PYTHON, "-c", WAITER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    world.at_end(lambda: (world.program.kill(), world.program.wait()))
    check(world.program.stdout.readline() == "ready\n", "the program did not start")


def take_its_cpu(world):
    world.program.stdin.write("go\n")
    world.program.stdin.flush()
    hog = world.folder / HOG_NAME
    hog.symlink_to(PYTHON)
    world.run("taskset", "-c", world.cpu, hog, "-c", CPU_HOG)
    check(world.program.wait(timeout=120) == 0, "the waiter failed")


def beside_its_cpu(world):
    """Keeps lagtrapd off the CPU that is taken. Otherwise, if other programs have all other CPUs,
    it would itself wait there until the recording comes too late."""
    others = os.sched_getaffinity(0) - {int(world.cpu)}
    return ("taskset", "-c", ",".join(map(str, sorted(others)))) if others else ()
