"""The main job from marker to report, shown step by step: ./dev demo runs it.

A server and the daemon start in a temporary folder. A program with a planted delay runs (a
thread waits 300 ms for a lock that another thread holds, among 2,000 fast runs). The recording
is merged, uploaded and explained. The build directory is the argument; needs root. Exits with 0,
or with 1 and the reason.
"""

import json
import os
import pathlib
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/ci").resolve()
os.environ["LAGTRAP_BUILD_DIR"] = str(BUILD)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "integration"))
import lagtrap_test as parts  # noqa: E402  (the path is set above)
from lagtrap_server import Server  # noqa: E402

SLOW_MS = 300


def step(text):
    print(f"\n== {text}", flush=True)


def show(*command):
    """Runs a command with its output on ours."""
    print(
        "$ "
        + " ".join(
            pathlib.Path(str(part)).name if index == 0 else str(part)
            for index, part in enumerate(command)
        ),
        flush=True,
    )
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, timeout=300)
    parts.check(done.returncode == 0, f"{command[0]} ended with {done.returncode}")


def demonstrate():
    parts.require_bpf()
    with Server() as server:
        step(f"a server listens on {server.url}")
        event = parts.library_event(
            "work",
            parts.PLANTED,
            threshold="50ms",
            trace_length="1s",
            stages=("prepare", "execute", "finish"),
        )
        with parts.Daemon(event, more=f'<upload url="{server.url}"/>') as daemon:
            step('lagtrapd watches the event "work": slower than 50 ms is a delay')
            print(event)
            step(
                f"a program makes 2,000 fast runs and one in which it waits {SLOW_MS} ms for a lock"
            )
            with parts.Watched(
                parts.PLANTED,
                "--kind",
                "lock",
                "--fast",
                "1000",
                "--slow-ms",
                str(SLOW_MS),
                "--wait",
            ) as program:
                print("what the program itself says:", json.dumps(program.go().result()))
            bundle = daemon.wait_for_bundles(1)[0]
            show(parts.LAGTRAP, "status", "--socket", daemon.socket_path)

            step("what lagtrap found")
            show(parts.LAGTRAP, "report", bundle)

            step("the uploader brings it to the server")
            show(parts.UPLOADER, "--settings", daemon.settings_path, "--once")
            listed = server.parsed_bundles()
            parts.check(len(listed) == 1, f"the server lists {len(listed)} bundles")
            print("the server lists:", json.dumps(listed[0], indent=2))


if __name__ == "__main__":
    try:
        demonstrate()
    except parts.TestFailure as failure:
        print(f"the demo failed: {failure}", file=sys.stderr)
        sys.exit(1)
