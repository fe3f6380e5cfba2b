"""A case: a program with a planted cause, the event that watches it, and what the report must
say about it.

Each file in planted/ and debian/ has one, as CASE. The expectations follow from what was
planted, never from a report.
"""

import dataclasses
import pathlib
import shutil
import subprocess
import tempfile
import typing

from lagtrap_test import BUILD_DIR, TestFailure, Watched, check

PROGRAMS = BUILD_DIR / "tests" / "cases" / "programs"


@dataclasses.dataclass
class Expected:
    cause: str  # pattern of the report's cause
    guilty: str  # pattern of a function
    # Pattern of "THREAD of PROCESS, PID/TID" for what held up the run: it must be named, and
    # nothing else may be. Empty: nobody, at most a timer or device. A function gets the world.
    holder: str | typing.Callable = ""
    # Others that are rightly involved and may be named too, such as the threads of a chain.
    others: str = ""
    # The cause if all CPUs are busy and it differs: work then waits for a CPU as well.
    busy_cause: str = ""


@dataclasses.dataclass
class Case:
    about: str  # the planted cause, for the table
    program: str  # for the table
    event: typing.Callable  # World -> settings of the event
    provoke: typing.Callable  # World -> None: makes the slow run, from begin to end
    expected: Expected
    least_ms: int  # minimum duration of the slow run, by what was planted
    prepare: typing.Callable = (
        lambda world: None
    )  # World -> None: starts what must exist before the daemon
    slow: typing.Callable = (
        lambda world, delay: True
    )  # whether a delay (of the report's JSON) can be the planted one
    name: str = ""
    from_debian: bool = False


class World:
    """The resources of a running case: a folder, the programs it started, and the daemon once it
    runs."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-case-"))
        self.folder.chmod(0o755)
        self.daemon = None
        self.started = []
        self.ends = []

    def watched(self, *command, **options):
        """A program that prints "ready" and waits for "go"."""
        program = Watched(*command, **options)
        self.started.append(program.process)
        return program

    def start(self, *command, **options):
        """A program that runs until the case has ended."""
        process = subprocess.Popen(
            [str(part) for part in command],
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.DEVNULL,
                "stderr": subprocess.DEVNULL,
                **options,
            },
        )
        self.started.append(process)
        return process

    def run(self, *command, **options):
        """Runs a program to its end; returns its output."""
        done = subprocess.run(
            [str(part) for part in command],
            **{
                "capture_output": True,
                "text": True,
                "timeout": 120,
                "stdin": subprocess.DEVNULL,
                **options,
            },
        )
        check(done.returncode == 0, f"{command[0]}: {done.stderr or done.stdout}")
        return done.stdout

    def at_end(self, action):
        self.ends.append(action)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for action in reversed(self.ends):
            action()
        for process in reversed(self.started):
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def call_event(function, binary, threshold="100ms", more="", attributes=""):
    """Each call of a function is a run of the event "run"."""
    return (
        f'<event name="run" threshold="{threshold}" trace-length="{TRACE_LENGTH}" '
        f'{attributes}>{more}<function name="{function}" '
        f'binary="{pathlib.Path(binary).resolve()}"/></event>'
    )


def marker_event(begin, end, binary="", threshold="100ms", more="", attributes=""):
    """A run lasts from one marker to another; `begin` and `end` are the attributes of their
    elements."""
    watched = f'binary="{pathlib.Path(binary).resolve()}"' if binary else ""
    return (
        f'<event name="run" threshold="{threshold}" trace-length="{TRACE_LENGTH}" {watched} '
        f"{attributes}>{more}"
        f"<begin {begin}/><end {end}/></event>"
    )


# Longer than the slow runs, even on a busy machine, where they take several times as long.
TRACE_LENGTH = "4s"


ANONYMOUS = "(anonymous namespace)::"


def planted(program, function, about, expected, least_ms, arguments=lambda world: (), event=None):
    """A case of a program in programs/: its slow run is between "go" and its end."""

    def prepare(world):
        world.program = world.watched(PROGRAMS / program, *arguments(world))

    def provoke(world):
        world.program.go()
        world.program.process.communicate(timeout=120)
        if world.program.process.returncode != 0:
            raise TestFailure(f"{program} ended with {world.program.process.returncode}")

    return Case(
        about,
        f"{program}.cpp",
        event or (lambda world: call_event(ANONYMOUS + function, PROGRAMS / program)),
        provoke,
        expected,
        least_ms,
        prepare,
    )
