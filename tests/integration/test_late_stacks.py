"""Stacks that the merge walks from copies, because no table of the program could be built in
time, equal the program's own account, frame by frame: the planted programs of test_stacks, while
nothing reads files for the daemon."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import BUILD_DIR, PROGRAMS, check, run, wait_for
from recorded_stacks import BY_FRAME_POINTER, ENDS, Capture
from stack_recorder import DEEP_PROGRAMS, LIBRARIES, Recorder, planted_files, program, start
from stack_verdict import Verdict, judge

LATE_STACKS = PROGRAMS / "late_stacks"
READER = (BUILD_DIR / "binaries" / "lagtrap-reader").resolve()
# Their planted code is mapped and unmapped faster than that becomes known.
LEFT_OUT = ("reopened_libraries", "fork_storm")
# In a forked child, if a sample falls on the first instruction after a call, the caller's frame was
# missing in 3 of about 700 stacks, for an unknown reason.
MOST_WRONG = {"forked_by_main": 0.06, "forked_by_thread": 0.06}
MOST_SHORT = 0.1  # of a scenario's copies, besides those that test_stacks allows too
# The merge has only part of a stack that is longer than a copy, or that continues elsewhere.
IN_PART = (
    "frames_128",
    "frames_500",
    "bare",
    "bare_frame",
    "aligned_and_alloca",
    "signal_stack_above",
    "signal_stack_below",
)


class HeldReaders(Recorder):
    """After hold(), no process reads files for the daemon, so new files get no tables."""

    def __init__(self):
        super().__init__(length="2s", recording='stack-copies="1GiB" capture-size-limit="4GiB"')
        self.held = self.folder / "held"
        script = self.folder / "reader"
        script.write_text(
            f'#!/bin/sh\nwhile [ -e "{self.held}" ]; do sleep 0.05; done\nexec "{READER}" "$@"\n'
        )
        script.chmod(0o755)
        self.options += ("--reader-program", script)

    def hold(self):
        self.held.touch()
        for children in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for pid in children.read_text().split():
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "lagtrap-reader\n":
                    os.kill(int(pid), signal.SIGKILL)

    def capture_of(self, watched):
        wait_for(lambda: self.status()["state"] == "waiting", "the daemon to wait")
        check(self.ask("trigger", event="nothing")["ok"], "no recording began")
        return Capture(self.finish([watched]).folder, planted_files(), late=True)


def continued(capture):
    """Ids of the capture's copies; adds the frames that the merge found to its stacks."""
    done = subprocess.run(
        [LATE_STACKS, capture.folder], capture_output=True, text=True, timeout=300
    )
    check(done.returncode == 0, done.stderr)
    late = [json.loads(line) for line in done.stdout.splitlines()]
    for stack in late:
        inner = capture.stacks.get(stack["inner"])
        if inner is None:
            continue
        capture.stacks[stack["id"]] = inner._replace(
            frames=inner.frames + tuple(stack["frames"]),
            end=stack["end"] & ~BY_FRAME_POINTER,
            by_frame_pointer=bool(stack["end"] & BY_FRAME_POINTER),
        )
    return {stack["id"] for stack in late}


def planted(variant):
    with tempfile.TemporaryDirectory() as folder, HeldReaders() as recorder:
        for library in LIBRARIES:
            shutil.copy2(DEEP_PROGRAMS / f"libdeep_{library}.so", folder)
        copied = pathlib.Path(shutil.copy2(program(variant), pathlib.Path(folder) / "deep_stacks"))
        recorder.await_tables()  # those of others
        recorder.hold()
        with start(copied) as watched:
            capture = recorder.capture_of(watched)
            late = continued(capture)
            check(len(late) > 500, f"{len(late)} stacks were copied")
            problems = []
            for scenario in watched.scenarios:
                verdict = Verdict(scenario)
                if verdict.name in LEFT_OUT:
                    continue
                tid = scenario["tid"]
                capture.seen[tid] = [seen for seen in capture.seen[tid] if seen.stack in late]
                allowed = set(verdict.may_end)
                verdict.may_end |= set(ENDS)
                judge(verdict, capture, [tid])
                print(verdict.line(), flush=True)
                if verdict.wrong:
                    print("\n".join(verdict.wrong[:2]))
                if len(verdict.wrong) > MOST_WRONG.get(verdict.name, 0.002) * verdict.seen:
                    problems.append(f"{verdict.name}: {len(verdict.wrong)} wrong stacks")
                short = sum(count for end, count in verdict.ends.items() if end not in allowed)
                if verdict.name not in IN_PART and short > MOST_SHORT * verdict.seen:
                    problems.append(f"{verdict.name}: ends {dict(verdict.ends)}")
            recorder.held.unlink()
            check(not problems, "; ".join(problems))


def position_independent():
    planted("pie")


def static():
    planted("static")


if __name__ == "__main__":
    run(position_independent, static)
