"""<functions> in the settings: at a breach, the functions of the process are traced into the
bundle; standing ones from before it."""

import collections
import contextlib
import json
import signal
import subprocess
import tempfile

from call_programs import IN_C, NOTED, Program
from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    check,
    check_trace,
    report,
    run,
    wait_for,
)

BREAKPOINT = 0xCC
# These tests are about calls, not about their cost on a busy machine.
PLENTY = 'share="10000%" rate="10MiB"'
REDIS = "/usr/bin/redis-server"
# Not the function that begins the event, which always has a breakpoint.
WATCHED = "tree_leaf"


def event(more, threshold="5ms", length="10s", name="work"):
    return (
        f'<event name="{name}" threshold="{threshold}" trace-length="{length}">'
        '<function name="target_sleep" '
        f'binary="{IN_C}"/>{more}</event>'
    )


def is_watched(program):
    return program.first_byte_of(WATCHED) == BREAKPOINT


def traces(daemon):
    return daemon.event("work")["functions"]["traces"]


def counted(delay):
    return {row["function"]: row for row in delay["traced_functions"]["functions"]}


def note(noted, program, *modes):
    for mode in modes:
        noted.update(name for name, _ in program.run(mode))


def check_counts(delay, noted):
    found = {name: row["calls"] for name, row in counted(delay).items() if name in noted}
    check(found == dict(noted), f"{found} instead of {dict(noted)}")
    check(delay["traced_functions"]["not_reported"] == 0, f"{delay['traced_functions']}")


def functions_are_traced_from_the_breach_on():
    with Daemon(event(f'<functions {PLENTY} min="1us"/>')) as daemon, Program(IN_C) as program:
        program.run("tree")
        check(
            not is_watched(program) and traces(daemon) == [], "nothing is watched before a breach"
        )
        program.run("sleep")
        wait_for(
            lambda: is_watched(program) and traces(daemon) and traces(daemon)[0]["watched"],
            "the trace",
        )
        check(
            traces(daemon)[0]["recording"] and not traces(daemon)[0]["standing"],
            f"{traces(daemon)}",
        )
        text = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check("work: functions of call_trees_c" in text and "in the recording" in text, text)
        noted = collections.Counter()
        note(noted, program, "tree", "recursion", "sleep")
        bundle = daemon.wait_for_bundles(1)[0]
        check(not is_watched(program), "the probes are out once there is a bundle")
        delays = report(bundle)["delays"]
        check(len(delays) == 2, f"two runs were over the threshold: {delays}")
        check_counts(delays[0], noted)
        sleeper = counted(delays[0])["sleeper"]
        check(
            sleeper["longest_ns"] >= 19_000_000 and sleeper["path"][-1] == "target_sleep",
            f"{sleeper}",
        )
        check(sleeper["source"].endswith("trees.h") and sleeper["line"] > 0, f"{sleeper}")
        check(delays[0]["traced_functions"]["window_ns"] == 0, "it was not standing")
        slices = check_trace(bundle, 100_000)["function_calls"]
        told = collections.Counter(call["name"] for call in slices)
        check(
            told["sleeper"] == 1
            and told["target_sleep"] == 1
            and sum(told.values()) == delays[0]["traced_functions"]["reported"],
            f"{told}",
        )
        inner = next(call for call in slices if call["name"] == "sleeper")
        check(inner["depth"] >= 1 and inner["blocked_ns"] >= 19_000_000, f"{inner}")
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        check("\nFunctions traced\n" in text and "target_sleep > sleeper" in text, text)
        check(max(map(len, text.splitlines())) <= 80, f"lines of 80 columns: {text}")
        wait_for(lambda: traces(daemon) == [], "the status to show none")


def standing_ones_know_what_came_before():
    with Daemon(
        event(f'<functions standing="yes" window="60s" {PLENTY} min="1us"/>')
    ) as daemon, Program(IN_C) as program:
        wait_for(lambda: traces(daemon) and traces(daemon)[0]["watched"], "the trace that stands")
        check(
            traces(daemon)[0]["standing"] and not traces(daemon)[0]["recording"],
            f"{traces(daemon)}",
        )
        noted = collections.Counter()
        note(noted, program, "tree", "tree", "sleep")
        wait_for(lambda: traces(daemon)[0]["recording"], "the recording")
        note(noted, program, "recursion")
        bundle = daemon.wait_for_bundles(1)[0]
        delay = report(bundle)["delays"][0]
        check_counts(delay, noted)
        check(
            delay["traced_functions"]["from_boottime_ns"] < delay["begin_boottime_ns"],
            "it was there before the run",
        )
        slices = check_trace(bundle, 100_000)["function_calls"]
        check(
            any(
                call["name"] == "sleeper"
                and call["begin_ns"] < delay["begin_boottime_ns"] + delay["duration_ns"]
                for call in slices
            ),
            "the run of the breach itself is in the trace",
        )
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        check("before the breach on;" in " ".join(text.split()), text)
        check(is_watched(program) and traces(daemon)[0]["standing"], "it stands on")
        # The next recording has its own counts.
        wait_for(
            lambda: daemon.status()["state"] == "waiting", "the daemon to wait for the next breach"
        )
        program.run("sleep")
        second = next(other for other in daemon.wait_for_bundles(2) if other != bundle)
        check(
            counted(report(second)["delays"][0])["sleeper"]["calls"] == 2,
            "both sleeps are within the window",
        )


def whatever_ends_it_takes_the_probes_out():
    standing = event(f'<functions standing="yes" {PLENTY}/>')
    with Daemon(standing) as daemon, Program(IN_C) as program:
        wait_for(lambda: is_watched(program), "the trace that stands")
        daemon.write_settings(event(""))
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: not is_watched(program), "the reload to take the probes out")
        check(daemon.event("work")["functions"] is None, "none are wanted")
        daemon.write_settings(standing)
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: is_watched(program), "the reload to put them in")
        daemon.kill()
        wait_for(lambda: not is_watched(program), "the kernel to take them out")
        daemon.start()
        wait_for(lambda: is_watched(program), "the next daemon to put them in")
        daemon.process.send_signal(signal.SIGTERM)
        check(daemon.process.wait(timeout=60) == 0, "the daemon ends")
        check(not is_watched(program), "its end takes them out")
        program.run("tree")


def a_process_that_comes_later_is_watched_and_one_that_ends_is_left():
    with Daemon(event(f'<functions standing="yes" {PLENTY}/>')) as daemon:
        check(traces(daemon) == [], "no process is there")
        with Program(IN_C) as first:
            wait_for(lambda: is_watched(first), "the first process to be watched")
            with Program(IN_C) as second:
                wait_for(lambda: is_watched(second), "the second one too")
                pids = {trace["pid"] for trace in traces(daemon)}
                check(pids == {first.process.pid, second.process.pid}, f"{pids}")
            wait_for(
                lambda: [trace["pid"] for trace in traces(daemon)] == [first.process.pid],
                "the second to be left",
            )


def four_processes_are_watched_at_once_and_share_what_they_may_cost():
    settings = event(
        '<functions standing="yes" window="60s" share="1000%" rate="10MiB" min="1us"/>', length="1s"
    )
    with Daemon(settings) as daemon, contextlib.ExitStack() as programs:
        started = [programs.enter_context(Program(IN_C)) for _ in range(5)]

        def shares():
            return {
                trace["pid"]: trace["share_ppm"]
                for trace in traces(daemon)
                if trace["watched"] and trace["standing"]
            }

        wait_for(
            lambda: list(shares().values()) == 4 * [2_500_000],
            "four processes with a fourth of the share each",
        )
        wait_for(
            lambda: daemon.event("work")["functions"]["processes_without"] == 1,
            "the fifth to be told of",
        )
        watched = [program for program in started if program.process.pid in shares()]
        (other,) = [program for program in started if program not in watched]
        noted = {program.process.pid: collections.Counter() for program in watched}
        for modes, program in zip((("tree",), ("recursion",), ("nested", "tree"), ()), watched):
            note(noted[program.process.pid], program, *modes)
        for number, program in enumerate(watched[:2], 1):
            wait_for(
                lambda: daemon.status()["state"] == "waiting", "the daemon to wait for a breach"
            )
            before = daemon.bundles()
            note(noted[program.process.pid], program, "sleep")
            bundle = next(one for one in daemon.wait_for_bundles(number) if one not in before)
            check_counts(report(bundle)["delays"][0], noted[program.process.pid])
        watched[3].process.stdin.close()
        watched[3].process.wait(timeout=60)
        wait_for(
            lambda: other.process.pid in shares() and len(shares()) == 4,
            "the fifth to have the place that is free",
        )
        other.process.stdin.close()
        watched[2].process.stdin.close()
        wait_for(
            lambda: sorted(shares()) == sorted(program.process.pid for program in watched[:2]),
            "two to be left",
        )
        wait_for(
            lambda: set(shares().values()) == {5_000_000}, "each of them to have half of the share"
        )


def it_works_beside_calls():
    more = f'<functions standing="yes" {PLENTY} min="1us"/><calls match="{NOTED}" share="10000%"/>'
    with Daemon(event(more)) as daemon, Program(IN_C) as program:
        wait_for(lambda: traces(daemon) and traces(daemon)[0]["watched"], "the trace that stands")
        noted = collections.Counter()
        note(noted, program, "sleep")
        wait_for(
            lambda: any(
                '"started"' in path.read_text()
                for path in daemon.spool.glob("captures/*/calls.jsonl")
            ),
            "the trace of calls",
        )
        second = program.run("sleep")
        noted.update(name for name, _ in second)
        bundle = daemon.wait_for_bundles(1)[0]
        delays = report(bundle)["delays"]
        check_counts(delays[0], noted)
        names = [call["function"] for call in delays[1]["run_calls"]]
        check(names == [name for name, _ in second], f"{names} instead of {second}")
        shown = check_trace(bundle, 100_000)
        check(
            [call["name"] for call in shown["calls"]] == names and len(shown["function_calls"]) > 2,
            "both are in the trace",
        )


def what_is_called_too_often_is_detached_and_said():
    with Daemon(event('<functions standing="yes" share="0.1%"/>', length="1s")) as daemon, Program(
        IN_C
    ) as program:
        wait_for(lambda: traces(daemon) and traces(daemon)[0]["watched"], "the trace that stands")

        def thinned():
            program.run("tree")
            return traces(daemon)[0]["detached"] > 0

        wait_for(thinned, "something to be detached")
        program.run("sleep")
        bundle = daemon.wait_for_bundles(1)[0]
        check(report(bundle)["delays"][0]["traced_functions"]["detached"] > 0, "the report has it")
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        check("detached (called too often)" in " ".join(text.split()), text)


def what_cannot_be_traced_is_said_once():
    go = PROGRAMS / "goroutines"
    settings = (
        '<event name="work" threshold="1h" trace-length="1s">'
        f'<function name="main.(*Server).handle" binary="{go}"/>'
        '<functions standing="yes"/></event>'
    )
    with Daemon(settings) as daemon:
        with GoProgram(go):
            wait_for(lambda: daemon.event("work")["functions"]["problem"], "the refusal")
            check(
                "Go" in daemon.event("work")["functions"]["problem"],
                f"{daemon.event('work')['functions']}",
            )
            check(daemon.ask("trigger", event="work")["ok"], "by hand")
            bundle = daemon.wait_for_bundles(1)[0]
            disabled = report_quality(bundle)
            check(
                any("functions were not traced: " in sentence for sentence in disabled),
                f"{disabled}",
            )
            check(daemon.log().count("functions of event work are not recorded") == 1, daemon.log())


def report_quality(bundle):
    return report(bundle)["quality"]["omitted"]


def written_calls(daemon):
    """Names of the functions whose calls the recording has on disk by now."""
    for path in daemon.spool.glob("captures/*/functions.jsonl"):
        lines = [
            json.loads(line)
            for line in path.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]
        names = [
            function[0]
            for line in lines
            for function in line.get("started_functions", {}).get("functions", ())
        ]
        return {names[call[0]] for line in lines for call in line.get("calls", ())}
    return set()


def a_killed_daemon_leaves_what_was_told():
    with Daemon(event(f'<functions {PLENTY} min="1us"/>', length="10min")) as daemon, Program(
        IN_C
    ) as program:
        program.run("sleep")
        wait_for(lambda: traces(daemon) and traces(daemon)[0]["watched"], "the trace")
        program.run("sleep")
        wait_for(lambda: "sleeper" in written_calls(daemon), "the call to be written")
        daemon.kill()
        wait_for(lambda: not is_watched(program), "the kernel to take the probes out")
        daemon.start()
        bundle = daemon.wait_for_bundles(1)[0]
        check(
            "functions were not counted: lagtrapd exited before it reported the counts"
            in report_quality(bundle),
            f"{report_quality(bundle)}",
        )
        check(
            any(
                call["name"] == "sleeper" for call in check_trace(bundle, 100_000)["function_calls"]
            ),
            "calls that were told",
        )


class GoProgram(OwnedProcess):
    """Runs and waits."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path, "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )


class Redis(OwnedProcess):
    def __init__(self, folder):
        self.socket = f"{folder}/redis.sock"
        self.process = subprocess.Popen(
            [
                REDIS,
                "--port",
                "0",
                "--unixsocket",
                self.socket,
                "--save",
                "",
                "--dir",
                folder,
                "--enable-debug-command",
                "yes",
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: self.ask("ping", checked=False) == "PONG\n", "redis to answer")

    def ask(self, *words, checked=True):
        return subprocess.run(
            ["redis-cli", "-s", self.socket, *words], capture_output=True, text=True, check=checked
        ).stdout


def redis_counts_as_it_does_itself():
    """Its own statistics give the number of commands it handled."""
    settings = (
        '<event name="work" threshold="100ms" trace-length="3s">'
        f'<function name="processCommand" binary="{REDIS}"/>'
        f'<functions standing="yes" window="60s" {PLENTY}/></event>'
    )
    with tempfile.TemporaryDirectory() as folder, Daemon(settings) as daemon, Redis(
        folder
    ) as redis:
        wait_for(
            lambda: traces(daemon) and traces(daemon)[0]["watched"] > 1000, "the trace that stands"
        )

        def handled():
            found = [
                line
                for line in redis.ask("info", "stats").splitlines()
                if line.startswith("total_commands_processed:")
            ]
            return int(found[0].split(":")[1])

        before = handled()
        for number in range(20):
            redis.ask("set", f"key{number}", "value")
        redis.ask("debug", "sleep", "0.3")
        bundle = daemon.wait_for_bundles(1)[0]
        after = handled()
        delay = report(bundle)["delays"][0]
        rows = counted(delay)
        # INFO counts the commands before it: the first one itself is watched, the last one is not.
        check(
            rows["processCommand"]["calls"] >= after - before,
            f"{rows['processCommand']}, {after - before} by its own count",
        )
        check(rows["debugCommand"]["longest_ns"] >= 300_000_000, f"{rows.get('debugCommand')}")
        check("processCommand" in rows["debugCommand"]["path"], f"{rows['debugCommand']['path']}")


if __name__ == "__main__":
    run(
        functions_are_traced_from_the_breach_on,
        standing_ones_know_what_came_before,
        whatever_ends_it_takes_the_probes_out,
        a_process_that_comes_later_is_watched_and_one_that_ends_is_left,
        four_processes_are_watched_at_once_and_share_what_they_may_cost,
        it_works_beside_calls,
        what_is_called_too_often_is_detached_and_said,
        what_cannot_be_traced_is_said_once,
        a_killed_daemon_leaves_what_was_told,
        redis_counts_as_it_does_itself,
    )
