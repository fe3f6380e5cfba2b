"""Functions of a Go program as events: goroutines change threads and stacks are moved, and yet
each call is a run."""

import json
import pathlib
import subprocess
import tempfile

from lagtrap_test import LAGTRAP, PROGRAMS, Daemon, Watched, check, report, run, wait_for

PROGRAM = PROGRAMS / "goroutines"
STRIPPED = PROGRAM.with_name("goroutines_stripped")
THRESHOLD_NS = 1_500_000_000
PLANTED_NS = 3_000_000_000
RECORDING = 'cool-down="1h" captures-per-hour="1000"'


class Goroutines(Watched):
    """A program that has done its work, reported it, and idles."""

    def __init__(self, work, program=PROGRAM):
        super().__init__(program, work)
        self.go()
        self.told = json.loads(self.process.stdout.readline())


def call_event(name, function, threshold="1500ms", program=PROGRAM, more=""):
    return (
        f'<event name="{name}" threshold="{threshold}" trace-length="200ms..20s" {more}>'
        f'<function name="{function}" binary="{program}"/></event>'
    )


def idle_past(daemon, event, threshold_ns=THRESHOLD_NS):
    """Waits until open runs have passed the threshold, and the daemon has checked them."""
    wait_for(
        lambda: daemon.event(event)["open"] == 0
        or daemon.event(event)["oldest_open_ns"] > 2 * threshold_ns,
        "the threshold to pass",
    )


def check_event(event, wanted):
    found = {name: event[name] for name in wanted}
    check(found == wanted, f"{found} instead of {wanted}: {event}")


def check_no_thread(delay):
    split = delay["split"]
    check(
        split["on_cpu_ns"] == split["blocked_ns"] == split["runnable_ns"] == 0,
        f"a thread's time: {split}",
    )
    check(
        any("goroutine" in sentence for sentence in delay["cause"]["sentences"]),
        f"{delay['cause']}",
    )


def requests_on_many_threads(program=PROGRAM):
    """1,200 requests of goroutines that change threads: 1,200 runs, and only the planted one is
    slow."""
    with Daemon(
        call_event("request", "main.(*Server).handle", program=program), RECORDING
    ) as daemon:
        with Goroutines("requests", program) as watched:
            check(watched.told["calls"] == 1200 and watched.told["moved"] > 100, f"{watched.told}")
            check_event(
                daemon.event("request"),
                {
                    "key": "goroutine",
                    "runs": 1200,
                    "delays": 1,
                    "open": 0,
                    "abandoned": 0,
                    "lost": 0,
                    "unmatched_begins": 0,
                    "unmatched_ends": 0,
                },
            )
            longest_ns, seen_ns = watched.told["longest_ns"], daemon.event("request")["max_ns"]
            check(
                PLANTED_NS <= longest_ns <= seen_ns,
                f"the longest took {longest_ns} ns, {seen_ns} ns were seen",
            )
            found = report(daemon.wait_for_bundles(1)[0])
    return found


def the_planted_one_is_reported():
    """While it is open; with its own time, and without any thread's time: its threads are
    unknown."""
    found = requests_on_many_threads()
    check(found["trigger_reason"] == "deadline", f"noticed at the {found['trigger_reason']}")
    delays = found["delays"]
    check(len(delays) == 1 and delays[0]["duration_ns"] >= PLANTED_NS, f"{delays}")
    delay = delays[0]
    check(delay["goroutine"] > 0, f"no goroutine: {delay}")
    check_no_thread(delay)


def trees_are_those_of_goroutines():
    """The requests change threads; each tree has one complete request with its calls."""
    with Daemon(call_event("idle", "main.grow")) as daemon, Watched(PROGRAM, "requests") as watched:
        client = subprocess.Popen(
            [
                LAGTRAP,
                "calls",
                "--socket",
                daemon.socket_path,
                "--process",
                str(watched.process.pid),
                "--function",
                "main.(*Server).handle",
                "--depth",
                "1",
                "--json",
                "--count",
                "0",
                "--for",
                "10min",
                "--budget",
                "1000",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        check("started" in json.loads(client.stdout.readline()), "the trace began")
        watched.go()
        told = json.loads(watched.process.stdout.readline())
        watched.process.kill()
        lines = [json.loads(line) for line in client.communicate(timeout=60)[0].splitlines()]
    trees = [line["tree"] for line in lines if "tree" in line]
    ended = lines[-1]["ended"]
    check(ended["reason"] == "the process exited", f"{ended}")
    check(
        trees and ended["calls"] + ended["not_kept"] == told["calls"],
        f"{ended} instead of {told['calls']} requests",
    )
    for tree in trees:
        names = [call["function"] for call in tree["calls"]]
        check(
            tree["goroutine"] > 0
            and names.count("time.Sleep") == 2
            and "runtime.mcall" not in names,
            f"{names}",
        )
        check(
            all(call["end"] == "returned" and call["on_cpu_ns"] is None for call in tree["calls"]),
            f"{tree}",
        )


def stacks_are_moved():
    """A call begins once, however often its stack is too small, and ends where its stack was
    moved to."""
    with Daemon(call_event("grow", "main.grow") + call_event("descend", "main.descend")) as daemon:
        with Goroutines("grow") as watched:
            for name in ("grow", "descend"):
                check_event(
                    daemon.event(name),
                    {
                        "runs": watched.told[name],
                        "delays": 0,
                        "open": 0,
                        "abandoned": 0,
                        "unmatched_begins": 0,
                        "unmatched_ends": 0,
                        "too_deep": 0,
                    },
                )
                begin, end = daemon.event(name)["markers"]
                check(begin["hits"] == end["hits"] == watched.told[name], f"{name}: {begin}, {end}")


def panics_are_no_delays():
    """A call left by a panic is not a run; a call that recovers returns, and is one."""
    functions = {
        "passed": "main.passed",
        "recovered": "main.recovered",
        "in-loop": "main.recoveredInLoop",
    }
    with Daemon(
        "".join(call_event(name, function) for name, function in functions.items())
    ) as daemon:
        with Goroutines("panics") as watched:
            told = watched.told
            for name, runs in (
                ("passed", told["returned"]),
                ("recovered", told["recovered"]),
                ("in-loop", told["recovered"]),
            ):
                idle_past(daemon, name)
                event = daemon.event(name)
                check_event(event, {"runs": runs, "delays": 0, "unmatched_ends": 0})
                calls = told["passed"] if name == "passed" else runs
                check(event["abandoned"] + event["open"] + runs == calls, f"{name}: {event}")
            # The goroutine's last call was left, and no other call shows it; the goroutine waits
            # elsewhere.
            wait_for(lambda: daemon.event("passed")["open"] == 0, "the last call to be given up")
            check(daemon.status()["captures"]["done"] == 0, "a recording of a call that was left")


def goroutines_that_end_are_no_delays():
    with Daemon(call_event("end", "main.end")) as daemon, Goroutines("ends") as watched:
        wait_for(
            lambda: daemon.event("end")["open"] == 0, "the goroutines that ended to be noticed"
        )
        check_event(
            daemon.event("end"),
            {
                "runs": watched.told["returned"],
                "delays": 0,
                "unmatched_ends": 0,
                "abandoned": watched.told["calls"] - watched.told["returned"],
            },
        )


def goroutines_are_used_again():
    with Daemon(call_event("short", "main.short")) as daemon, Goroutines("many") as watched:
        check_event(
            daemon.event("short"),
            {
                "runs": watched.told["calls"],
                "open": 0,
                "abandoned": 0,
                "lost": 0,
                "unmatched_begins": 0,
                "unmatched_ends": 0,
            },
        )


def values_are_in_registers_of_go():
    """One goroutine begins, another ends, keyed by the value of an integer parameter."""
    event = (
        '<event name="pair" threshold="1500ms" trace-length="200ms..20s" binary="{}"><key/>'
        '<begin function="main.submit" key="arg2"/><end function="main.finish" key="arg1"/></event>'
    ).format(PROGRAM)
    with Daemon(event, RECORDING) as daemon, Goroutines("pairs") as watched:
        check_event(
            daemon.event("pair"),
            {
                "runs": watched.told["pairs"],
                "delays": 1,
                "open": 0,
                "unmatched_begins": 0,
                "unmatched_ends": 0,
            },
        )
        delay = report(daemon.wait_for_bundles(1)[0])["delays"][0]
        check(delay["key"] == 777 % 500 and delay["duration_ns"] >= PLANTED_NS, f"{delay}")
        check_no_thread(delay)


def a_stripped_program_is_watched():
    """By the names of its own table."""
    found = requests_on_many_threads(STRIPPED)
    check(found["delays"][0]["duration_ns"] >= PLANTED_NS, f"{found['delays']}")


def nearly_all_functions_can_be_watched():
    for program in (PROGRAM, STRIPPED):
        listed = subprocess.run(
            [LAGTRAP, "list-markers", "--functions", program],
            capture_output=True,
            text=True,
            check=True,
        )
        summary = next(line for line in listed.stdout.splitlines() if "functions:" in line)
        share = float(summary.split("(")[1].split(" %")[0])
        check(share >= 99.5, f"{program.name}: {summary}")


def what_cannot_be_told_is_refused():
    """A Go function and a tracepoint: a goroutine and a thread."""
    mixed = (
        '<event name="mixed" threshold="1s" trace-length="1s">'
        f'<begin function="main.grow" binary="{PROGRAM}"/>'
        '<end tracepoint="sched:sched_process_exit"/></event>'
    )
    stacked = (
        '<event name="stacked" threshold="1s" trace-length="1s" binary="{}"><key/>'
        '<begin function="runtime.memmove" key="arg0"/><end function="main.grow" key="arg0"/>'
        "</event>"
    ).format(PROGRAM)
    daemon = Daemon(mixed + stacked)
    daemon.expect_armed = False
    with daemon:
        problem = daemon.event("mixed")["problem"]
        check(
            "main.grow" in problem and "sched_process_exit" in problem and "expected" in problem,
            problem,
        )
        problem = daemon.event("stacked")["problem"]
        check(
            "runtime.memmove" in problem and "assembly" in problem and "expected" in problem,
            problem,
        )


def other_versions_are_refused():
    """By the check of the settings, with the position; a daemon that starts anyway does not arm
    the event."""
    with tempfile.TemporaryDirectory() as folder:
        for version, expected in ((b"go1.16.8", "Go 1.17 to 1."), (b"go1.99.8", "Go 1.17 to 1.")):
            old = pathlib.Path(folder, "old")
            content = PROGRAM.read_bytes()
            own = (
                subprocess.run(
                    ["go", "version", PROGRAM], capture_output=True, text=True, check=True
                )
                .stdout.split()[1]
                .encode()
            )
            old.write_bytes(content.replace(own, version.ljust(len(own), b" ")))
            old.chmod(0o755)
            daemon = Daemon(call_event("old", "main.grow", program=old))
            daemon.expect_armed = False
            with daemon:
                problem = daemon.event("old")["problem"]
                check(expected in problem and version.decode() in problem, problem)
                checked = subprocess.run(
                    [LAGTRAP, "check", daemon.settings_path], capture_output=True, text=True
                )
                told = checked.stdout + checked.stderr
                check(
                    checked.returncode != 0
                    and expected in told
                    and f"{daemon.settings_path}:" in told,
                    told,
                )


if __name__ == "__main__":
    run(
        trees_are_those_of_goroutines,
        the_planted_one_is_reported,
        stacks_are_moved,
        panics_are_no_delays,
        goroutines_that_end_are_no_delays,
        goroutines_are_used_again,
        values_are_in_registers_of_go,
        a_stripped_program_is_watched,
        nearly_all_functions_can_be_watched,
        what_cannot_be_told_is_refused,
        other_versions_are_refused,
    )
