"""Containers that start and end one after another, each with a program never seen before: a
separate tmpfs with an overlay on it, and a separate root folder. Everything in the first second
of each must be known: runs, and the files of their code."""

import concurrent.futures
import json
import os
import subprocess
import tempfile

from lagtrap_test import PROGRAMS, Daemon, TestFailure, check, run, wait_for

RUNS = 3  # of short_lived
EVENT = ('<event name="work" threshold="10s" trace-length="1s" binary="*/lagtrap-box/server">'
         '<function name="handle_request"/></event>')

# As container managers do it. The program is copied after all mounts, as an image's upper layer is
# written.
INSIDE = """
set -e
mount -t tmpfs box "$0"
mkdir "$0/upper" "$0/work" "$0/top"
mount -t overlay box -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/top"
mkdir -p "$0/top/opt/lagtrap-box"
cp "$1" "$0/top/opt/lagtrap-box/server"
exec chroot "$0/top" /opt/lagtrap-box/server
"""


def work(daemon):
    return daemon.status()["events"][0]


def run_container():
    folder = tempfile.mkdtemp(prefix="lagtrap-box-")
    try:
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", INSIDE, folder,
                        PROGRAMS / "short_lived"], check=True)
    finally:
        os.rmdir(folder)


def count_unseen(daemon, containers, at_once):
    """How many runs of this many containers were not counted."""
    before = work(daemon)["runs"]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(run_container) for _ in range(containers)]:
            done.result()
    expected = before + RUNS * containers
    try:
        wait_for(lambda: work(daemon)["runs"] >= expected, "the runs of the last container", 5)
    except TestFailure:
        pass
    return expected - work(daemon)["runs"]


def check_files_known(daemon):
    status = json.dumps(daemon.status())
    check("no longer mounted" not in status, f"files of containers were not read: {status}")


def their_files_are_read():
    """However new their mounts are."""
    with Daemon(EVENT) as daemon:
        count_unseen(daemon, 25, 1)
        check_files_known(daemon)
        check(work(daemon)["runs"] > 0, f"no run was seen: {work(daemon)}")


def all_are_seen(containers, at_once=1):
    with Daemon(EVENT) as daemon:
        unseen = count_unseen(daemon, containers, at_once)
        check_files_known(daemon)
        check(unseen == 0, f"{unseen} of {RUNS * containers} runs were not seen: {work(daemon)}")


def some_after_another():
    all_are_seen(25)


def many_after_another():
    all_are_seen(200)


def several_at_once():
    all_are_seen(60, at_once=4)


if __name__ == "__main__":
    run(their_files_are_read, some_after_another, many_after_another, several_at_once)
