"""lagtrap functions on programs whose runtimes report functions by their own probes: Ruby, Java,
Python."""

import collections
import json
import pathlib
import signal
import subprocess
import tempfile
import threading

from call_programs import FunctionTrace
from lagtrap_test import LAGTRAP, Daemon, check, check_trace, decode_trace, report, run, wait_for
from runtime_programs import (
    NODE,
    PROGRAMS,
    PYTHON,
    RUBY,
    RUBY_TRACED,
    JavaShop,
    ManyFunctions,
    Rounds,
    Shop,
)
from trace_client import idle_daemon

# These tests are about calls, not about their cost on a busy machine.
PLENTY = ("--budget", "10000", "--rate", "50MB", "--min", "1us")


def unwatched(*arguments):
    with Shop(*RUBY_TRACED) as shop:
        return shop.fill(*arguments)


def calls_of(counts):
    return {name: row[1] for name, row in counts.items()}


def line_of_add():
    """The line that Ruby reports for Cart#add: the first of its body."""
    lines = (PROGRAMS / "shop.rb").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if "def add(" in line) + 1


def methods_of_ruby_are_counted_and_timed():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop:
        check(set(shop.semaphores("libruby").values()) == {0}, f"{shop.semaphores('libruby')}")
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            asked = {name for name, count in shop.semaphores("libruby").items() if count}
            check(
                asked == {"method__entry", "method__return"},
                f"methods in C are not watched: {asked}",
            )
            check(shop.fill(3, 50) == unwatched(3, 50), "the program's result")
            lines = trace.end()
        counts = trace.counts(lines)
        expected = {
            "Object#fill": 3,
            "Cart#initialize": 3,
            "Cart#add": 66,
            "Cart#discounted": 66,
            "Cart#checkout": 3,
        }
        check(calls_of(counts) == expected, f"{calls_of(counts)}")
        slow = counts["Cart#checkout"]
        check(slow[3] >= 3 * 50_000_000 and slow[4] >= 50_000_000, f"it sleeps: {slow}")
        check(max(counts, key=lambda name: counts[name][3]) == "Cart#checkout", f"{counts}")
        check([trace.names[caller] for caller in slow[5]] == ["Object#fill"], f"{slow}")
        more = {row[0]: row for line in lines for row in line.get("more", ())}
        check(
            more["Cart#add"][7:] == [str(PROGRAMS / "shop.rb"), line_of_add()],
            f"{more['Cart#add']}",
        )
        check(lines[-1]["ended_functions"]["runtimes"][0][0] == "Ruby", f"{lines[-1]}")
        check(lines[-1]["ended_functions"]["unnamed"] == 0, f"{lines[-1]}")
        wait_for(lambda: set(shop.semaphores("libruby").values()) == {0}, "nothing to be asked for")


def methods_in_c_are_watched_where_they_are_wanted():
    with idle_daemon() as daemon, Shop(*RUBY) as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY, "--include", "#sleep$") as trace:
            shop.fill(2, 50)
            lines = trace.end()
        counts = trace.counts(lines)
        check(
            calls_of(counts) == {"Kernel#sleep": 2} and counts["Kernel#sleep"][4] >= 50_000_000,
            f"{counts}",
        )
        left_out = dict(lines[-1]["ended_functions"]["runtimes"][0][2])
        check(left_out["in C"] >= 2, f"{left_out}")


def methods_of_java_are_counted_and_timed_compiled_ones_too():
    with idle_daemon() as daemon, JavaShop("-XX:+DTraceMethodProbes") as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            check(
                not any("/jvm/" in path for path in trace.started["own_files"]),
                f"{trace.started['own_files']}",
            )
            check(shop.fill(5000) == unwatched(5000), "the program's result")
            check(shop.fill(3, 50) == unwatched(3, 50), "the program's result")
            lines = trace.end()
        counts = trace.counts(lines)
        expected = {
            "Shop.fill": 5003,
            "Shop$Cart.<init>": 5003,
            "Shop$Cart.add": 22 * 5003,
            "Shop$Cart.discounted": 22 * 5003,
            "Shop$Cart.checkout": 5003,
        }
        ended = {
            name: value for name, value in lines[-1]["ended_functions"].items() if name != "totals"
        }
        check(calls_of(counts) == expected, f"{calls_of(counts)}: {ended}")
        # Classes loaded meanwhile call hundreds of library functions, which are detached while they
        # are open.
        check(ended["too_deep"] == 0, f"{ended}")
        slow = counts["Shop$Cart.checkout"]
        check(
            slow[4] >= 50_000_000 and [trace.names[caller] for caller in slow[5]] == ["Shop.fill"],
            f"{slow}",
        )
        check(
            dict(lines[-1]["ended_functions"]["runtimes"][0][2])["language library"] >= 1,
            f"{lines[-1]}",
        )


class ReadAlong(FunctionTrace):
    """Reads output as it is written: a pipe has no room for thousands of functions."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.client.stdout))
        self.reader.start()

    def interrupt(self):
        self.client.send_signal(signal.SIGINT)
        self.reader.join()
        check(self.client.wait(timeout=120) == 0, self.client.stderr.read())
        return [json.loads(line) for line in self.said]

    def __exit__(self, *what):
        super().__exit__(*what)
        self.reader.join()


# No call is reported individually.
COUNTED_ALONE = ("--budget", "10000", "--rate", "50MB", "--min", "1h")


def a_function_that_threads_call_at_once_gets_one_number():
    count, later_rounds = 400, 10
    with idle_daemon() as daemon, ManyFunctions(count) as program, ReadAlong(
        daemon, program.pid, *COUNTED_ALONE
    ) as trace:
        program.run(1)
        program.run(later_rounds)
        lines = trace.end()
        told = collections.Counter(row[0] for line in lines for row in line.get("more", ()))
        counts = calls_of(trace.counts(lines))
        names = [f"Many.f{number}" for number in range(count)]
        check(
            all(told[name] == 1 for name in names),
            "told more or less than once: "
            f"{[(name, told[name]) for name in names if told[name] != 1]}",
        )
        # A thread that comes second while the first gets the number is not counted, and is never
        # late again.
        missing = [2 * (1 + later_rounds) - counts[name] for name in names]
        check(set(missing) <= {0, 1}, f"{collections.Counter(missing)}")
        unnamed = lines[-1]["ended_functions"]["unnamed"]
        check(
            sum(missing) <= unnamed,
            f"{sum(missing)} calls are missing, {unnamed} hits are said to have had no name",
        )


def functions_beyond_the_limit_are_said():
    count, rounds, most = 5000, 4, 4096
    with idle_daemon() as daemon, Rounds(
        "/usr/bin/ruby", PROGRAMS / "many.rb", count
    ) as program, ReadAlong(daemon, program.pid, *COUNTED_ALONE) as trace:
        # New functions are reported through a ring, and again if it is full.
        for _ in range(rounds):
            program.run("all")
        lines = trace.end()
        told = collections.Counter(row[0] for line in lines for row in line.get("more", ()))
        check(
            set(told.values()) == {1} and len(told) == most,
            f"{len(told)} functions: {told.most_common(3)}",
        )
        counts = calls_of(trace.counts(lines))
        check(
            counts["Object#call_all"] == rounds and max(counts.values()) == rounds,
            f"{collections.Counter(counts.values())}",
        )
        counted = sum(calls for name, calls in counts.items() if name.startswith("Object#many_"))
        unnamed = lines[-1]["ended_functions"]["unnamed"]
        missing = count * rounds - counted
        check(
            2 * (count + 1 - most) * rounds <= unnamed and missing <= unnamed <= 2 * missing,
            f"{counted} calls counted, {unnamed} hits unnamed",
        )


def intervals_of(trace, lines):
    """For each method, when each of its calls began and ended."""
    intervals = collections.defaultdict(list)
    for line in lines:
        for call in line.get("calls", ()):
            intervals[trace.names[call[0]].removeprefix("Object#")].append((call[2], call[3]))
    return intervals


def contains(outer, inner):
    return any(
        begin <= other and end >= other_end for begin, end in outer for other, other_end in inner
    )


def fibers_call_nothing_of_each_other():
    with idle_daemon() as daemon:
        for mode, own in (("reactor", "take_turns"), ("thread", "take_turns"), ("bare", None)):
            with Rounds("/usr/bin/ruby", PROGRAMS / "fibers.rb") as program, FunctionTrace(
                daemon, program.pid, *PLENTY
            ) as trace:
                program.run(mode)
                lines = trace.end()
                counts, at = trace.counts(lines), intervals_of(trace, lines)
                names = ("turn_a", "turn_b", "step_a", "step_b")
                check(
                    [counts[f"Object#{name}"][1] for name in names] == [1, 1, 4, 4],
                    f"{mode}: {calls_of(counts)}",
                )
                for one, other in (
                    ("turn_a", "turn_b"),
                    ("turn_a", "step_b"),
                    ("turn_b", "turn_a"),
                    ("turn_b", "step_a"),
                    ("step_a", "step_b"),
                ):
                    check(not contains(at[one], at[other]), f"{mode}: {one} contains {other}: {at}")
                check(
                    contains(at["turn_a"], at["step_a"]) and contains(at["turn_b"], at["step_b"]),
                    f"{mode}: their own: {at}",
                )
                check(
                    [counts[f"Object#{name}"][2] for name in ("turn_a", "turn_b")] == [1, 1],
                    f"{mode}: they are marked: {counts}",
                )
                if own:
                    check(
                        counts[f"Object#{own}"][2] == 0
                        and all(contains(at[own], at[name]) for name in names),
                        f"{mode}: {at}",
                    )


def what_a_fiber_calls_stands_below_who_resumed_it():
    with idle_daemon() as daemon, Rounds("/usr/bin/ruby", PROGRAMS / "fibers.rb") as program:
        with FunctionTrace(daemon, program.pid, *PLENTY) as trace:
            program.run("whole")
            lines = trace.end()
            counts, at = trace.counts(lines), intervals_of(trace, lines)
            check(
                calls_of(counts) == {"Object#whole": 1, "Object#beside": 2}
                and counts["Object#whole"][2] == counts["Object#beside"][2] == 0,
                f"{counts}",
            )
            check(all(contains(at["whole"], [one]) for one in at["beside"]), f"{at}")
        with FunctionTrace(daemon, program.pid, *PLENTY) as trace:
            program.run("enumerator")
            lines = trace.end()
            counts, at = trace.counts(lines), intervals_of(trace, lines)
            check(
                calls_of(counts)
                == {
                    "Object#outer": 1,
                    "Object#consume": 1,
                    "Object#produce": 1,
                    "Object#make": 3,
                    "Object#beside": 4,
                },
                f"{calls_of(counts)}",
            )
            check(
                not contains(at["produce"], at["beside"])
                and not contains(at["make"], at["beside"]),
                f"{at}",
            )
            check(
                contains(at["produce"], at["make"])
                and all(contains(at["consume"], [one]) for one in at["make"]),
                f"{at}",
            )


def short_methods_of_ruby_are_counted():
    """However short: empty ones, aliases, methods from blocks. Methods without a body in Ruby
    are not reported."""
    with idle_daemon() as daemon, Rounds("/usr/bin/ruby", PROGRAMS / "short.rb") as program:
        with FunctionTrace(daemon, program.pid, *PLENTY) as trace:
            program.run("all")
            counts = calls_of(trace.counts(trace.end()))
        expected = {
            "empty": 2,
            "constant": 3,
            "endless": 1,
            "yields": 1,
            "defined": 1,
            "method_missing": 1,
            "inherited": 1,
        }
        check(
            counts
            == {f"Short#{name}": calls for name, calls in expected.items()}
            | {"Shorter#inherited": 1},
            f"{counts}",
        )


def functions_of_python_are_counted():
    """Debian's 3.11 reports only ends: there are no times, and that is reported."""
    with idle_daemon() as daemon, Shop(*PYTHON) as shop:
        check(set(shop.semaphores("python3").values()) == {0}, f"{shop.semaphores('python3')}")
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            shop.fill(3, 50)
            lines = trace.end()
        totals = {trace.names[row[0]]: row for row in lines[-1]["ended_functions"]["totals"]}
        seen = {name.removeprefix("shop.py:"): row[1] + row[6] for name, row in totals.items()}
        check(
            {name: seen[name] for name in ("fill", "add", "discounted", "checkout")}
            == {"fill": 3, "add": 60, "discounted": 60, "checkout": 3},
            f"{seen}",
        )
        check(
            all(row[3] == row[4] == 0 for row in totals.values() if row[6]),
            f"no time is made up: {totals}",
        )
        wait_for(lambda: set(shop.semaphores("python3").values()) == {0}, "nothing to be asked for")


def what_cannot_be_seen_is_said_with_what_to_do():
    def told(shop):
        done = subprocess.run(
            [
                LAGTRAP,
                "functions",
                "--socket",
                daemon.socket_path,
                "--process",
                str(shop.pid),
                "--for",
                "200ms",
            ],
            capture_output=True,
            text=True,
        )
        check(max(map(len, done.stdout.splitlines() or [""])) <= 80, done.stdout)
        return " ".join((done.stdout + done.stderr).split())

    with idle_daemon() as daemon:
        with Shop(*RUBY) as shop:
            text = told(shop)
            check(
                "method__entry method__return" in text and "while a TracePoint is enabled" in text,
                text,
            )
            check(
                "put TracePoint.new(:call, :return) {}.enable at the start of the program" in text,
                text,
            )
        with JavaShop() as shop:
            check("start it with -XX:+DTraceMethodProbes" in told(shop), told(shop))
        with Shop(*PYTHON) as shop:
            check("since 3.11 most calls report only their end" in told(shop), told(shop))
        with Shop(*NODE) as shop:
            check("Node.js has no function probes" in told(shop), told(shop))


def slices_nest_as_the_calls_did():
    with idle_daemon() as daemon, Shop(
        *RUBY_TRACED
    ) as shop, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "functions.pftrace"
        with FunctionTrace(
            daemon, shop.pid, "--budget", "10000", "--min", "20ms", "--output", path
        ) as trace:
            shop.fill(2, 50)
            trace.end()
        slices = [(call["name"], call["depth"]) for call in decode_trace(path, 100_000)["calls"]]
        least = min(depth for _, depth in slices)
        check(
            [(name, depth - least) for name, depth in slices]
            == 2 * [("Object#fill", 0), ("Cart#checkout", 1)],
            f"{slices}",
        )


def a_recording_has_them():
    with Shop(*RUBY_TRACED) as shop:
        library, _ = shop.file("libruby")
        # It jumps to the sleeping function, so its own runs are short.
        event = (
            '<event name="work" threshold="1us" trace-length="3s">'
            f'<function name="rb_thread_wait_for" binary="{library}"/>'
            '<functions share="10000%" rate="10MiB" min="1us"/></event>'
        )
        with Daemon(event) as daemon:

            def is_watched():
                traces = (daemon.event("work")["functions"] or {}).get("traces", [])
                return bool(traces) and shop.semaphores("libruby")["method__entry"] == 1

            shop.fill(1, 50)
            wait_for(is_watched, "the trace")
            shop.fill(2, 50)
            bundle = daemon.wait_for_bundles(1)[0]
            rows = {
                row["function"]: row
                for row in report(bundle)["delays"][0]["traced_functions"]["functions"]
            }
            check(
                rows["Cart#checkout"]["calls"] == 2
                and rows["Cart#checkout"]["path"] == ["Object#fill"],
                f"{rows}",
            )
            check(
                rows["Cart#add"]["source"].endswith("shop.rb")
                and rows["Cart#add"]["line"] == line_of_add(),
                f"{rows['Cart#add']}",
            )
            names = [call["name"] for call in check_trace(bundle, 100_000)["function_calls"]]
            check(names.count("Cart#checkout") == 2, f"{names}")


def what_costs_too_much_is_watched_in_turns():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop, FunctionTrace(
        daemon, shop.pid, "--budget", "20"
    ) as trace:
        for _ in range(500):
            shop.say(5000, 0)

        def is_asked_for():
            return shop.semaphores("libruby")["method__entry"] == 1

        check(is_asked_for(), "the probes are in at first")
        wait_for(lambda: not is_asked_for(), "the probes to go out")
        wait_for(is_asked_for, "the probes to come back")
        ended = trace.end()[-1]["ended_functions"]
        check(ended["runtimes"][0][3] < ended["length_ns"], f"{ended['runtimes']}")


def probes_are_out_when_the_daemon_is_killed():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY):
            check(shop.semaphores("libruby")["method__entry"] == 1, "a probe is in")
            daemon.kill()
            wait_for(
                lambda: set(shop.semaphores("libruby").values()) == {0},
                "the kernel to take them out",
            )
        check(shop.fill(3) == unwatched(3), "the program's result")


if __name__ == "__main__":
    run(
        methods_of_ruby_are_counted_and_timed,
        methods_in_c_are_watched_where_they_are_wanted,
        methods_of_java_are_counted_and_timed_compiled_ones_too,
        a_function_that_threads_call_at_once_gets_one_number,
        functions_beyond_the_limit_are_said,
        short_methods_of_ruby_are_counted,
        fibers_call_nothing_of_each_other,
        what_a_fiber_calls_stands_below_who_resumed_it,
        functions_of_python_are_counted,
        what_cannot_be_seen_is_said_with_what_to_do,
        slices_nest_as_the_calls_did,
        a_recording_has_them,
        what_costs_too_much_is_watched_in_turns,
        probes_are_out_when_the_daemon_is_killed,
    )
