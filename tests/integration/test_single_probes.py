"""Calls, functions and objects with one probe at a time, as on kernels before 6.6: a fault makes
the kernel lack uprobe_multi."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest.mock

from call_programs import (
    IN_C,
    IN_CPP,
    WITH_COROUTINES,
    WITH_FIBERS,
    CallTrace,
    FunctionTrace,
    Program,
    check_parts,
    with_depths,
)
from lagtrap_test import LAGTRAP, Daemon, Watched, check, run, wait_for
from object_program import CLASSES, Program as Objects
from object_watch import PLENTY as PLENTY_OF_OBJECTS, Watch
from test_calls import Trace
from test_go import PROGRAM as IN_GO
from test_traced_functions import Redis
from trace_client import SETTINGS

FAULT = "kernel.uprobe_multi:error:EINVAL"
# As in call_engine and function_probes.
MOST_FUNCTIONS = 200
PLENTY = ("--budget", "10000", "--rate", "50MB", "--min", "0s")
BREAKPOINT = 0xCC


@contextlib.contextmanager
def old_daemon():
    """A daemon that takes its kernel for an older one."""
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
        os.environ, {"LAGTRAP_FAULT": FAULT, "LAGTRAP_FAULT_LOG": f"{folder}/log"}
    ), Daemon(SETTINGS) as daemon:
        check(
            "kernel.uprobe_multi" in pathlib.Path(folder, "log").read_text(),
            "the kernel was not asked",
        )
        yield daemon


def trees_are_as_the_programs_note():
    with old_daemon() as daemon:
        for path in (IN_C, IN_CPP, WITH_FIBERS):
            for mode in (
                "tree",
                "recursion",
                "nested",
                "signal",
                "longjmp",
                "tail",
                "fiber",
                *(("throw", "again") if path == IN_CPP else ()),
            ):
                with Program(path) as program, Trace(daemon, program, f"target_{mode}") as trace:
                    noted = program.run(mode)
                    (tree,) = trace.trees()
                    check(
                        with_depths(tree) == noted,
                        f"{path.name} {mode}: {with_depths(tree)[:50]} instead of {noted[:50]}",
                    )
                    check_parts(tree)


def calls_through_pointers_are_found():
    with old_daemon() as daemon, Program(IN_CPP) as program, Trace(
        daemon, program, "target_virtual", count=0, match="^(target_virtual|tree_leaf|.*_area)$"
    ) as trace:

        def is_whole():
            noted = program.run("virtual")
            return with_depths(trace.next_tree()) == noted

        wait_for(is_whole, "a tree with what is called through pointers")
        check({"square_area", "circle_area"} <= {row[0] for row in trace.more}, f"{trace.more}")


def counts_are_as_the_programs_note():
    with old_daemon() as daemon:
        for path in (IN_C, IN_CPP, WITH_COROUTINES):
            with Program(path) as program, FunctionTrace(
                daemon, program.process.pid, *PLENTY
            ) as trace:
                check(
                    trace.started["attached_by"].startswith("single probes"),
                    f"{trace.started['attached_by']}",
                )
                noted = collections.Counter()
                for mode in (
                    "tree",
                    "recursion",
                    "nested",
                    "signal",
                    "longjmp",
                    "tail",
                    "fork",
                    *(("throw",) if path == IN_CPP else ()),
                ):
                    noted.update(name for name, _ in program.run(mode))
                counts = trace.counts(trace.end())
                found = {name: counts[name][1] for name in noted if name in counts}
                check(found == dict(noted), f"{path.name}: {found} instead of {dict(noted)}")


def objects_are_counted():
    with old_daemon() as daemon, Objects() as program, Objects() as stranger, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY_OF_OBJECTS
    ) as watch:
        check(
            watch.started["attached_by"].startswith("single probes"),
            f"{watch.started['attached_by']}",
        )
        program.run("keep", 7)
        stranger.run("keep", 100)
        program.run("make", 5)
        stranger.run("make", 100)
        watch.end()
        items, gadgets = watch.counts("shop::Item"), watch.counts("shop::Gadget")
        check((items["created"], items["alive"]) == (7, 7), f"{items}")
        check(
            (gadgets["created"], gadgets["released"], gadgets["alive"]) == (5, 5, 0), f"{gadgets}"
        )
        check(watch.totals()["shop::Gadget::Gadget"] == 5, f"{watch.totals()}")


def goroutines_have_trees():
    with old_daemon() as daemon, Watched(IN_GO, "requests") as watched, CallTrace(
        daemon, watched.process.pid, "main.(*Server).handle", "--depth", "1"
    ) as trace:
        watched.go()
        told = json.loads(watched.process.stdout.readline())
        watched.process.kill()
        lines = trace.lines()
        trees, ended = [line["tree"] for line in lines if "tree" in line], lines[-1]["ended"]
        check(
            trees and ended["calls"] + ended["not_kept"] == told["calls"],
            f"{ended} instead of {told['calls']} requests",
        )
        for tree in trees:
            names = [call["function"] for call in tree["calls"]]
            check(
                tree["goroutine"] > 0
                and names.count("time.Sleep") == 2
                and tree["calls"][0]["end"] == "returned",
                f"{tree}",
            )


def what_is_beyond_the_limit_is_said():
    reason = f"over the limit of {MOST_FUNCTIONS} functions on a kernel older than 6.6"
    with old_daemon() as daemon, tempfile.TemporaryDirectory() as folder, Redis(folder) as redis:
        with FunctionTrace(daemon, redis.process.pid, *PLENTY) as trace:
            check(
                dict(trace.started["refused"]).get(reason) == len(trace.names) - MOST_FUNCTIONS,
                f"{len(trace.names)}: {trace.started['refused']}",
            )
            trace.interrupt()
        with CallTrace(daemon, redis.process.pid, "processCommand") as trace:
            beyond = sum(why == reason for _, why in trace.started["refused"])
            check(
                beyond == len(trace.started["functions"]) - MOST_FUNCTIONS > 0,
                f"{beyond}: {trace.started['refused'][:5]}",
            )
            redis.ask("set", "key", "value")
            check(
                with_depths(trace.next_tree())[0] == ["processCommand", 0],
                f"{trace.tree['calls'][:3]}",
            )
        text = subprocess.run(
            [
                LAGTRAP,
                "functions",
                "--socket",
                daemon.socket_path,
                "--process",
                str(redis.process.pid),
                "--all",
                "--for",
                "1ms",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check(reason in " ".join(text.split()), text)


def the_same_program_elsewhere_is_neither_disturbed_nor_counted():
    """All processes with the file have the probes. Another process's calls must not detach
    functions that cost nothing here."""
    with old_daemon() as daemon, Program(IN_C) as program, Program(IN_C) as stranger:
        unwatched = stranger.run("tree")
        with Trace(
            daemon,
            program,
            "target_tree",
            "--only",
            "hot",
            "--only",
            "tree_twig",
            match="",
            budget="10",
        ) as trace:
            check(stranger.first_byte_of("hot") == BREAKPOINT, "the stranger has the probe too")
            check(stranger.run("tree") == unwatched, "it does what it does unwatched")
            stranger.run("hot")
            program.run("tree")
            lines = trace.lines()
        check(
            not any("detached" in line for line in lines), f"for what the stranger called: {lines}"
        )
        (tree,) = [line["tree"] for line in lines if "tree" in line]
        check(
            [call["function"] for call in tree["calls"]] == ["target_tree"] + ["tree_twig"] * 90,
            f"{with_depths(tree)[:20]}",
        )
        with FunctionTrace(daemon, program.process.pid, *PLENTY) as trace:
            stranger.run("tree")
            check(not trace.counts(trace.end()), "none of them is this process's")


def probes_are_out_when_either_side_is_gone():
    with old_daemon() as daemon, Program(IN_C) as program, Program(IN_C) as stranger:

        def are_out():
            return {
                one.first_byte_of(name)
                for one in (program, stranger)
                for name in ("tree_leaf", "hot")
            } == before

        before = {program.first_byte_of("tree_leaf"), program.first_byte_of("hot")}
        for begin in (
            lambda: Trace(daemon, program, "target_hot", count=0),
            lambda: FunctionTrace(daemon, program.process.pid, *PLENTY),
        ):
            for ending in (signal.SIGKILL, signal.SIGINT):
                with begin() as trace:
                    check(program.first_byte_of("hot") == BREAKPOINT, "a probe is in")
                    trace.client.send_signal(ending)
                    wait_for(are_out, "the probes to go with their client")
        with FunctionTrace(daemon, program.process.pid, *PLENTY):
            daemon.kill()
            wait_for(are_out, "the probes to go with the daemon")
        check(stranger.run("tree") == program.run("tree"), "both go on")


if __name__ == "__main__":
    run(
        trees_are_as_the_programs_note,
        calls_through_pointers_are_found,
        goroutines_have_trees,
        counts_are_as_the_programs_note,
        objects_are_counted,
        what_is_beyond_the_limit_is_said,
        the_same_program_elsewhere_is_neither_disturbed_nor_counted,
        probes_are_out_when_either_side_is_gone,
    )
