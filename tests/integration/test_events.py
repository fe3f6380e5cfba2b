"""Events of each kind on real programs: what is paired, counted, recorded."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import (
    BURST,
    LAGTRAPD,
    PLANTED,
    PROGRAMS,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)

ARGUMENTS, UNPAIRED_BY_LLD = PROGRAMS / "arguments", PROGRAMS / "unpaired_lld"
REDIS = "/usr/bin/redis-server"


def every_run_is_counted():
    with Daemon(library_event("tick", BURST, "10s")) as daemon:
        with Watched(
            BURST, "--threads", 2, "--pairs", 200000, "--event", "tick", "--wait"
        ) as program:
            sent = program.go().result()["pairs"]
        event = daemon.event("tick")
        counted = sum(bucket["count"] for bucket in event["histogram"])
        check(
            counted == sent and event["lost"] == 0,
            f"{counted} counted, {event['lost']} lost, {sent} sent",
        )
        check(event["unmatched_ends"] == 0 and event["open"] == 0, f"{event}")
        check(daemon.bundles() == [], "runs under the threshold made a bundle")


def run_that_never_ends():
    """Recorded at its deadline while it is open; and once, not again after every cool-down."""
    with Daemon(library_event("work", PLANTED, "100ms", "200ms")) as daemon:
        with Watched(PLANTED, "--kind", "never", "--fast", 5, "--slow-ms", 1, "--wait") as program:
            program.go()
            bundle = daemon.wait_for_bundles(1)[0]
            found = report(bundle)
            check(found["trigger_reason"] == "deadline", f"trigger {found['trigger_reason']}")
            delay = found["delays"][0]
            check(delay["open"] and delay["first"], f"the run is not shown as open: {delay}")
            check(delay["duration_ns"] >= 300e6, f"open for {delay['duration_ns']} ns")
            check(daemon.event("work")["open"] == 1, "the run is no longer open")
            wait_for(lambda: daemon.status()["state"] == "waiting", "the cool-down's end")
            check(len(daemon.bundles()) == 1, "one run made several captures")
        wait_for(
            lambda: daemon.event("work")["abandoned"] == 1,
            "the run of the dead program to be given up",
        )


def runs_that_end_at_their_deadline():
    """A run that ends while its recording begins is in the bundle nevertheless."""
    with Daemon(
        library_event("work", PLANTED, "100ms", "100ms"), 'cool-down="0s" captures-per-hour="1000"'
    ) as daemon:
        for done in range(1, 16):
            wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait")
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 100, "--wait"
            ) as program:
                program.go().result()
            daemon.wait_for_bundles(done)
        for bundle in daemon.bundles():
            delays = report(bundle)["delays"]
            check(len(delays) == 1 and delays[0]["first"], f"{len(delays)} delays in {bundle.name}")


def breach_at_the_end():
    """breach="end": nothing happens while the run is open; its end is the breach."""
    with Daemon(
        library_event("work", PLANTED, "50ms", "100ms", attributes='breach="end"')
    ) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 200, "--wait"
        ) as program:
            told = program.go().result()
        found = report(daemon.wait_for_bundles(1)[0])
        check(found["trigger_reason"] == "end", f"trigger {found['trigger_reason']}")
        delay = found["delays"][0]
        check(
            told["slow_inner_ns"] <= delay["duration_ns"] <= told["slow_outer_ns"],
            f"duration {delay['duration_ns']}, {told}",
        )
        check(delay["first"] and not delay["open"], f"{delay}")


def tracepoint_event():
    """A system call from its entry to its exit, keyed by thread. Two events watch the same
    tracepoints, each in one program only: a private copy."""

    def event(program):
        return (
            f'<event name="{program.name}" threshold="100ms" trace-length="1s">'
            f'<scope binary="{program}"/>'
            '<begin tracepoint="syscalls:sys_enter_clock_nanosleep"/>'
            '<end tracepoint="syscalls:sys_exit_clock_nanosleep"/></event>'
        )

    with tempfile.TemporaryDirectory() as folder:
        nap, doze = (
            pathlib.Path(shutil.copy(shutil.which("sleep"), f"{folder}/{name}"))
            for name in ("nap", "doze")
        )
        with Daemon(event(nap) + event(doze)) as daemon:
            subprocess.run(["sleep", "0.2"], check=True)  # another program's nap, out of scope
            check(daemon.event("nap")["runs"] == 0, "a program out of scope was counted")
            subprocess.run([nap, "0.02"], check=True)
            subprocess.run([doze, "0.02"], check=True)
            subprocess.run([nap, "0.3"], check=True)
            delay = report(daemon.wait_for_bundles(1)[0])["delays"][0]
            check(delay["process"] == "nap" and delay["duration_ns"] >= 300e6, f"{delay}")
            check(delay["split"]["blocked"][0]["reason"] == "sleep", f"{delay['split']['blocked']}")
            check(daemon.event("nap")["runs"] == 2, f"{daemon.event('nap')['runs']} runs of 2")
            check(daemon.event("doze")["runs"] == 1, f"{daemon.event('doze')['runs']} runs of 1")


def function_of_a_stripped_binary():
    """Debian's redis-server has no symbol table; `call` is among its dynamic symbols."""
    event = (
        '<event name="call" threshold="50ms" trace-length="500ms">'
        f'<function name="call" binary="{REDIS}"/></event>'
    )
    with Daemon(event) as daemon:
        port = "7379"
        server = subprocess.Popen(
            [REDIS, "--port", port, "--save", "", "--dir", daemon.folder], stdout=subprocess.DEVNULL
        )
        try:

            def cli(*words):
                return subprocess.run(
                    ["redis-cli", "-p", port, *words], capture_output=True, text=True
                )

            wait_for(lambda: cli("ping").stdout == "PONG\n", "redis")
            before = daemon.event("call")["runs"]
            for i in range(100):
                cli("set", f"key{i}", "value")
            cli("eval", "local n = 0 for i = 1, 1e8 do n = n + 1 end return n", "0")
            found = report(daemon.wait_for_bundles(1)[0])
            delay = found["delays"][0]
            check(delay["event"] == "call" and delay["process"] == "redis-server", f"{delay}")
            # A link to redis-check-rdb: the name by which it was started is shown.
            check(delay["program"] == REDIS, f"the program is said to be {delay['program']}")
            # The log has the file that the kernel runs, known without looking at the program's own
            # files.
            beginner = f"event call of redis-server ({server.pid}, {os.path.realpath(REDIS)})"
            check(beginner in daemon.log(), f"{beginner} is not in {daemon.log()}")
            check(delay["split"]["blocked_ns"] < 0.1 * delay["duration_ns"], f"{delay['split']}")
            event = daemon.event("call")
            check(event["runs"] - before >= 101, f"{event['runs'] - before} calls of 101")
            check(event["unmatched_ends"] == 0 and event["lost"] == 0, f"{event}")
        finally:
            server.kill()
            server.wait()


def functions_left_in_every_way():
    """Recursion, exceptions, longjmp and fibers: each call is a run, calls without a return are
    dropped, nothing is mispaired."""
    binary = (PROGRAMS / "recursion").resolve()
    event = (
        '<event name="watched" threshold="10s" trace-length="100ms">'
        f'<function name="odd::watched" binary="{binary}"/></event>'
    )
    with Daemon(event) as daemon:
        with Watched(binary) as program:
            made = program.go().result()
        event = daemon.event("watched")
        calls = sum(made.values())
        ended = event["runs"] + event["abandoned"] + event["too_deep"] + event["open"]
        check(ended == calls, f"{event} does not account for {calls} calls")
        check(
            event["runs"] >= made["returned"],
            f"{event['runs']} runs, {made['returned']} plain returns",
        )
        check(
            event["unmatched_ends"] == 0,
            f"{event['unmatched_ends']} ends had no begin: fibers take turns",
        )
        check(
            event["too_deep"] == 0,
            f"{event['too_deep']} of {made['deep']} nested calls were too deep",
        )
        check(
            event["max_ns"] < 5e9,
            f"a run of {event['max_ns']} ns: paired with a call left long ago",
        )


def nested_runs():
    """Runs inside runs of one thread, by each nesting rule of events."""
    program = (PROGRAMS / "nested").resolve()
    wanted = {
        "each": {"runs": 500},
        "outermost": {"runs": 100},
        "restart": {"runs": 100, "unmatched_begins": 400, "unmatched_ends": 400},
    }
    for nesting, counts in wanted.items():
        with Daemon(
            library_event("walk", program, "10s", attributes=f'nesting="{nesting}"')
        ) as daemon:
            with Watched(program, "nest") as walk:
                walk.go().result()
            event = daemon.event("walk")
            for name in ("runs", "unmatched_begins", "unmatched_ends", "abandoned", "lost", "open"):
                check(
                    event[name] == counts.get(name, 0),
                    f"nesting {nesting}: {name} is {event[name]}",
                )


def queueing_counts_as_delay():
    """A begin marker that carries an earlier time: the run is as long as the user waited (A2)."""
    program = (PROGRAMS / "nested").resolve()
    with Daemon(library_event("input", program, "50ms", "100ms")) as daemon:
        with Watched(program, "queue") as queue:
            told = queue.go().result()
        delays = report(daemon.wait_for_bundles(1)[0])["delays"]
        check(len(delays) == 1, f"{len(delays)} delays")
        check(delays[0]["duration_ns"] >= told["queued_ns"], f"{delays[0]['duration_ns']} ns")
        check(delays[0]["queued_ns"] >= told["queued_ns"], f"queued {delays[0]['queued_ns']} ns")
        event = daemon.event("input")
        check(event["runs"] == 2 and event["delays"] == 1, f"{event}")


def threads_that_end_in_a_run():
    """A begin whose thread is gone is dropped and counted; it is not a breach."""
    program = (PROGRAMS / "nested").resolve()
    with Daemon(library_event("orphan", program, "50ms", "100ms")) as daemon:
        with Watched(program, "leave") as orphans:
            orphans.go()
            wait_for(
                lambda: daemon.event("orphan")["abandoned"] == 20, "the orphans to be given up"
            )
            event = daemon.event("orphan")
            check(event["open"] == 0 and event["delays"] == 0 and event["runs"] == 0, f"{event}")
        check(
            daemon.status()["captures"]["done"] == 0 and not daemon.bundles(),
            "orphans made a capture",
        )


def scope_of_one_process_and_one_user():
    with Watched(
        BURST, "--threads", 1, "--pairs", 1000, "--event", "tick", "--wait"
    ) as one, Watched(
        BURST, "--threads", 1, "--pairs", 1000, "--event", "tick", "--wait", user="nobody"
    ) as two:
        events = (
            library_event("tick", BURST, "10s", more=f'<scope pid="{one.process.pid}"/>')
            + user_event("tock", "nobody")
            + user_event("tack", "root")
        )
        with Daemon(events) as daemon:
            one.go().result()
            two.go().result()
            runs = {name: daemon.event(name)["runs"] for name in ("tick", "tock", "tack")}
            check(runs == {"tick": 1000, "tock": 1000, "tack": 1000}, f"{runs}")


def user_event(name, user):
    binary = BURST.resolve()
    return (
        f'<event name="{name}" threshold="10s" trace-length="1s" binary="{binary}">'
        f'<scope user="{user}"/>'
        '<begin usdt="lagtrap:tick__begin"/><end usdt="lagtrap:tick__end"/></event>'
    )


def many_open_runs_paired_by_key():
    """10,000 runs open at once, begun in one thread and ended in another."""
    event = library_event("request", PLANTED, "200ms", "300ms", more="<key/>")
    with Daemon(event, budget='disable="none" open-runs="20000"') as daemon:
        with Watched(
            PLANTED,
            "--kind",
            "threads",
            "--count",
            10000,
            "--held",
            10000,
            "--slow-ms",
            400,
            "--wait",
        ) as program:
            told = program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        event = daemon.event("request")
        check(event["runs"] == told["runs"], f"{event['runs']} runs counted of {told['runs']}")
        check(
            event["lost"] == 0 and event["unmatched_ends"] == 0 and event["unmatched_begins"] == 0,
            f"{event}",
        )
        delays = report(bundle)["delays"]
        crossing = [
            delay
            for delay in delays
            if delay["begin_tid"] != delay["end_tid"] and not delay["open"]
        ]
        check(crossing, f"no delay of {len(delays)} crosses threads")


def a_program_that_lld_has_linked():
    """It has two writable segments that may contain a page of the file; started after its event
    is armed."""
    with Daemon(library_event("good", UNPAIRED_BY_LLD, "10s", more="<key/>")) as daemon:
        with Watched(UNPAIRED_BY_LLD, "leak") as program:
            program.go()
            check(program.process.stdout.readline(), "the program ended")
        check(daemon.event("good")["runs"] == 1000, f"{daemon.event('good')}")


def table_of_open_runs_full():
    """More open runs than the table holds: the rest is counted as lost, the others are right."""
    event = library_event("request", PLANTED, "100s", "300ms", more="<key/>")
    with Daemon(event, budget='disable="none" open-runs="4000"') as daemon:
        with Watched(
            PLANTED, "--kind", "threads", "--count", 20000, "--slow-ms", 1, "--wait"
        ) as program:
            told = program.go().result()
        event = daemon.event("request")
        check(event["lost"] > 0 and event["runs"] + event["lost"] == told["runs"], f"{event}")
        check(event["unmatched_ends"] == event["lost"], f"{event}")


FORMS = (
    "whole_register",
    "signed_part",
    "unsigned_part",
    "high_byte",
    "constant",
    "memory",
    "base",
    "sum",
    "index",
    "displaced_index",
    "no_base",
    "edge",
)


def form_event(name, threshold="10s", key="arg0", more=""):
    return (
        f'<event name="{name}" threshold="{threshold}" trace-length="300ms" '
        f'binary="{ARGUMENTS.resolve()}"><key/>'
        f'<begin usdt="forms:{name}__begin" key="{key}" {more}/>'
        f'<end usdt="forms:{name}__end" key="{key}"/></event>'
    )


def arguments_in_every_form():
    """The key is read wherever compilers put it: a reader that gets a form wrong pairs none of
    its runs."""
    events = "".join(form_event(name) for name in FORMS) + form_event("unreadable", key="arg1")
    with Daemon(events + form_event("timed", "1s", more='begin-time="arg1"')) as daemon:
        with Watched(ARGUMENTS, 500, "--wait") as program:
            told = program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        events = {event["name"]: event for event in daemon.status()["events"]}
        for name, event in events.items():
            check(
                event["runs"] == told["runs"]
                and event["unmatched_ends"] == event["unmatched_begins"] == 0,
                f"{name}: {event}",
            )
        # Its second argument gives its begin.
        check(
            events["timed"]["delays"] == told["runs"] and events["timed"]["max_ns"] >= 2e9,
            f"{events['timed']}",
        )
        check(all(events[name]["delays"] == 0 for name in FORMS), f"{events}")
        delays = report(bundle)["delays"]
        check(delays and all(delay["key"] == 9 for delay in delays), f"{delays}")


def an_argument_that_is_not_read():
    """It is reported when the settings are checked and when they are applied; other arguments
    are read nevertheless."""
    with Daemon(form_event("unreadable", key="arg1")) as daemon:
        daemon.write_settings(form_event("unreadable"))
        checked = subprocess.run(
            [LAGTRAPD, "--check-settings", daemon.settings_path],
            capture_output=True,
            text=True,
            timeout=60,
        )
        check(checked.returncode == 3, f"{checked}")
        for said in ("arg0", "forms:unreadable__begin", "8f@%xmm0", "floating-point"):
            check(said in checked.stderr, f"{said} is not in {checked.stderr}")
        daemon.process.send_signal(signal.SIGHUP)
        error = wait_for(
            lambda: daemon.status()["settings"]["reload_error"], "the settings to be refused"
        )
        check("8f@%xmm0" in error, error)
        daemon.stop()
        with Daemon(form_event("constant")) as other:
            other.stop()
            other.write_settings(form_event("constant") + form_event("unreadable"))
            # At start it does not look at programs beforehand: only the event is refused.
            other.expect_armed = False
            other.start()
            problem = other.event("unreadable")["problem"]
            check(not other.event("unreadable")["armed"] and "8f@%xmm0" in problem, f"{problem}")
            check(other.event("constant")["armed"], "another event is not armed")


if __name__ == "__main__":
    run(
        arguments_in_every_form,
        an_argument_that_is_not_read,
        every_run_is_counted,
        run_that_never_ends,
        runs_that_end_at_their_deadline,
        breach_at_the_end,
        tracepoint_event,
        function_of_a_stripped_binary,
        functions_left_in_every_way,
        nested_runs,
        queueing_counts_as_delay,
        threads_that_end_in_a_run,
        scope_of_one_process_and_one_user,
        many_open_runs_paired_by_key,
        a_program_that_lld_has_linked,
        table_of_open_runs_full,
    )
