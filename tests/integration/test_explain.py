"""`lagtrap explain`: why an event has no delay, for programs and settings with each reason."""

import json
import os
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    library_event,
    run,
    wait_for,
)

UNPAIRED, HOT = PROGRAMS / "unpaired", PROGRAMS / "hot"


def explain(daemon, event):
    """The kinds of findings, and the whole text for people."""
    command = [LAGTRAP, "explain", event, "--socket", daemon.socket_path]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, done.stderr)
    text = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(text.returncode == 0 and text.stdout, text.stderr)
    return [finding["kind"] for finding in json.loads(done.stdout)["findings"]], " ".join(
        text.stdout.split()
    )


class Elsewhere(OwnedProcess):
    """A program under the path of another, in its own mount namespace, as in a container."""

    def __init__(self, program, path):
        self.process = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                'mount --bind "$0" "$1" && exec "$1" leave-early',
                program,
                path,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(self.process.stdout.readline() == "ready\n", "the program did not start")


def who_runs_the_program():
    with tempfile.TemporaryDirectory() as folder:
        name = f"unpaired-{os.getpid()}"  # unique
        watched, other = f"{folder}/{name}", f"{folder}/other/{name}"
        os.mkdir(f"{folder}/other")
        os.chmod(folder, 0o755)
        for path in (watched, other):
            shutil.copy(UNPAIRED, path)
        with Daemon(library_event("request", watched, "10s", attributes='copies="all"')) as daemon:
            kinds, text = explain(daemon, "request")
            check(kinds == ["no-process"] and f"no process uses {watched}" in text, text)
            with Watched(other, "leave-early") as program:
                kinds, text = explain(daemon, "request")
                check(
                    kinds == ["other-file"] and f"{other} (process {program.process.pid})" in text,
                    text,
                )
                check(f'binary="*/{name}"' in text, text)
            with Elsewhere(other, watched) as program:
                wait_for(
                    lambda: daemon.status()["events"][0]["pid"] == program.process.pid,
                    "the process to be found",
                )
                kinds, text = explain(daemon, "request")
                check(kinds == ["not-reached"] and str(program.process.pid) in text, text)
            with Watched(watched, "leave-early") as program:
                wait_for(
                    lambda: daemon.status()["events"][0]["pid"] == program.process.pid,
                    "the process to be found",
                )
                kinds, text = explain(daemon, "request")
                check(kinds == ["not-reached"] and str(program.process.pid) in text, text)
                os.unlink(watched)
                shutil.copy(other, watched)
                kinds, text = explain(daemon, "request")
                check(kinds == ["not-reached"] and str(program.process.pid) in text, text)
        with Daemon(library_event("request", watched, "10s", attributes='copies="none"')) as daemon:
            with Elsewhere(other, watched) as program:
                kinds, text = explain(daemon, "request")
                pid = program.process.pid
                check(
                    kinds == ["other-file"] and f"{watched} (process {pid}, in a container" in text,
                    text,
                )
            with Watched(watched, "leave-early") as program:
                os.unlink(watched)
                shutil.copy(other, watched)
                os.kill(daemon.process.pid, signal.SIGHUP)
                wait_for(
                    lambda: "other-file" in explain(daemon, "request")[0],
                    "the new file to be armed",
                )
                kinds, text = explain(daemon, "request")
                check(kinds == ["other-file"] and "Restart the program" in text, text)


def what_the_runs_were():
    with Daemon(
        library_event("request", UNPAIRED, "10s")
        + library_event("leaky", UNPAIRED, "10s", more="<key/>")
        + library_event("good", UNPAIRED, "10s", more="<key/>"),
        budget='disable="none" open-runs="7168"',
    ) as daemon:
        for kind in ("leave-early", "leak"):
            with Watched(UNPAIRED, kind) as program:
                program.go()
                check(
                    json.loads(program.process.stdout.readline()) == {"requests": 5}, "no requests"
                )
                if kind == "leave-early":
                    kinds, text = explain(daemon, "request")
                    check(
                        kinds == ["hits", "fast"] and "5 begins" in text and "4 ends" in text, text
                    )
                    check("All 4 runs were below the threshold of 10.0 s" in text, text)
                else:
                    kinds, text = explain(daemon, "leaky")
                    check(
                        {"hits", "no-end", "crowded"} <= set(kinds)
                        and "Choose another end" in text,
                        text,
                    )
                    kinds, text = explain(daemon, "good")
                    check(kinds == ["hits", "fast"] and "All 1,000 runs were below" in text, text)


def a_semaphore_that_programs_do_not_see():
    """Of a program linked by lld; GNU ld puts no other segment on the page of a semaphore."""
    for name, expected in (("semaphore", False), ("semaphore_lld", True)):
        path = (PROGRAMS / name).resolve()
        with Daemon(
            f'<event name="step" threshold="1h" trace-length="1s" binary="{path}">'
            '<begin usdt="semaphore:step__begin"/><end usdt="semaphore:step__end"/></event>'
        ) as daemon:
            with Watched(path) as program:
                program.go().result()
                kinds, text = explain(daemon, "step")
            check(("semaphore-unseen" in kinds) == expected, f"{name}: {kinds} {text}")
            if expected:
                check("-z,separate-loadable-segments" in text, text)
                status = subprocess.run(
                    [LAGTRAP, "status", "--socket", daemon.socket_path],
                    capture_output=True,
                    text=True,
                )
                check(
                    "step: programs that start from now on never hit" in status.stdout,
                    status.stdout,
                )
            else:
                check(daemon.event("step")["runs"] == 100, text)


def an_event_that_is_not_watched():
    hot = (
        '<event name="hot" threshold="1h" trace-length="1s">'
        f'<function name="hot_function" binary="{HOT.resolve()}"/></event>'
    )
    with Daemon(hot, budget='share="1%" interval="300ms" pause="1h"') as daemon, Watched(
        HOT
    ) as program:
        program.go()
        wait_for(lambda: daemon.event("hot")["disabled"], "the event to be disabled")
        kinds, text = explain(daemon, "hot")
        check(
            kinds[0] == "disabled" and "its markers took" in text and "the limit is 1 %" in text,
            text,
        )
        done = subprocess.run(
            [LAGTRAP, "explain", "hat", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
        )
        check(done.returncode != 0 and "did you mean hot?" in done.stderr, done.stderr)


if __name__ == "__main__":
    run(
        who_runs_the_program,
        what_the_runs_were,
        a_semaphore_that_programs_do_not_see,
        an_event_that_is_not_watched,
    )
