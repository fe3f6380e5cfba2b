"""Programs that note their own calls, for tests of trees of calls."""

import json
import subprocess

from lagtrap_test import BUILD_DIR, OwnedProcess, check

PROGRAMS = (BUILD_DIR / "tests" / "integration" / "programs").resolve()
IN_C, IN_CPP = PROGRAMS / "call_trees_c", PROGRAMS / "call_trees_cpp"
WITH_FIBERS = PROGRAMS / "call_trees_fibers"  # the first one, which switches stacks too
# What notes itself; others (of libc, of the notes) would be in the trees too.
NOTED = ("^(tree_leaf|tree_twig|tree_branch|sleeper|recursive|target_.*|jumper|over_jumped|tail_.*|in_handler|signalled|"
         "on_fiber|of_thread_.|ending|thrower|passed|catcher|hot)$")


class Program(OwnedProcess):
    """Runs the modes that it is told, one at a time."""

    def __init__(self, path):
        self.path = path
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "ready\n", f"{path} did not say that it is ready")

    def begin(self, mode):
        self.process.stdin.write(mode + "\n")
        self.process.stdin.flush()

    def result(self):
        """The calls that it made: [name, depth] each."""
        return json.loads(self.process.stdout.readline())[1:]

    def run(self, mode):
        self.begin(mode)
        return self.result()

    def first_byte_of(self, function):
        """Of the function's code, as it is in memory now: a probe is a byte of its own there (int3, 0xcc)."""
        listed = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout.splitlines()
        linked = next(int(line.split()[0], 16) for line in listed if line.split()[-1] == function)
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            base = int(maps.readline().split("-")[0], 16)
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            memory.seek(base + linked)
            return memory.read(1)[0]


def with_depths(tree):
    """As the programs note calls: [name, depth] in the order in which they begin."""
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
        check(call["wall_ns"] == call["on_cpu_ns"] + call["runnable_ns"] + call["blocked_ns"], f"parts of {call}")
        check(call["own_ns"] == call["wall_ns"] - below[number], f"own time of {call}: {below[number]} ns below it")
        if call["parent"] is not None:
            below[call["parent"]] += call["wall_ns"]
