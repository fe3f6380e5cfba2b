"""Shared by the fault tests: programs with injected faults (core/fault_point.hpp), and what must
arrive in the end."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAPD,
    PLANTED,
    UPLOADER,
    Daemon,
    TestFailure,
    Watched,
    check,  # noqa: E402
    library_event,
    make_bundle,
    wait_for,
)

MERGE = BUILD_DIR / "trace" / "lagtrap-merge"
ERRORS = ("EIO", "ENOSPC", "EDQUOT", "EROFS")


@contextlib.contextmanager
def environment(**variables):
    """Sets these environment variables within the block; None unsets one."""
    before = {name: os.environ.get(name) for name in variables}

    def put(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(value)

    put(variables)
    try:
        yield
    finally:
        put(before)


class Point(collections.namedtuple("Point", "name by_suffix can_fail")):
    def is_pass(self, name):
        return name.startswith(self.name) if self.by_suffix else name == self.name


def points_of(program):
    """The fault points linked into a program, as it lists them."""
    done = subprocess.run(
        [program], env={**os.environ, "LAGTRAP_FAULT": "list"}, capture_output=True, text=True
    )
    check(
        done.returncode == 0 and done.stdout,
        f"{program} lists no fault points: built without LAGTRAP_FAULT_POINTS?",
    )
    points = []
    for line in done.stdout.splitlines():
        name, *kill = line.split()
        points.append(Point(name.rstrip("*"), name.endswith("*"), not kill))
    return points


def passes_in(log_path):
    """How often each point was passed, by process."""
    passes = collections.defaultdict(collections.Counter)
    for line in log_path.read_text().splitlines():
        pid, name = line.split(" ", 1)
        passes[int(pid)][name] += 1
    return passes


def times_passed(log_path, name):
    """By all processes together."""
    return sum(counts[name] for counts in passes_in(log_path).values()) if log_path.exists() else 0


def can_fail(name, points):
    return all(point.can_fail for point in points if point.is_pass(name))


def sha_of(name):
    return name.split("-")[-1].split(".")[0]


def is_partial(server, row):
    response, text = server.request("GET", f"/api/v1/bundles/{row['digest']}/system")
    check(response.status == 200, f"{response.status} {text}")
    return re.search(rb'<recording [^>]*\bpartial="true"', text) is not None


def uploader(spool, url):
    """Its command. Runs that were sent are removed at once, as bundles are moved at once."""
    settings = spool.parent / "uploader.xml"
    settings.write_text(
        f'<lagtrap version="1"><spool path="{spool}" keep-sent-runs="0s"/></lagtrap>'
    )
    return [UPLOADER, "--settings", settings, "--spool", spool, "--url", url]


def upload(spool, url, fault=None, log=None):
    """Runs lagtrap-uploader --once; returns how it ended and its output."""
    with environment(LAGTRAP_FAULT=fault, LAGTRAP_FAULT_LOG=log):
        done = subprocess.run(
            [*uploader(spool, url), "--once"], capture_output=True, text=True, timeout=300
        )
    return done.returncode, done.stdout + done.stderr


def in_spool(spool, *folders):
    return sorted(
        path.name
        for folder in folders
        for path in (spool / folder).iterdir()
        if path.name.endswith(".zst")
    )


def make_spool(folder):
    spool = folder / "spool"
    for name in ("captures", "ready", "sending", "sent", "rejected"):
        (spool / name).mkdir(parents=True)
    return spool


def add_bundle(spool, seed=0):
    """Adds a real bundle to ready/; returns its session."""
    session = str(uuid.uuid4())
    make_bundle(spool / "ready", seed, session=session)
    return session


@contextlib.contextmanager
def temporary_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-faults-"))
    os.chmod(folder, 0o755)
    try:
        yield folder
    except Exception:
        for log in folder.glob("*.log"):
            print(f"--- the end of {log.name}\n{log.read_text(errors='replace')[-4000:]}---")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


MERGE_WRAPPER = """#!/bin/sh
# Merges with the fault that lies ready, once; never with the daemon's own.
unset LAGTRAP_FAULT
fault=$(cat "$0.fault" 2>/dev/null) && rm -f "$0.fault" && export LAGTRAP_FAULT="$fault"
exec {merge} "$@"
"""


def children_of(pid):
    with contextlib.suppress(OSError):
        return [
            int(child)
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


class RecordingDaemon(Daemon):
    """A daemon that records each slow run briefly, and can be started with a fault in it or in
    its next merge."""

    def __init__(self, trace_length="100ms", spool=None, spool_attributes="", started=True):
        self.started = started
        self.spool_attributes = spool_attributes
        super().__init__(
            library_event("work", PLANTED, "50ms", trace_length),
            'cool-down="10ms" captures-per-hour="3600"',
        )
        self.wrapper = self.folder / "merge"
        self.wrapper.write_text(MERGE_WRAPPER.format(merge=MERGE.resolve()))
        self.wrapper.chmod(0o755)
        self.options = ("--merge-program", str(self.wrapper))
        self.begun = set()  # sessions
        self.cut_short = set()  # those that a daemon did not finish
        if spool is not None:
            self.spool = spool
            self.write_settings(library_event("work", PLANTED, "50ms", trace_length))

    def __enter__(self):
        self.ended = threading.Event()
        threading.Thread(target=self.hurry_merges, daemon=True).start()
        return super().__enter__() if self.started else self

    def __exit__(self, *exception):
        self.ended.set()
        super().__exit__(*exception)

    def hurry_merges(self):
        """Merges run at low priority, which would make these tests slow on a busy machine."""
        while not self.ended.wait(0.05):
            for child in children_of(self.process.pid) if self.process else ():
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, child, 0)

    def write_settings(self, events):
        super().write_settings(events)
        text = self.settings_path.read_text()
        self.settings_path.write_text(text.replace("<spool ", f"<spool {self.spool_attributes} "))

    def start_with(self, fault=None, log=None):
        """Returns whether it started; it may meet a fault before that."""
        with environment(LAGTRAP_FAULT=fault, LAGTRAP_FAULT_LOG=log):
            try:
                self.start()
            except (TestFailure, OSError):
                if fault is None:
                    raise
                # It may have started and met the fault since, or may still be dying.
                wait_for(lambda: self.process.poll() is not None, f"the daemon's end at {fault}")
                return False
        return True

    def fail_next_merge(self, fault):
        beside = self.wrapper.with_suffix(".new")
        beside.write_text(fault)
        beside.rename(str(self.wrapper) + ".fault")

    def merge_fault_waits(self):
        return pathlib.Path(str(self.wrapper) + ".fault").exists()

    def died(self):
        return self.process.poll() == -signal.SIGKILL

    def note_begun(self):
        """Every capture with a session is in captures/ until its bundle is in ready/."""
        for path in (self.spool / "captures").glob("*/session.json"):
            self.begun.add(path.parent.name.removeprefix(".").removesuffix(".done"))
        for name in in_spool(self.spool, "ready", "sending", "sent", "rejected"):
            self.begun.add(name[:36])
        return self.begun

    def note_cut_short(self):
        """After a daemon's death: its current recording has a session, which says that it is not
        finished."""
        for path in (self.spool / "captures").glob("[!.]*/session.json"):
            if not json.loads(path.read_text())["finished"]:
                self.cut_short.add(path.parent.name)

    def slow_run(self):
        with Watched(PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 80, "--wait") as program:
            return program.go().result()

    def captures_left(self):
        return [path.name for path in (self.spool / "captures").iterdir()]

    def settle(self):
        """Waits until no capture is left to be recorded or merged."""
        wait_for(
            lambda: self.status()["state"] != "recording" and not self.captures_left(),
            "all captures to be bundles",
            300,
        )


def check_all_arrived_once(daemon, server):
    """Uploads the spool's content. The server must have each started session once, marked as
    partial if it was cut short. Returns its rows."""
    daemon.note_begun()
    code, said = upload(daemon.spool, server.url)
    check(
        code == 0 and not in_spool(daemon.spool, "ready", "sending", "rejected"),
        f"not all was delivered: {said}",
    )
    rows = server.parsed_bundles(seconds=180)
    sessions = collections.Counter(row["session"] for row in rows)
    twice = [session for session, count in sessions.items() if count != 1]
    check(not twice, f"arrived more than once: {twice}")
    missing = daemon.begun - set(sessions)
    check(not missing, f"begun and never arrived: {missing}")
    bad = [row["bad_reason"] for row in rows if row["bad_reason"]]
    check(not bad, f"bundles that cannot be read: {bad}")
    whole = [
        row["session"]
        for row in rows
        if row["session"] in daemon.cut_short and not is_partial(server, row)
    ]
    check(not whole, f"cut short and not marked as partial: {whole}")
    return rows
