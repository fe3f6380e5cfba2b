"""Containers that start and end one after another, each with a program never seen before: a
separate tmpfs with an overlay on it, and a separate root folder. Each is watched, and ends when it
has answered its requests. All of these must be known, and the files of their code."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

from lagtrap_test import PROGRAMS, Daemon, check, run, wait_for

RUNS = 3  # of short_lived
BOX = f"/opt/lagtrap-box-{os.getpid()}"  # other tests of this file may run at the same time
EVENT = (
    f'<event name="work" threshold="10s" trace-length="1s" binary="*{BOX}/server">'
    '<function name="handle_request"/></event>'
)

# As container managers do it. The program is copied after all mounts, as an image's upper layer is
# written.
INSIDE = """
set -e
mount -t tmpfs box "$0"
mkdir "$0/upper" "$0/work" "$0/top"
mount -t overlay box -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/top"
mkdir -p "$0/top$1"
cp "$2" "$0/top$1/server"
server=$1/server
shift 2
exec chroot "$0/top" "$server" "$@"
"""


def work(daemon):
    return daemon.status()["events"][0]


def is_watched(daemon, pid):
    return any(copy["pid"] == pid and not copy["problem"] for copy in work(daemon)["copies"])


def run_container(daemon=None):
    """Runs one until it ends. The program waits until the daemon watches it, or 0.4 s."""
    folder = tempfile.mkdtemp(prefix="lagtrap-box-")
    try:
        with subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--propagation",
                "private",
                "sh",
                "-c",
                INSIDE,
                folder,
                BOX,
                PROGRAMS / "short_lived",
                *(["wait"] if daemon else []),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as container:
            if daemon:
                check(container.stdout.readline() == "ready\n", "the program did not start")
                pid = int(
                    pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text()
                )
                wait_for(
                    lambda: is_watched(daemon, pid),
                    lambda: f"process {pid} to be watched: {work(daemon)}",
                )
            container.communicate("go\n")
        check(container.returncode == 0, f"the program ended with {container.returncode}")
    finally:
        os.rmdir(folder)


def all_are_seen(containers, at_once=1, waits=True):
    with Daemon(EVENT) as daemon:
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for done in [
                pool.submit(run_container, daemon if waits else None) for _ in range(containers)
            ]:
                done.result()
        wait_for(
            lambda: work(daemon)["runs"] == RUNS * containers,
            lambda: f"the last runs: {work(daemon)}",
        )
        status = json.dumps(daemon.status())
        check("no longer mounted" not in status, f"files of containers were not read: {status}")


def some_after_another():
    all_are_seen(25)


def many_after_another():
    all_are_seen(200)


def those_of_half_a_second():
    """Their programs do not wait, so nothing else may run beside this."""
    all_are_seen(200, waits=False)


def several_at_once():
    all_are_seen(60, at_once=4)


if __name__ == "__main__":
    run(some_after_another, many_after_another, those_of_half_a_second, several_at_once)
