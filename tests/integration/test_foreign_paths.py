"""Only helpers look at what a process controls (its root folder, its program's file, its
memory). The daemon is traced through a start, runs, a recording, its merge and its end, and none
of its own threads may query another's file system."""

import collections
import contextlib
import os
import pathlib
import re
import shutil
import tempfile

from containers import Container, Image
from lagtrap_test import PLANTED, Daemon, Watched, check, library_event, report, run, skip, wait_for
from test_hostile_processes import HOSTILE, WATCHED_USER, Neighbour, folder_for

# A call on these queries the file system behind them; on cmdline and environ, the memory.
SHAPED = re.compile(r"/proc/(\d+)(?:/task/\d+)?/(?:root|exe|cwd|mem|map_files|cmdline|environ)\b")
# Queries about the link itself are answered by the kernel.
OF_THE_LINK = re.compile(r'^readlink|/(?:root|exe|cwd)", .*\bAT_SYMLINK_NOFOLLOW\b')
STARTS = ("clone", "clone3", "fork", "vfork")


class Trace:
    """The calls of a command and all its descendants, as recorded by strace(1)."""

    def __init__(self, path):
        self.calls = []  # (thread, call, text)
        self.process_of = {}
        begun = {}
        for line in path.read_text(errors="replace").splitlines():
            thread, _, text = line.partition(" ")
            thread, text = int(thread), text.strip()
            if text.endswith("<unfinished ...>"):
                begun[thread] = text.removesuffix("<unfinished ...>")
                continue
            if text.startswith("<... "):
                text = begun.pop(thread, "") + text.partition("resumed>")[2]
            self.add(thread, text)
        for thread, text in begun.items():
            self.add(thread, text)
        self.daemon = self.calls[0][0]

    def add(self, thread, text):
        call = text.partition("(")[0]
        self.calls.append((thread, call, text))
        started = re.search(r"\) = (\d+)", text) if call in STARTS else None
        if started:
            self.process_of[int(started[1])] = thread if "CLONE_THREAD" in text else None

    def is_daemons(self, thread):
        while self.process_of.get(thread) is not None:
            thread = self.process_of[thread]
        return thread == self.daemon

    def of_daemon(self):
        return [(call, text) for thread, call, text in self.calls if self.is_daemons(thread)]

    def of_others(self):
        return [(call, text) for thread, call, text in self.calls if not self.is_daemons(thread)]


def shaped_by_others(calls, own):
    """Calls that access something that another process controls."""
    return [
        text
        for _, text in calls
        if not OF_THE_LINK.search(text)
        and any(int(found[1]) != own for found in SHAPED.finditer(text))
    ]


@contextlib.contextmanager
def traced_daemon(events):
    with tempfile.TemporaryDirectory(prefix="lagtrap-strace-") as folder:
        written = pathlib.Path(folder) / "calls"
        daemon = Daemon(
            events,
            prefix=(
                "strace",
                "-D",
                "-f",
                "-q",
                "-y",
                "-s",
                "4096",
                "-o",
                str(written),
                "-e",
                f"trace=%file,{','.join(STARTS)}",
            ),
        )
        with daemon:
            yield daemon, written
            daemon.stop()


def threads_ask_no_file_system_of_others():
    """With a container, and a process of another user that has mapped files that nobody else
    has."""
    if not shutil.which("strace"):
        skip("strace is not installed")
    attributes = 'record="runs" stacks="markers" copies="all"'
    more = f'<scope binary="{PLANTED}"/><functions standing="yes" share="10000%" rate="10MiB"/>'
    with folder_for() as folder, Image({"/opt/planted_delays": PLANTED}) as image:
        foreign = folder / "program"
        shutil.copy(HOSTILE, foreign)
        with Neighbour("map-files", foreign), traced_daemon(
            library_event("work", PLANTED, "100ms", "2s", more=more, attributes=attributes)
        ) as (daemon, written), Container(
            image,
            "/opt/planted_delays",
            "--kind",
            "cpu",
            "--fast",
            "10",
            "--slow-ms",
            "1",
            "--wait",
        ):
            with Watched(
                PLANTED,
                "--kind",
                "cpu",
                "--fast",
                10,
                "--slow-ms",
                400,
                "--wait",
                user=WATCHED_USER,
                group=WATCHED_USER,
                extra_groups=[],
            ) as program:
                wait_for(
                    lambda: daemon.event("work")["functions"]["traces"],
                    lambda: f"the functions to be traced: {daemon.event('work')}",
                )
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
            check(len(report(bundle)["delays"]) == 1, "the delay is not in the recording")
            own = daemon.process.pid
            daemon.stop()
            trace = Trace(
                wait_for(
                    lambda: "exited with" in written.read_text(errors="replace").splitlines()[-1]
                    and written,
                    "the trace to be written",
                )
            )
    check(trace.daemon == own, f"the first call is of {trace.daemon}, the daemon is {own}")
    calls = trace.of_daemon()
    check(
        len(calls) > 100 and any("/proc/" in text for _, text in calls),
        f"{len(calls)} calls of the daemon were traced",
    )
    check(
        shaped_by_others(trace.of_others(), own),
        "no helper looked at anything: the trace shows nothing",
    )
    wrong = shaped_by_others(calls, own)
    kinds = collections.Counter(re.sub(r"\d+", "N", text)[:120] for text in wrong)
    check(not wrong, f"{len(wrong)} calls of the daemon's own threads: {kinds.most_common(20)}")
    named = [text for _, text in calls if os.fspath(foreign) in text]
    check(
        not named,
        f"the daemon itself names a file that only another user's process has: {named[:5]}",
    )


if __name__ == "__main__":
    run(threads_ask_no_file_system_of_others)
