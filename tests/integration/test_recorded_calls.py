"""<calls> in the settings: after a breach, slow runs of a function have their calls in the
bundle."""

import pathlib
import re
import subprocess
import tempfile

from call_programs import IN_C, NOTED, Program, check_parts, with_depths
from lagtrap_test import (
    LAGTRAP,
    LAGTRAPD,
    PROGRAMS,
    Daemon,
    check,
    check_trace,
    report,
    run,
    wait_for,
)

BREAKPOINT = 0xCC


def event(more, function="target_sleep", threshold="5ms", length="5s"):
    return (
        f'<event name="work" threshold="{threshold}" trace-length="{length}">'
        f'<function name="{function}" '
        f'binary="{IN_C}"/>{more}</event>'
    )


def line_of(function):
    """The line of its definition in the source."""
    lines = (
        (pathlib.Path(__file__).parent / "programs" / "call_trees" / "trees.h")
        .read_text()
        .splitlines()
    )
    return next(
        number
        for number, line in enumerate(lines, 1)
        if re.search(rf"\b{function}\(", line) and "WATCHED" in line
    )


def wait_for_trace(daemon):
    """Waits until all functions that the recording traces have their probes."""

    def started():
        return any(
            '"started"' in path.read_text() for path in daemon.spool.glob("captures/*/calls.jsonl")
        )

    wait_for(started, "the trace of calls")


def report_text(bundle, delay):
    return subprocess.run(
        [LAGTRAP, "report", "--delay", str(delay), bundle],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def slow_runs_have_their_calls_in_the_bundle():
    with Daemon(event(f'<calls match="{NOTED}" share="10000%"/>')) as daemon, Program(
        IN_C
    ) as program:
        program.run("sleep")
        wait_for_trace(daemon)
        noted = program.run("sleep")
        bundle = daemon.wait_for_bundles(1)[0]
        check(
            program.first_byte_of("sleeper") != BREAKPOINT,
            "the probes are out once there is a bundle",
        )
        delays = report(bundle)["delays"]
        check(len(delays) == 2, f"two runs were over the threshold: {delays}")
        check(delays[0]["run_calls"] is None, "the run of the breach was watched from nowhere")
        tree = {"calls": delays[1]["run_calls"]}
        check(with_depths(tree) == noted, f"{with_depths(tree)} instead of {noted}")
        check_parts(tree)
        sleeper = next(call for call in tree["calls"] if call["function"] == "sleeper")
        check(sleeper["blocked_ns"] >= 19_000_000, f"usleep(20000) is blocked: {sleeper}")
        check(
            sleeper["source"].endswith("trees.h") and sleeper["line"] == line_of("sleeper"),
            f"{sleeper}",
        )
        text = report_text(bundle, 2)
        check(
            "\nCalls  of this run, without" in text and "sleeper  blocked" in text,
            f"the report shows them: {text}",
        )
        check(
            "1 delay of this recording has them; the longest is\n  --delay 2."
            in report_text(bundle, 1),
            report_text(bundle, 1),
        )
        check(max(map(len, text.splitlines())) <= 80, f"lines of 80 columns: {text}")
        slices = check_trace(bundle, 10_000)["calls"]
        check([[call["name"], call["depth"]] for call in slices] == noted, f"slices: {slices}")
        check(
            [call["wall_ns"] for call in slices] == [call["wall_ns"] for call in tree["calls"]],
            f"slices: {slices}",
        )


def runs_under_the_threshold_have_no_tree():
    with Daemon(
        event(f'<calls match="{NOTED}" share="10000%"/>', "target_tree", "1h", "2s")
    ) as daemon, Program(IN_C) as program:
        wait_for(
            lambda: daemon.event("work")["pid"] == program.process.pid,
            "the daemon to know of the process",
        )
        check(daemon.ask("trigger", event="work")["ok"], "by hand")
        wait_for_trace(daemon)
        program.run("tree")
        bundle = daemon.wait_for_bundles(1)[0]
        check(check_trace(bundle, 10)["calls"] == [], "there is no slow run")


def what_comes_too_often_is_said_in_the_report():
    with Daemon(event('<calls share="0.1%"/>', "target_sleep")) as daemon, Program(IN_C) as program:
        program.run("sleep")
        wait_for_trace(daemon)
        while daemon.status()["state"] == "recording":
            program.run("sleep")
        disabled = report(daemon.wait_for_bundles(1)[0])["quality"]["omitted"]
        check(
            any("were too frequent and are not recorded" in sentence for sentence in disabled),
            f"{disabled}",
        )


def what_cannot_be_watched_is_said_in_the_report():
    with Daemon(event("<calls/>", "target_tree", "1h", "1s")) as daemon:
        check(daemon.ask("trigger", event="work")["ok"], "by hand, and no process is there")
        check(
            report(daemon.wait_for_bundles(1)[0])["quality"]["omitted"] == [],
            "nothing was given up",
        )
        check("no process has its program" in daemon.log(), daemon.log())


def a_killed_daemon_leaves_what_was_told():
    with Daemon(
        event(f'<calls match="{NOTED}" share="10000%"/>', length="10min")
    ) as daemon, Program(IN_C) as program:
        program.run("sleep")
        wait_for_trace(daemon)
        noted = program.run("sleep")

        def told():
            return any(
                '{"tree"' in path.read_text()
                for path in daemon.spool.glob("captures/*/calls.jsonl")
            )

        wait_for(told, "the tree to be written")
        daemon.kill()
        wait_for(
            lambda: program.first_byte_of("sleeper") != BREAKPOINT,
            "the kernel to take the probes out",
        )
        daemon.start()
        slices = check_trace(daemon.wait_for_bundles(1)[0], 10_000)["calls"]
        check(
            [[call["name"], call["depth"]] for call in slices] == noted,
            f"{slices} instead of {noted}",
        )


def functions_of_go_are_refused_at_their_place():
    program = PROGRAMS / "goroutines"
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "settings.xml"
        settings.write_text(
            '<lagtrap version="1">\n  <event name="request" threshold="1s" trace-length="1s">\n'
            f'    <function name="main.(*Server).handle" binary="{program}"/>\n    <calls/>\n'
            "  </event>\n</lagtrap>\n"
        )
        done = subprocess.run(
            [LAGTRAPD, "--check-settings", settings], capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        check(
            done.returncode != 0
            and "settings.xml:4:5: <calls> with a function of" in said
            and "a Go program" in said,
            said,
        )


run(
    slow_runs_have_their_calls_in_the_bundle,
    runs_under_the_threshold_have_no_tree,
    what_comes_too_often_is_said_in_the_report,
    what_cannot_be_watched_is_said_in_the_report,
    a_killed_daemon_leaves_what_was_told,
    functions_of_go_are_refused_at_their_place,
)
