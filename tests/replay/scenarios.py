"""The content of golden recordings: a program with a planted cause, and the event that watches
it."""

import dataclasses
import os
import signal
import typing

from call_programs import IN_C, NOTED, Program
from case import Case
from lagtrap_test import PLANTED, PROGRAMS, check, library_event, wait_for
from object_program import PROGRAM as OBJECTS, Program as ObjectProgram
from run import load_cases

STAGES = ("prepare", "execute", "finish")
TRACE_LENGTH = "300ms"
NO_HISTORY = '<history length="0s" early-share="0%"/>'
LATE = '<history length="2s" early-share="0%"/>'
BREAKPOINT = 0xCC


@dataclasses.dataclass
class Scenario:
    event: typing.Callable  # World -> settings of the event
    provoke: typing.Callable  # World -> None: makes the slow run, from begin to end
    prepare: typing.Callable = (
        lambda world: None
    )  # World -> None: starts what must exist before the daemon
    more: str = ""  # more settings
    most_waiting: float = 0.1  # share of the run that may wait for a CPU, unless that is planted
    with_lines: bool = False  # source lines, of programs that are built here
    by_priority: bool = False  # priorities are part of what is planted: the programs keep their own
    # names of programs that belong to it although the recorder did not start them
    programs: tuple = ()


def changed(scenario, **changes):
    return dataclasses.replace(scenario, **changes)


def of_case(case: Case, **changes):
    """A case of tests/cases, recorded for a shorter time."""

    def event(world):
        return case.event(world).replace('trace-length="4s"', f'trace-length="{TRACE_LENGTH}"')

    return changed(Scenario(event, case.provoke, case.prepare), **changes)


def planted_delays(
    kind, *options, threshold="50ms", attributes="", more="", slow_ms=200, after=lambda world: None
):
    """One slow run of examples/planted_delays."""

    def prepare(world):
        world.program = world.watched(
            PLANTED,
            "--kind",
            kind,
            "--fast",
            20,
            "--slow-ms",
            slow_ms,
            "--wait",
            "--directory",
            world.folder,
            *options,
        )

    def provoke(world):
        world.program.go()
        after(world)
        world.program.process.communicate(timeout=120)

    return Scenario(
        lambda world: library_event(
            "work", PLANTED, threshold, TRACE_LENGTH, STAGES, attributes=attributes
        ),
        provoke,
        prepare,
        more,
        with_lines=True,
    )


def waits_of_a_schedule():
    """Random waits and computing, noticed at the run's end: known from the window of the last
    seconds."""

    def prepare(world):
        world.program = world.watched(PROGRAMS / "schedule", 1)

    def provoke(world):
        world.program.go()
        world.program.process.communicate(timeout=120)

    return Scenario(
        lambda world: library_event(
            "schedule", PROGRAMS / "schedule", "50ms", "100ms", attributes='breach="end"'
        ),
        provoke,
        prepare,
        LATE,
    )


def keyed_requests():
    """Requests of one thread that another ends; 3 of them are held back."""

    def prepare(world):
        world.program = world.watched(
            PLANTED, "--kind", "threads", "--count", 200, "--held", 3, "--slow-ms", 150, "--wait"
        )

    def provoke(world):
        world.program.go()
        world.program.process.communicate(timeout=120)

    return Scenario(
        lambda world: library_event("request", PLANTED, "100ms", TRACE_LENGTH, more="<key/>"),
        provoke,
        prepare,
    )


def by_hand():
    """A manual recording in which nothing is slow except an open run."""

    def prepare(world):
        world.program = world.watched(PLANTED, "--kind", "never", "--fast", 20, "--wait")

    def provoke(world):
        world.program.go()
        wait_for(lambda: world.daemon.event("work")["open"] == 1, "the run to be open")
        check(world.daemon.ask("trigger", event="work")["ok"], "the daemon does not record")
        wait_for(lambda: world.daemon.status()["state"] != "recording", "the recording to end")
        world.program.process.send_signal(signal.SIGTERM)
        world.program.process.communicate(timeout=120)

    return Scenario(
        lambda world: library_event("work", PLANTED, "30s", TRACE_LENGTH, STAGES), provoke, prepare
    )


def traced(more, byte_of):
    """The second slow run of a program whose calls or functions are traced since the first one
    was noticed."""

    def prepare(world):
        world.program = Program(IN_C)
        world.started.append(world.program.process)

    def provoke(world):
        world.program.run("sleep")
        wait_for(lambda: world.program.first_byte_of(byte_of) == BREAKPOINT, "the probes to be in")
        for mode in ("tree", "recursion", "sleep"):
            world.program.run(mode)

    return Scenario(
        lambda world: f'<event name="work" threshold="5ms" trace-length="4s" copies="none">'
        f'<function name="target_sleep" binary="{IN_C}"/>{more}</event>',
        provoke,
        prepare,
        most_waiting=0.2,  # on an old kernel, lagtrapd shares the only CPU: 10 to 12 %
    )


def followed_objects():
    """Objects that fail, stay and wear out during a recording."""

    def prepare(world):
        world.program = ObjectProgram()
        world.started.append(world.program.process)

    def provoke(world):
        world.program.run("slow", 100)
        wait_for(
            lambda: any(path.stat().st_size for path in world.daemon.spool.rglob("objects.jsonl")),
            "the probes to be in",
        )
        for mode, count in (("fail", 3), ("keep", 4), ("handles", 2)):
            world.program.run(mode, count)

    return Scenario(
        lambda world: (
            '<event name="work" threshold="1ms" trace-length="3s" copies="none">'
            f'<function name="slow_work" binary="{OBJECTS}"/><object class="Item|Gadget"/>'
            '<object name="handle" create="handle_open:arg1*" use="handle_use:arg0" '
            'release="handle_close:arg0" message="handle_error:result" error="nonzero"/></event>'
        ),
        provoke,
        prepare,
    )


PYTHON_WORK = """
import sys, time
def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))
def handle(seconds):
    compute(seconds)
print("ready", flush=True)
sys.stdin.readline()
for seconds in (0.001, 0.3):
    handle(seconds)
    time.localtime()
"""
NODE_WORK = """
function plantedInner(until) {
  let sum = 0;
  while (Date.now() < until) { for (let i = 0; i < 1e4; i++) sum += i % 7; }
  return sum;
}
function plantedOuter(ms) { return plantedInner(Date.now() + ms); }
plantedOuter(50);
console.log("ready");
process.stdin.once("data", () => { plantedOuter(400); process.exit(0); });
"""


def computing_script(program, *arguments):
    """Code generated by a language's runtime, recorded manually because it has no marker."""

    def prepare(world):
        world.program = world.watched(program, *arguments, cwd=world.folder)
        world.at_end(
            lambda: os.path.exists(f"/tmp/perf-{world.program.process.pid}.map")
            and os.unlink(f"/tmp/perf-{world.program.process.pid}.map")
        )

    def provoke(world):
        world.program.go()
        check(world.daemon.ask("trigger", event="work")["ok"], "the daemon does not record")
        world.program.process.communicate(timeout=120)

    return Scenario(
        lambda world: library_event("work", PLANTED, "30s", TRACE_LENGTH), provoke, prepare
    )


def scenarios():
    yield from (
        (f"planted_{kind}", planted_delays(kind)) for kind in ("cpu", "sleep", "fault", "lock")
    )
    yield "planted_fsync", changed(planted_delays("fsync"), most_waiting=0.2)
    for kind in ("lock", "sleep", "cpu"):
        yield f"counted_{kind}", planted_delays(kind, attributes='breach="end"', more=NO_HISTORY)
    yield "early_lock", planted_delays("lock", threshold="200ms", slow_ms=240)
    yield "early_cpu_until_the_end", planted_delays(
        "cpu", threshold="150ms", slow_ms=200, attributes='breach="end"'
    )
    yield "history_of_waits", waits_of_a_schedule()
    yield "keyed_requests", keyed_requests()
    yield "by_hand", by_hand()
    yield "recorded_calls", traced(f'<calls match="{NOTED}" share="10000%"/>', "sleeper")
    yield "traced_functions", traced(
        '<functions share="10000%" rate="10MiB" min="1us"/>', "tree_leaf"
    )
    yield "followed_objects", followed_objects()
    yield "managed_node", computing_script("/usr/bin/node", "--perf-basic-prof", "-e", NODE_WORK)
    changes = {
        "real_time_hog": {"by_priority": True, "most_waiting": 1},
        "cpu_quota": {"by_priority": True, "most_waiting": 1},
        "fsync": {"most_waiting": 0.2},
        "stopped": {"by_priority": True},
    }
    for name, case in load_cases().items():
        server = name.split("_")[0]
        programs = (server,) if server in ("postgres", "nginx") else ()
        yield f"{'debian' if case.from_debian else 'case'}_{name}", of_case(
            case, programs=programs, **changes.get(name, {})
        )


SCENARIOS = dict(scenarios())
