"""lagtrap functions: all functions of programs that note their own calls, at a bounded cost."""

import collections
import json
import pathlib
import signal
import subprocess
import tempfile

from call_programs import (
    IN_C,
    IN_CPP,
    WITH_COROUTINES,
    WITH_FIBERS,
    WITH_SIGNAL_STACK,
    WITH_SPLIT_STACK,
    FunctionTrace,
    Program,
)
from lagtrap_test import LAGTRAP, check, decode_trace, run, wait_for
from trace_client import idle_daemon

# These tests are about calls, not about their cost on a busy machine.
PLENTY = ("--budget", "10000", "--rate", "50MB", "--min", "0s")


def what_is_counted_is_what_the_programs_note():
    with idle_daemon() as daemon:
        for path in (
            IN_C,
            IN_CPP,
            WITH_FIBERS,
            WITH_SIGNAL_STACK,
            WITH_SPLIT_STACK,
            WITH_COROUTINES,
        ):
            with Program(path) as program, FunctionTrace(
                daemon, program.process.pid, *PLENTY
            ) as trace:
                noted = collections.Counter()
                modes = [
                    "tree",
                    "recursion",
                    "nested",
                    "signal",
                    "handlers",
                    "above",
                    "wide",
                    "fiber",
                    "tail",
                    "longjmp",
                    "fork",
                ]
                modes += ["throw", "again"] if path == IN_CPP else []
                modes += ["apart", "together"] if path == WITH_COROUTINES else []
                for mode in modes + ["tree"]:
                    noted.update(name for name, _ in program.run(mode))
                lines = trace.end()
                counts = trace.counts(lines)
                found = {name: counts[name][1] for name in noted if name in counts}
                check(found == dict(noted), f"{found} instead of {dict(noted)}")
                told = collections.Counter(
                    trace.names[call[0]] for line in lines for call in line.get("calls", [])
                )
                check(
                    {name: told[name] for name in noted} == dict(noted),
                    f"told: {told} instead of {noted}",
                )
                ended = lines[-1]["ended_functions"]
                check(ended["not_sent"] == 0 and ended["too_deep"] == 0, f"{ended}")


def slices_nest_as_the_calls_did():
    with idle_daemon() as daemon, Program(IN_C) as program, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "functions.pftrace"
        with FunctionTrace(daemon, program.process.pid, *PLENTY, "--output", path) as trace:
            noted = program.run("tree")
            trace.end()
        names = {name for name, _ in noted}
        slices = [call for call in decode_trace(path, 100_000)["calls"] if call["name"] in names]
        least = min(call["depth"] for call in slices)
        check(
            [call["name"] for call in slices] == [name for name, _ in noted],
            "the order of the calls",
        )
        check(
            [call["depth"] - least >= depth for call, (_, depth) in zip(slices, noted)],
            "their depth",
        )
        check(
            [entry.name for entry in path.parent.iterdir()] == [path.name], "nothing else is left"
        )


def functions_are_sorted_before_anything_is_attached():
    with idle_daemon() as daemon, Program(IN_CPP) as program:
        with FunctionTrace(daemon, program.process.pid, *PLENTY) as trace:
            check(trace.started["own_files"] == [str(IN_CPP)], f"{trace.started['own_files']}")
            check(
                sum(count for _, count in trace.started["system_files"]) >= 3,
                f"{trace.started['system_files']}",
            )
            reasons = {reason for reason, _ in trace.started["system_functions"]}
            check("program startup and exit" in reasons, f"{reasons}")
            check(
                not any(name.startswith(("std::", "_start")) for name in trace.names),
                f"{trace.names}",
            )
            check(
                sum(hook[3] for hook in trace.started["hooks"]) == len(trace.names),
                f"{trace.started['hooks']}",
            )
        with FunctionTrace(
            daemon,
            program.process.pid,
            *PLENTY,
            "--exclude",
            "^tree_",
            "--include",
            "^(malloc|free)$",
        ) as trace:
            check(
                trace.started["moved_out"] >= 3 and trace.started["moved_in"] >= 2,
                f"{trace.started['moved_in']}",
            )
            check("tree_leaf" not in trace.names and "malloc" in trace.names, f"{trace.names}")


def short_calls_are_counted_and_not_reported():
    with idle_daemon() as daemon, Program(IN_C) as program:
        with FunctionTrace(
            daemon, program.process.pid, "--budget", "10000", "--min", "10ms"
        ) as trace:
            noted = program.run("sleep")
            lines = trace.end()
            told = [trace.names[call[0]] for line in lines for call in line.get("calls", [])]
            check("sleeper" in told and "tree_leaf" not in told, f"{told}")
            leaves = sum(name == "tree_leaf" for name, _ in noted)
            check(
                trace.counts(lines).get("tree_leaf", [0, 0])[1] == leaves,
                f"{leaves} leaves: {trace.counts(lines)}",
            )
            sleeper = trace.counts(lines)["sleeper"]
            check(sleeper[4] >= 19_000_000, f"the longest call: {sleeper}")
            lines_of = {
                trace.names[row[0]]: row[1:] for line in lines for row in line.get("sources", [])
            }
            check(
                lines_of["sleeper"][0].endswith("trees.h") and lines_of["sleeper"][1] > 0,
                f"source lines: {lines_of}",
            )
            check(
                trace.names[sleeper[5][0]] == "target_sleep",
                f"the path to it: {[trace.names[f] for f in sleeper[5]]}",
            )


def what_is_told_a_second_is_bounded():
    with idle_daemon() as daemon, Program(IN_C) as program:
        with FunctionTrace(
            daemon, program.process.pid, "--budget", "10000", "--min", "0s", "--rate", "2kB"
        ) as trace:
            calls = sum(len(program.run("tree")) for _ in range(20))
            lines = trace.end()
            ended = lines[-1]["ended_functions"]
            seconds = ended["length_ns"] / 1e9
            check(
                ended["bytes"] <= 2 * 2000 * (seconds + 1), f"{ended['bytes']} bytes in {seconds} s"
            )
            check(
                ended["not_sent"] + ended["sent"] > 0 and ended["sent"] < calls,
                f"{ended['sent']} of {calls}, {ended['not_sent']} not",
            )
            check(
                ended["not_sent"] > 0 or ended["least_ns"] > 0, f"what is left out shows: {ended}"
            )


def what_is_called_too_often_is_detached():
    with idle_daemon() as daemon, Program(IN_C) as program, FunctionTrace(
        daemon, program.process.pid, "--budget", "1"
    ) as trace:
        out = set()
        while "hot" not in out:
            program.run("hot")
            if trace.client.poll() is not None:
                break
            line = json.loads(trace.client.stdout.readline())
            out.update(trace.names[function] for function, _ in line.get("detached", []))
        check("hot" in out, f"{out}")


def probes_are_out_when_either_side_is_gone():
    with idle_daemon() as daemon, Program(IN_C) as program:
        trace = FunctionTrace(daemon, program.process.pid, *PLENTY)
        check(program.first_byte_of("tree_leaf") == 0xCC, "a probe is in")
        trace.client.kill()
        trace.client.communicate()
        wait_for(
            lambda: program.first_byte_of("tree_leaf") != 0xCC, "the probes to go after the client"
        )
        with FunctionTrace(daemon, program.process.pid, *PLENTY) as other:
            daemon.kill()
            _, problem = other.client.communicate(timeout=60)
            check(other.client.returncode != 0 and "lagtrapd has gone" in problem, f"{problem}")
            wait_for(
                lambda: program.first_byte_of("tree_leaf") != 0xCC,
                "the probes to go after the daemon",
            )
        program.run("tree")


def reports_are_for_people():
    with idle_daemon() as daemon, Program(IN_C) as program:
        client = subprocess.Popen(
            [
                LAGTRAP,
                "functions",
                "--socket",
                daemon.socket_path,
                "--process",
                str(program.process.pid),
                "--budget",
                "10000",
                "--for",
                "10min",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: program.first_byte_of("sleeper") == 0xCC, "the probes")
        program.run("sleep")
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=60)
        check("target_sleep > sleeper" in text, text)
        check(max(map(len, text.splitlines())) <= 80, text)


def wrong_requests_are_told_plainly():
    def refusal(*arguments):
        done = subprocess.run(
            [LAGTRAP, "functions", "--socket", daemon.socket_path, *arguments],
            capture_output=True,
            text=True,
        )
        check(done.returncode != 0, f"{arguments}: {done.stdout}")
        return done.stderr

    with idle_daemon() as daemon, Program(IN_C) as program:
        own = ("--process", str(program.process.pid))
        check("regular expression" in refusal(*own, "--include", "("), "an expression")
        check("--min" in refusal(*own, "--min", "5"), "no unit")
        check("--rate" in refusal(*own, "--rate", "5"), "no unit")
        check("have no named functions" in refusal(*own, "--exclude", "."), "nothing is left")
        for request in ({"pid": 0}, {"pid": 1, "include": 5}, {"pid": 1, "bytes_per_second": 0}):
            answer = daemon.ask("functions", **request)
            check(answer["ok"] is False and answer["error"], f"{request}: {answer}")


run(
    what_is_counted_is_what_the_programs_note,
    slices_nest_as_the_calls_did,
    functions_are_sorted_before_anything_is_attached,
    short_calls_are_counted_and_not_reported,
    what_is_told_a_second_is_bounded,
    what_is_called_too_often_is_detached,
    probes_are_out_when_either_side_is_gone,
    reports_are_for_people,
    wrong_requests_are_told_plainly,
)
