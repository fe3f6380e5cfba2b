"""Programs that note their own calls, for tests of call trees."""

import json
import signal
import subprocess

from lagtrap_test import PROGRAMS, OwnedProcess, check
from trace_client import TraceClient

IN_C, IN_CPP = PROGRAMS / "call_trees_c", PROGRAMS / "call_trees_cpp"
WITH_FIBERS = PROGRAMS / "call_trees_fibers"  # the first one, which also switches stacks
WITH_SIGNAL_STACK = (
    PROGRAMS / "call_trees_handlers"
)  # the first one, whose handlers have a separate stack
WITH_SPLIT_STACK = (
    PROGRAMS / "call_trees_split"
)  # the first one, whose stack grows by separate pieces
WITH_COROUTINES = PROGRAMS / "call_trees_coroutines"
# The functions that note themselves; others (of libc, of the notes) would be in the trees too.
NOTED = (
    "^(tree_leaf|tree_twig|tree_branch|sleeper|recursive|target_.*|jumper|over_jumped|tail_.*|"
    "in_handler|signalled|interrupted|leaves_handler|wide|steps|throws_between|runs_on_its_own|"
    "never_ends|on_fiber|of_thread_.|ending|thrower|passed|catcher|hot)$"
)


class Program(OwnedProcess):
    """Runs the modes it is told, one at a time."""

    def __init__(self, path):
        self.path = path
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        check(self.process.stdout.readline() == "ready\n", f"{path} did not say that it is ready")

    def begin(self, mode):
        self.process.stdin.write(mode + "\n")
        self.process.stdin.flush()

    def result(self):
        """The calls it made, each as [name, depth]."""
        return json.loads(self.process.stdout.readline())[1:]

    def run(self, mode):
        self.begin(mode)
        return self.result()

    def first_byte_of(self, function):
        """The first byte of the function's code in memory: a probe replaces it (int3, 0xcc)."""
        listed = subprocess.run(
            ["nm", self.path], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        linked = next(int(line.split()[0], 16) for line in listed if line.split()[-1] == function)
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            base = int(maps.readline().split("-")[0], 16)
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            memory.seek(base + linked)
            return memory.read(1)[0]


# These tests are about calls, not about their cost on a busy machine.
PLENTY = "10000"


class CallTrace(TraceClient):
    """lagtrap calls --json of a process, once the probes are attached."""

    def __init__(self, daemon, pid, function, *options, count=0, budget=PLENTY):
        super().__init__(
            "calls",
            daemon,
            pid,
            "--function",
            function,
            "--count",
            str(count),
            "--budget",
            budget,
            *options,
        )
        self.more, self.tree = [], None

    def lines(self):
        """All lines until its end."""
        output, problem = self.client.communicate(timeout=120)
        check(self.client.returncode == 0, f"lagtrap calls: {problem}")
        return [json.loads(line) for line in output.splitlines()]

    def trees(self):
        return [line["tree"] for line in self.lines() if "tree" in line]

    def next_tree(self):
        """Waits for the next tree; keeps functions reported in between as `more`."""
        for text in self.client.stdout:
            line = json.loads(text)
            self.more += line.get("more", [])
            if "tree" in line:
                self.tree = line["tree"]
                return self.tree
        check(False, f"lagtrap calls ended: {self.client.stderr.read()}")

    def take(self, count):
        """Exactly this many trees until its end."""
        trees = [self.next_tree() for _ in range(count)]
        self.client.send_signal(signal.SIGINT)
        output, problem = self.client.communicate(timeout=120)
        check("lagtrapd" not in problem, f"lagtrap calls: {problem}")
        more = [line for line in output.splitlines() if "tree" in json.loads(line)]
        check(not more, f"more than {count} trees: {more[:1]}")
        return trees


class FunctionTrace(TraceClient):
    """lagtrap functions --json of a process, once the probes are attached."""

    def __init__(self, daemon, pid, *options):
        super().__init__("functions", daemon, pid, *options)
        self.names = [function[0] for function in self.started["functions"]]

    def end(self):
        """All its lines. Functions that runtimes have reported have names from then on."""
        lines = self.interrupt()
        self.names += [function[0] for line in lines for function in line.get("more", ())]
        return lines

    def counts(self, lines):
        ended = next(line["ended_functions"] for line in lines if "ended_functions" in line)
        return {self.names[row[0]]: row for row in ended["totals"]}


def with_depths(tree):
    """In the form that programs note calls: [name, depth] in the order in which they begin."""
    depths = []
    for call in tree["calls"]:
        depths.append(0 if call["parent"] is None else depths[call["parent"]] + 1)
    return [[call["function"], depth] for call, depth in zip(tree["calls"], depths)]


def check_parts(tree):
    """Parts add up to the whole, and callees take no longer than their caller."""
    calls = tree["calls"]
    below = [0] * len(calls)
    for number in reversed(range(len(calls))):
        call = calls[number]
        check(
            call["wall_ns"] == call["on_cpu_ns"] + call["runnable_ns"] + call["blocked_ns"],
            f"parts of {call}",
        )
        check(
            call["own_ns"] == call["wall_ns"] - below[number],
            f"own time of {call}: {below[number]} ns below it",
        )
        if call["parent"] is not None:
            below[call["parent"]] += call["wall_ns"]
