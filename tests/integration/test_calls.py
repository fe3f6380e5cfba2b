"""lagtrap calls: each call of a function with everything it calls, in programs that note their
own calls."""

import json
import pathlib
import signal
import subprocess
import tempfile

from call_programs import (
    IN_C,
    IN_CPP,
    NOTED,
    PLENTY,
    WITH_COROUTINES,
    WITH_FIBERS,
    WITH_SIGNAL_STACK,
    WITH_SPLIT_STACK,
    CallTrace,
    Program,
    check_parts,
    with_depths,
)
from lagtrap_test import LAGTRAP, check, decode_trace, run, wait_for
from trace_client import idle_daemon


class Trace(CallTrace):
    """Of functions that note themselves; ends after one call unless given another count."""

    def __init__(self, daemon, program, function, *options, match=NOTED, count=1, budget=PLENTY):
        super().__init__(
            daemon,
            program.process.pid,
            function,
            "--match",
            match,
            *options,
            count=count,
            budget=budget,
        )


def ends_of(tree, function):
    return [call["end"] for call in tree["calls"] if call["function"] == function]


def trace_of(daemon, path, mode):
    """The only tree of a mode, after comparing it with the program's notes."""
    with Program(path) as program, Trace(daemon, program, f"target_{mode}") as trace:
        noted = program.run(mode)
        trees = trace.trees()
        check(len(trees) == 1, f"{len(trees)} trees of {mode}")
        check(
            with_depths(trees[0]) == noted,
            f"{mode}: {with_depths(trees[0])[:50]} instead of {noted[:50]}",
        )
        check_parts(trees[0])
        check(
            all(
                call["source"].endswith((".h", ".c", ".cpp")) and call["line"] > 0
                for call in trees[0]["calls"]
            ),
            "each has its source line",
        )
        return trees[0]


def trees_are_as_the_programs_note():
    with idle_daemon() as daemon:
        for path in (IN_C, IN_CPP, WITH_FIBERS, WITH_SIGNAL_STACK, WITH_SPLIT_STACK):
            tree = trace_of(daemon, path, "tree")
            check(len(tree["calls"]) == 1000, f"{len(tree['calls'])} calls")
            check({call["end"] for call in tree["calls"]} == {"returned"}, "all calls returned")
            for mode in (
                "recursion",
                "nested",
                "signal",
                "handlers",
                "above",
                "wide",
                "fiber",
                "fork",
                "tail",
            ):
                trace_of(daemon, path, mode)


def coroutines_go_on_and_no_call_is_missed():
    """They switch back and forth with open calls on both sides. Calls on adjacent stacks may end
    early, and are marked."""
    with idle_daemon() as daemon, Program(WITH_COROUTINES) as program:
        for mode in ("apart", "together"):
            unwatched = program.run(mode)
            with Trace(daemon, program, f"target_{mode}") as trace:
                check(program.run(mode) == unwatched, f"{mode}: it does what it does unwatched")
                tree = trace.trees()[0]
            check(
                [call["function"] for call in tree["calls"]] == [name for name, _ in unwatched],
                f"{mode}: {with_depths(tree)[:60]}",
            )
            check_parts(tree)
            check(
                tree["calls"][0]["end"] == "returned",
                f"{mode}: the target goes on to its end: {tree['calls'][0]}",
            )
            # Code on the thread's own stack belongs to the target, not to the waiting coroutine.
            twigs = {depth for name, depth in with_depths(tree) if name == "tree_twig"}
            check(mode == "together" or twigs == {1}, f"{mode}: {twigs}")


def time_asleep_is_that_of_the_sleeper():
    with idle_daemon() as daemon:
        tree = trace_of(daemon, IN_C, "sleep")
        sleeper = next(call for call in tree["calls"] if call["function"] == "sleeper")
        check(sleeper["blocked_ns"] >= 19_000_000, f"usleep(20000) is blocked: {sleeper}")
        others = sum(
            call["blocked_ns"] for call in tree["calls"] if call["function"] == "tree_leaf"
        )
        check(others == 0, f"the others do not wait: {tree}")


def what_exceptions_and_longjmp_leave_has_ended():
    with idle_daemon() as daemon:
        for path in (IN_C, IN_CPP):
            check(
                ends_of(trace_of(daemon, path, "longjmp"), "over_jumped") != ["returned"],
                "left by longjmp",
            )
        tree = trace_of(daemon, IN_CPP, "throw")
        check(
            ends_of(tree, "thrower") == ["left"] * 3 + ["returned"],
            f"thrower: {ends_of(tree, 'thrower')}",
        )
        check(
            ends_of(tree, "passed") == ["left"] * 3 + ["returned"],
            f"passed: {ends_of(tree, 'passed')}",
        )
        check(ends_of(tree, "catcher") == ["returned"] * 3, f"catcher: {ends_of(tree, 'catcher')}")
        again = trace_of(daemon, IN_CPP, "again")
        check(ends_of(again, "thrower") == ["left"] * 5, f"at the same place of the stack: {again}")


def a_target_that_an_exception_leaves_is_told_at_the_next_event():
    with idle_daemon() as daemon, Program(IN_CPP) as program, Trace(
        daemon, program, "target_thrown"
    ) as trace:
        noted = program.run("thrown")
        check(noted[-1] == ["tree_leaf", 0], f"the program went on behind the exception: {noted}")
        trees = trace.trees()
        check(with_depths(trees[0]) == noted[:-1], f"{with_depths(trees[0])}")
        check(trees[0]["calls"][0]["end"] == "left", f"{trees[0]['calls'][0]}")


def a_thread_that_ends_inside_ends_its_tree():
    with idle_daemon() as daemon:
        for path in (IN_C, IN_CPP):
            with Program(path) as program, Trace(daemon, program, "target_end") as trace:
                program.run("end")
                tree = trace.trees()[0]
                check(tree["calls"][0]["end"] == "thread ended", f"{tree['calls'][0]}")
                check(
                    with_depths(tree)[:3] == [["target_end", 0], ["tree_leaf", 1], ["ending", 1]],
                    f"{with_depths(tree)}",
                )


def threads_do_not_mix():
    with idle_daemon() as daemon:
        for path in (IN_C, IN_CPP):
            with Program(path) as program, Trace(
                daemon, program, "target_threads", count=4
            ) as trace:
                program.run("threads")
                trees = trace.trees()
                check(len({tree["tid"] for tree in trees}) == 4, "a tree of each of four threads")
                seen = set()
                for tree in trees:
                    names = [call["function"] for call in tree["calls"]]
                    check(
                        len(names) == 51 and len(set(names[1:])) == 1,
                        f"a thread has its own calls: {names}",
                    )
                    seen.add(names[1])
                check(len(seen) == 4, f"{seen}")


def calls_beyond_a_trees_room_are_counted():
    with idle_daemon() as daemon, Program(IN_C) as program, Trace(
        daemon, program, "target_many"
    ) as trace:
        program.run("many")
        calls = trace.trees()[0]["calls"]
        left_out = sum(call.get("not_kept", 0) for call in calls)
        check(
            len(calls) + left_out == 10001 and left_out > 0,
            f"{len(calls)} kept, {left_out} not kept",
        )


def what_is_called_too_often_is_detached():
    with idle_daemon() as daemon, Program(IN_C) as program, Trace(
        daemon, program, "target_hot", budget="10"
    ) as trace:
        program.begin("hot")
        lines = trace.lines()
        program.result()
        detached = [one["function"] for line in lines for one in line.get("detached", [])]
        check(detached == ["hot"], f"detached: {detached}")
        tree = next(line["tree"] for line in lines if "tree" in line)
        check(
            with_depths(tree)[0] == ["target_hot", 0]
            and with_depths(tree)[-1][0] in ("hot", "tree_leaf"),
            "the target goes on",
        )


def only_calls_that_took_the_minimum_are_told():
    with idle_daemon() as daemon, Program(IN_C) as program, Trace(
        daemon, program, "target_sleep", "--min", "10ms"
    ) as trace:
        with Trace(daemon, program, "target_nested", "--min", "1min", count=0) as short:
            program.run("nested")
            program.run("sleep")
            check([len(tree["calls"]) for tree in trace.trees()] == [4], "the one that took 20 ms")
            program.process.stdin.close()
            lines = short.lines()
            check(lines[-1]["ended"]["short_calls"] == 1, f"{lines}")
            check(lines[-1]["ended"]["reason"] == "the process exited", f"{lines}")


def only_is_all_that_is_watched():
    with idle_daemon() as daemon, Program(IN_C) as program, Trace(
        daemon, program, "target_tree", "--only", "tree_twig", match=""
    ) as trace:
        check(
            sorted(row[0] for row in trace.started["functions"]) == ["target_tree", "tree_twig"],
            f"{trace.started}",
        )
        program.run("tree")
        tree = trace.trees()[0]
        check(
            [call["function"] for call in tree["calls"]] == ["target_tree"] + ["tree_twig"] * 90,
            "twigs alone",
        )


def depth_and_libraries_are_followed():
    with idle_daemon() as daemon, Program(IN_C) as program:
        with Trace(daemon, program, "target_tree", "--depth", "1", match="^t") as trace:
            names = {row[0] for row in trace.started["functions"]}
            check(names == {"target_tree", "tree_branch"}, f"{names}")
        with Trace(daemon, program, "target_sleep", match="libc") as trace:
            functions = {row[0]: row[1] for row in trace.started["functions"]}
            check(
                "usleep" in functions and "libc" in functions["usleep"],
                f"through the table of other files: {functions}",
            )
            check("tree_leaf" not in functions, f"that is not in libc: {functions}")


def calls_through_pointers_are_seen_and_watched():
    with idle_daemon() as daemon, Program(IN_CPP) as program:
        with Trace(
            daemon, program, "target_virtual", count=0, match="^(target_virtual|tree_leaf|.*_area)$"
        ) as trace:
            check(
                {row[0] for row in trace.started["functions"]} == {"target_virtual", "tree_leaf"},
                f"{trace.started}",
            )
            functions = [row[0] for row in trace.started["functions"]]
            seen = set()
            lines = iter(trace.client.stdout.readline, "")
            while {"square_area", "circle_area"} - set(functions):
                program.run("virtual")
                line = json.loads(next(lines))
                functions += [row[0] for row in line.get("more", [])]
                seen |= {row[0] for row in line.get("more", []) if row[3]}
            check("square_area" in seen, f"by a pointer: {seen}")

            def is_whole():
                """Functions are reported shortly before they are watched."""
                noted = program.run("virtual")
                tree = next(line["tree"] for line in map(json.loads, lines) if "tree" in line)
                return with_depths(tree) == noted

            wait_for(is_whole, "a tree with what is called through pointers")


def probes_are_out_when_either_side_is_gone():
    with idle_daemon() as daemon, Program(IN_C) as program:
        before = program.first_byte_of("tree_leaf")
        for ending in (signal.SIGKILL, signal.SIGINT):
            with Trace(daemon, program, "target_tree", count=0) as trace:
                check(program.first_byte_of("tree_leaf") == 0xCC, "a probe is in")
                trace.client.send_signal(ending)
                wait_for(
                    lambda: program.first_byte_of("tree_leaf") == before,
                    "the probe to go with its client",
                )
        with Trace(daemon, program, "target_tree", count=0) as trace:
            check(program.first_byte_of("tree_leaf") == 0xCC, "a probe is in")
            daemon.kill()
            wait_for(
                lambda: program.first_byte_of("tree_leaf") == before,
                "the probe to go with the daemon",
            )
            _, problem = trace.client.communicate(timeout=60)
            check(trace.client.returncode == 1 and "lagtrapd has gone" in problem, problem)
        check(len(program.run("tree")) == 1000, "the program goes on")


def exceptions_pass_functions_with_probes():
    with idle_daemon() as daemon, Program(IN_CPP) as program, Trace(
        daemon, program, "target_throw", count=0
    ):
        for _ in range(50):
            check(len(program.run("throw")) == 20, "exceptions pass functions with probes")


def trees_go_to_a_file_that_opens_in_perfetto():
    with idle_daemon() as daemon, Program(
        IN_CPP
    ) as program, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "calls.pftrace"
        path.write_text("what was there before")
        with Trace(daemon, program, "target_tree", "--output", path, count=2) as trace:
            noted = program.run("tree")
            check(path.read_text() == "what was there before", "it is replaced at the end")
            program.run("tree")
            lines = trace.lines()
        check([line for line in lines if "tree" in line] == [], "the trees are in the file")
        found = decode_trace(path, 10_000)
        check(
            [[call["name"], call["depth"]] for call in found["calls"]] == 2 * noted,
            f"{found['calls'][:50]}",
        )
        check(
            {call.get("begin_tid", program.process.pid) for call in found["calls"]}
            == {program.process.pid},
            "whose they are",
        )
        check(
            [entry.name for entry in path.parent.iterdir()] == [path.name], "nothing else is left"
        )
        refused = subprocess.run(
            [LAGTRAP, "calls", "--process", "1", "--function", "f", "--output", "/nowhere/at/all"],
            capture_output=True,
            text=True,
        )
        check(refused.returncode != 0 and "/nowhere/at/all" in refused.stderr, f"{refused}")


def wrong_requests_are_told_plainly():
    with idle_daemon() as daemon, Program(IN_C) as program:

        def refusal(*options, process=None, code=1):
            done = subprocess.run(
                [
                    LAGTRAP,
                    "calls",
                    "--socket",
                    daemon.socket_path,
                    "--process",
                    process or str(program.process.pid),
                    *options,
                ],
                capture_output=True,
                text=True,
                timeout=60,
            )
            check(
                done.returncode == code, f"{options}: {done.returncode} {done.stdout} {done.stderr}"
            )
            return done.stderr

        check(
            "no function nothing_like_it" in refusal("--function", "nothing_like_it"),
            "the function is not there",
        )
        check(
            "is not a valid regular expression"
            in refusal("--function", "target_tree", "--match", "("),
            "a bad expression",
        )
        check(
            "no process is named" in refusal("--function", "f", process="no-such-process"),
            "no such name",
        )
        check("no process" in refusal("--function", "f", process="4194300"), "no such number")
        check("--min" in refusal("--function", "target_tree", "--min", "5"), "no unit")
        for request in (
            {"pid": 0},
            {"pid": "x", "function": "f"},
            {"pid": 1},
            {"pid": 1, "function": "f", "depth": -1},
            {"pid": 1, "function": "f", "only": [1]},
            {"pid": 1, "function": "f" * 5000},
        ):
            answer = daemon.ask("calls", **request)
            check(answer["ok"] is False and answer["error"], f"{request}: {answer}")


if __name__ == "__main__":
    run(
        trees_are_as_the_programs_note,
        coroutines_go_on_and_no_call_is_missed,
        time_asleep_is_that_of_the_sleeper,
        what_exceptions_and_longjmp_leave_has_ended,
        a_target_that_an_exception_leaves_is_told_at_the_next_event,
        a_thread_that_ends_inside_ends_its_tree,
        threads_do_not_mix,
        calls_beyond_a_trees_room_are_counted,
        what_is_called_too_often_is_detached,
        only_calls_that_took_the_minimum_are_told,
        only_is_all_that_is_watched,
        depth_and_libraries_are_followed,
        calls_through_pointers_are_seen_and_watched,
        probes_are_out_when_either_side_is_gone,
        exceptions_pass_functions_with_probes,
        trees_go_to_a_file_that_opens_in_perfetto,
        wrong_requests_are_told_plainly,
    )
