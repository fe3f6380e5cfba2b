"""Shared by tests and benchmarks of call stacks: planted programs, loads, and a daemon that
keeps its captures' logs."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from lagtrap_test import BUILD_DIR, PROGRAMS, Daemon, Watched, check, wait_for
from recorded_stacks import Capture, Files

DEEP_PROGRAMS = PROGRAMS / "deep_stacks"
MERGE = (BUILD_DIR / "trace" / "lagtrap-merge").resolve()
VARIANTS = ("pie", "fixed", "lazy", "static", "static_pie")
LIBRARIES = ("linked", "frames", "one", "two", "three")
# An event that never happens: captures are started by hand here.
NOTHING = (
    '<event name="nothing" threshold="1h" trace-length="{length}"><function name="deep_decoy" '
    f'binary="{DEEP_PROGRAMS}/deep_stacks_pie"/></event>'
)
# Tables are kept across tests, as they would be across restarts.
CACHE = tempfile.TemporaryDirectory(prefix="lagtrap-test-cache-")


def program(variant):
    return DEEP_PROGRAMS / f"deep_stacks_{variant}"


def planted_files():
    return Files(
        [program(variant) for variant in VARIANTS]
        + [DEEP_PROGRAMS / f"libdeep_{name}.so" for name in LIBRARIES]
    )


def age_seconds(pid):
    started = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def stopped(loads):
    for load in loads:
        os.killpg(load.process.pid, signal.SIGSTOP)
    yield
    for load in loads:
        os.killpg(load.process.pid, signal.SIGCONT)


class Recorder(Daemon):
    """A daemon that keeps the logs of its captures beside their bundles."""

    def __init__(self, events="", length="2s", recording=""):
        super().__init__(
            NOTHING.format(length=length) + events,
            'cool-down="1ms" captures-per-hour="3600" ' + recording,
            f'<unwinding cache="{CACHE.name}"/>',
        )
        self.kept = self.folder / "kept"
        self.kept.mkdir()
        script = self.folder / "merge"
        script.write_text(f'#!/bin/sh\ncp -r "$1" "{self.kept}/" && exec "{MERGE}" "$@"\n')
        script.chmod(0o755)
        self.options = ("--merge-program", script)
        self.done = 0

    def unwinder(self):
        """The daemon's unwinder status."""
        status = self.status()
        check("unwinder" in status, f'the status has no section "unwinder", only {list(status)}')
        return status["unwinder"]

    def await_tables(self, loads=()):
        """Some tables of a cold machine are large. Loads are stopped meanwhile, because tables are
        made at low priority."""
        with stopped(loads):
            wait_for(lambda: self.unwinder()["tables_waiting"] == 0, "the tables to be made", 300)

    def begin(self, loads=()):
        wait_for(lambda: self.status()["state"] == "waiting", "the daemon to wait")
        self.await_tables(loads)
        answer = self.ask("trigger", event="nothing")
        check(answer["ok"], f"trigger: {answer}")

    def finish(self, loads=()):
        """The capture begun by begin(), once it is merged. Loads are stopped meanwhile, because
        merging has low priority."""
        self.done += 1
        wait_for(lambda: self.status()["state"] != "recording", "the recording's end")
        with stopped(loads):
            self.wait_for_bundles(self.done)
        newest = max(self.kept.iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        capture = Capture(newest, planted_files())
        capture.bundle = pathlib.Path(self.status()["last_bundle"]["path"])
        return capture

    def record(self, *loads):
        """A capture of programs that started at least a second earlier, which is the required
        age."""
        for load in loads:
            wait_for(
                lambda load=load: age_seconds(load.process.pid) >= 1,
                "the program to be a second old",
            )
        self.begin(loads)
        return self.finish(loads)


def start(path, *options, command=(), **more):
    """A planted program, and the scenarios it reports."""
    watched = Watched(*command, path, *options, start_new_session=True, **more)
    watched.scenarios = json.loads(watched.process.stdout.readline())
    return watched


class Load:
    """A program at work, in its own process group."""

    def __init__(self, *command, **options):
        self.command, self.options = [str(word) for word in command], options

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            **self.options,
        )
        return self

    def ready(self):
        check(self.process.stdout.readline() == "ready\n", f"{self.command[0]} does not begin")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def family(capture, pids):
    """Processes with all their descendants."""
    found = set(pids)
    while True:
        more = {child for child, (parent, _) in capture.parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def pids_of(capture, path):
    return [
        pid
        for pid, program_path in capture.programs.items()
        if program_path == os.path.realpath(path)
    ]
