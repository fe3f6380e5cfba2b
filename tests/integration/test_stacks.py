"""Call stacks of programs that are built without frame pointers: every planted stack, frame by frame, is what the
program itself, gdb and the machine code say; what can not be walked is said to be so, and never wrong.

The planted programs are tests/integration/programs/deep_stacks; the reader of the recording is recorded_stacks.py.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, Watched, check, check_trace, run, wait_for
from recorded_stacks import COMPLETE, ENDS, GAP, MOST_FRAMES, TOO_DEEP, Capture, Files

PROGRAMS = (BUILD_DIR / "tests" / "integration" / "programs" / "deep_stacks").resolve()
MERGE = (BUILD_DIR / "trace" / "lagtrap-merge").resolve()
VARIANTS = ("pie", "fixed", "lazy", "static", "static_pie")
LIBRARIES = ("linked", "frames", "one", "two", "three")
# An event that never happens: the captures here are started by hand.
NOTHING = ('<event name="nothing" threshold="1h" trace-length="{length}"><function name="deep_decoy" '
           f'binary="{PROGRAMS}/deep_stacks_pie"/></event>')
LEAST_SEEN = 5  # of each thread, so that something was checked

# Stacks that have another end than the thread's first frame, by their nature.
ENDS_ELSEWHERE = {"frames_128": TOO_DEEP, "frames_500": TOO_DEEP, "bare": GAP, "bare_frame": GAP}
# Where some stacks may stop short, for a reason that is not the unwinder's; what they have must be right all the same.
NEW_CODE = ("no process", "no mapping", "no table", "no stack")
MAY_STOP = {
    "reopened_libraries": (NEW_CODE, "a library's mapping is known some 0.3 ms after it was made"),
    "fork_storm": (NEW_CODE, "so is a child; and one that ends has no memory any more"),
    "longjmp": (("gap", "unsupported"), "within glibc's longjmp the frame is found by registers that hold no frame"),
    "exceptions": (("gap", "unsupported"), "the last instructions before a landing pad are between two frames"),
    "watched": (("no mapping", "no table", "gap"), "the kernel's own page for probes has no unwind information"),
}


def program(variant):
    return PROGRAMS / f"deep_stacks_{variant}"


def planted_files():
    return Files([program(variant) for variant in VARIANTS] + [PROGRAMS / f"libdeep_{name}.so" for name in LIBRARIES])


class Recorder(Daemon):
    """A daemon that keeps the logs of its captures beside the bundles made of them."""

    def __init__(self, events="", length="2s", more=""):
        super().__init__(NOTHING.format(length=length) + events, 'cool-down="1ms" captures-per-hour="3600"', more=more)
        self.kept = self.folder / "kept"
        self.kept.mkdir()
        script = self.folder / "merge"
        script.write_text(f'#!/bin/sh\ncp -r "$1" "{self.kept}/" && exec "{MERGE}" "$@"\n')
        script.chmod(0o755)
        self.options = ("--merge-program", script)
        self.done = 0

    def begin(self):
        wait_for(lambda: self.status()["state"] == "waiting", "the daemon to wait")
        answer = self.ask("trigger", event="nothing")
        check(answer["ok"], f"trigger: {answer}")

    def finish(self, loads=(), files=None):
        """The capture that begin() began, once it is merged. The loads stand still meanwhile: merging is of low priority."""
        self.done += 1
        wait_for(lambda: self.status()["state"] != "recording", "the recording's end")
        for load in loads:
            os.killpg(load.process.pid, signal.SIGSTOP)
        self.wait_for_bundles(self.done)
        for load in loads:
            os.killpg(load.process.pid, signal.SIGCONT)
        newest = max(self.kept.iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        capture = Capture(newest, files or planted_files())
        capture.bundle = pathlib.Path(self.status()["last_bundle"]["path"])
        return capture

    def record(self, *loads):
        self.begin()
        return self.finish(loads)


def start(path, *options, command=(), **more):
    """A planted program, and the scenarios that it tells of."""
    watched = Watched(*command, path, *options, start_new_session=True, **more)
    watched.scenarios = json.loads(watched.process.stdout.readline())
    return watched


def expected_base(scenario):
    """The noted frames by name, outermost first."""
    return re.compile(f'^{scenario["outer"]}(?: (?:{scenario["climb"]})){{{scenario["frames"]}}}$')


class Verdict:
    """What was seen of one scenario."""

    def __init__(self, scenario):
        self.name, self.scenario = scenario["name"], scenario
        self.base = tuple(scenario["base"])
        self.inner = re.compile(f'^{scenario["inner"]}$')
        self.allowed = set(re.findall(r"deep_\w+|lib|plt|vdso|uprobes", scenario["inner"])) | {"lib"}
        self.ends, self.seen, self.wrong, self.plts = collections.Counter(), 0, [], 0

    def fail(self, why, capture, stack):
        self.wrong.append(f"{self.name}: {why}\n{capture.describe(stack, self.base)}")

    def inner_fits(self, tokens):
        return self.inner.match(" ".join(reversed(tokens)))

    def judge(self, capture, stack, times):
        """One stack, seen so many times: all of it right, or short and right as far as it goes."""
        self.seen += times
        self.ends[ENDS[stack.end]] += times
        tokens = capture.tokens(stack)
        self.plts += times * (tokens[:1] == ["plt"])
        if stack.by_frame_pointer and self.name not in ENDS_ELSEWHERE:
            return self.fail("found by frame pointers, which the program has not", capture, stack)
        if ENDS_ELSEWHERE.get(self.name) == GAP and tokens[0] in ("deep_bare", "deep_bare_frame"):
            if stack.end == COMPLETE and not stack.by_frame_pointer:
                self.fail("called complete, and certain, though there is no unwind information", capture, stack)
            if stack.by_frame_pointer:
                return None
        elif ENDS_ELSEWHERE.get(self.name) == TOO_DEEP:
            whole = ("deep_stand",) == tuple(tokens[:1]) and stack.frames[1:] == self.base[:MOST_FRAMES - 1]
            if stack.end != TOO_DEEP or len(stack.frames) != MOST_FRAMES or not whole:
                self.fail("is not the innermost 127 frames of a deeper stack", capture, stack)
            return None
        if stack.end == COMPLETE:
            return self.judge_complete(capture, stack, tokens)
        return self.judge_short(capture, stack, tokens)

    def judge_complete(self, capture, stack, tokens):
        if stack.frames[-len(self.base):] != self.base:
            return self.fail("does not stand on the noted frames", capture, stack)
        if not self.inner_fits(tokens[:-len(self.base)]):
            return self.fail(f"what stands on the noted frames is not {self.inner.pattern}", capture, stack)
        wrong = [place for place in capture.not_called(stack) if place < len(stack.frames) - len(self.base)]
        return self.fail(f"no call stands before frame {wrong[0]}", capture, stack) if wrong else None

    def judge_short(self, capture, stack, tokens):
        """Ends early: a whole stack without some of its outermost frames, or within what stands on the noted ones."""
        for known in range(min(len(self.base), len(stack.frames) - 1), 0, -1):
            if stack.frames[-known:] == self.base[:known]:
                if not self.inner_fits(tokens[:-known]):
                    self.fail(f"short, and what stands on the noted frames is not {self.inner.pattern}", capture, stack)
                return
        strange = [token for token in tokens if token not in self.allowed]
        if strange or capture.not_called(stack):
            self.fail(f"short, and with frames that can not be there: {strange or capture.not_called(stack)}", capture, stack)

    def line(self):
        share = 100 * self.ends["complete"] / self.seen if self.seen else 0
        others = ", ".join(f"{count} {end}" for end, count in sorted(self.ends.items()) if end != "complete")
        return f"  {self.name:20} {self.seen:6} stacks of {len(self.base)} frames and more, {share:5.1f} % complete {others}"


def judge(capture, scenario, tids):
    """The verdict on all that was seen of the threads of one scenario."""
    verdict = Verdict(scenario)
    counted = collections.Counter(seen.stack for tid in tids for seen in capture.seen[tid])
    for number, times in counted.items():
        if number in capture.stacks:
            verdict.judge(capture, capture.stacks[number], times)
        else:
            verdict.seen += times
            verdict.ends["no stack"] += times
    return verdict


def children_of(capture, pid):
    return [child for child, (parent, _) in capture.parents.items() if parent == pid]


def check_base(capture, scenario):
    """The noted frames are those that were planted: a check of the planted program itself."""
    pid = scenario["pid"]
    mappings = capture.mappings[pid]
    check(mappings, f"{scenario['name']}: no mappings of process {pid} were recorded")
    stack = next(iter(capture.stacks.values()))._replace(pid=pid, frames=tuple(scenario["base"]), at_ns=1 << 62)
    names = " " + " ".join(reversed(capture.tokens(stack)))
    check(expected_base(scenario).match(names), f"{scenario['name']} noted {names}, not {expected_base(scenario).pattern}")


def check_planted(capture, scenarios, static=False):
    """Every stack of every planted thread; prints a line for each and fails with the first wrong stacks."""
    wrong, short = [], []
    for scenario in scenarios:
        check_base(capture, scenario)
        name = scenario["name"]
        tids = [scenario["tid"]] + (children_of(capture, scenario["pid"]) if name == "fork_storm" else [])
        verdict = judge(capture, scenario, tids)
        print(verdict.line(), flush=True)
        wrong += verdict.wrong
        asleep = name == "main" or name.endswith("_long")  # all the time: seen once, when the capture begins
        if verdict.seen < (1 if asleep else LEAST_SEEN):
            short.append(f"{name}: seen {verdict.seen} times only")
        allowed = set(MAY_STOP.get(name, ((), ""))[0]) | {"complete"}
        allowed |= {ENDS[ENDS_ELSEWHERE[name]]} if name in ENDS_ELSEWHERE else set()
        if static and name == "debug_frame":  # the rest of the program has .eh_frame, which is what counts then
            allowed.add("gap")
        for end, count in verdict.ends.items():
            if end not in allowed:
                short.append(f"{name}: {count} of {verdict.seen} stacks end by \"{end}\"")
        if name in MAY_STOP and verdict.ends["complete"] * 2 < verdict.seen:
            short.append(f"{name}: {verdict.ends['complete']} of {verdict.seen} stacks are complete, fewer than half")
    if wrong:
        print(f"{len(wrong)} wrong stacks; the first:\n" + "\n".join(wrong[:3]))
    check(not wrong and not short, f"{len(wrong)} wrong stacks; " + "; ".join(short))


def planted(variant):
    with start(program(variant)) as watched, Recorder(length="4s") as recorder:
        capture = recorder.record(watched)
        check_planted(capture, watched.scenarios, static="static" in variant)
        check_names(capture, watched.scenarios)


def check_names(capture, scenarios):
    """The merged trace has the same frames, by the same names."""
    trace = check_trace(capture.bundle, 1 << 30)
    in_trace = collections.defaultdict(set)
    for key in list(trace["stacks"]) + list(trace["off_cpu_stacks"]):
        tid, names = key.split(":", 1)
        in_trace[int(tid)].add(tuple(name for name in re.findall(r"deep_\w+", names)))
    for scenario in scenarios:
        if scenario["name"] not in ("plain_20", "qsort", "virtual_calls", "cond_wait", "main"):
            continue
        recorded = set()
        for seen in capture.seen[scenario["tid"]]:
            tokens = capture.tokens(capture.stacks[seen.stack]) if seen.stack in capture.stacks else []
            recorded.add(tuple(token for token in reversed(tokens) if token.startswith("deep_")))
        unknown = in_trace[scenario["tid"]] - recorded
        check(in_trace[scenario["tid"]] and not unknown, f"{scenario['name']}: in the trace, not in the logs: {list(unknown)[:2]}")


def position_independent():
    planted("pie")


def fixed_addresses():
    planted("fixed")


def lazy_binding():
    planted("lazy")


def static():
    planted("static")


def static_position_independent():
    planted("static_pie")


# ---- against gdb ----

GDB_SCRIPT = """
import gdb, json
for setting in ("backtrace past-main on", "backtrace past-entry on", "backtrace limit 700", "pagination off"):
    gdb.execute("set " + setting)
stacks = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    addresses, frame = [], gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            addresses.append(frame.pc())
        frame = frame.older() if frame.unwind_stop_reason() == gdb.FRAME_UNWIND_NO_REASON else None
    stacks[thread.ptid[1]] = addresses
print("STACKS " + json.dumps(stacks))
"""


def gdb_stacks(pid, folder):
    """The addresses of each thread's frames as gdb finds them."""
    script = folder / "stacks.py"
    script.write_text(GDB_SCRIPT)
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(pid), "-x", script], capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("STACKS ")]
    check(len(lines) == 1, f"gdb says {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return {int(tid): tuple(addresses) for tid, addresses in json.loads(lines[0][7:]).items()}


def blocked_as_gdb_sees_them():
    """Threads that sleep: the same addresses as gdb's, to the last; those asleep all the time, and those now and then."""
    always, at_times = ("main", "cond_wait_long", "read_pipe_long"), ("cond_wait", "cond_signal", "nanosleep", "read_pipe", "write_pipe")
    with Recorder(length="1s") as recorder, start(program("pie"), "--only", ",".join(always[1:] + at_times)) as watched:
        capture = recorder.record()
        for scenario in watched.scenarios:
            name, tid = scenario["name"], scenario["tid"]
            kinds = ("sleeping",) if name in always else ("switch", "sleeping")
            recorded = {capture.stacks[seen.stack].frames: seen.stack for seen in capture.seen[tid]
                        if seen.kind in kinds and seen.stack in capture.stacks}
            check(recorded, f"{name}: nothing was recorded of the thread {'at the start' if name in always else ''}")

            def agrees():
                theirs = gdb_stacks(watched.process.pid, recorder.folder)[tid]
                base = tuple(scenario["base"])
                check(theirs[-len(base):] == base, f"{name}: gdb has {theirs}, the program noted {base}")
                return theirs in recorded or (name in always and theirs)

            theirs = wait_for(agrees, f"gdb to see {name} where it was recorded: {list(recorded)}")
            if theirs is not True:
                stacks = "\n".join(capture.describe(capture.stacks[number]) for number in recorded.values())
                check(False, f"{name}: gdb has {[hex(address) for address in theirs]}, recorded is {stacks}")


# ---- programs in unusual places ----

def copy_program(folder, variant="pie", name="deep_stacks"):
    """A copy of a planted program with its libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        shutil.copy2(PROGRAMS / f"libdeep_{library}.so", folder)
    return pathlib.Path(shutil.copy2(program(variant), folder / name))


def container():
    """A mount namespace of its own, where the program has the path that is another program's outside."""
    with Recorder() as recorder:
        root, files = recorder.folder / "root", recorder.folder / "files"
        inside = pathlib.Path("usr/bin/python3")
        copy_program(files / "usr" / "bin", name=inside.name)
        for line in subprocess.run(["ldd", program("pie")], capture_output=True, text=True, check=True).stdout.splitlines():
            library = re.search(r"(/\S+) \(0x", line)
            if library and "libdeep_" not in line:
                target = files / library[1][1:]
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library[1], target)
        root.mkdir()
        script = (f'mount -t tmpfs none "{root}" && cp -a "{files}/." "{root}/" && mkdir "{root}/old" "{root}/proc" && '
                  f'mount -t proc none "{root}/proc" && cd "{root}" && '
                  f'pivot_root . old && exec /{inside} --only plain_20,qsort,cond_wait,cond_signal,nanosleep,exceptions,forked_by_main')
        with start("sh", "-c", script, command=("unshare", "-m", "--propagation", "private")) as watched:
            shutil.rmtree(files)
            check_planted(recorder.record(watched), watched.scenarios)


def deleted_file():
    """The program's file and its libraries are removed after its start."""
    with Recorder() as recorder:
        folder = recorder.folder / "gone"
        with start(copy_program(folder), "--only", "plain_20,qsort,linked_library,opened_library,cond_wait,cond_signal") as watched:
            shutil.rmtree(folder)
            check_planted(recorder.record(watched), watched.scenarios)


def replaced_file():
    """Another program takes the file's place after its start, as a package's update does."""
    with Recorder() as recorder:
        path = copy_program(recorder.folder / "updated")
        with start(path, "--only", "plain_20,qsort,linked_library,cond_wait,cond_signal") as watched:
            shutil.copy2(program("fixed"), path.with_suffix(".new"))
            os.rename(path.with_suffix(".new"), path)
            check_planted(recorder.record(watched), watched.scenarios)


def young_process():
    """Begun while the daemon ran, one second before the recording."""
    with Recorder() as recorder:
        recorder.record()
        with start(program("lazy"), "--only", "plain_20,qsort,malloc_free,linked_library,cond_wait,cond_signal,forked_by_main") as watched:
            begun = time.monotonic()
            wait_for(lambda: time.monotonic() - begun > 1, "the process to be a second old")
            check_planted(recorder.record(watched), watched.scenarios)


EXEC_STACK = re.compile(r"^( lib)+( main( deep_climb){0,20}( deep_exec( deep_spin)?)?( lib| plt)*( vdso)*)?$")


def exec_in_turn():
    """A process that begins other programs: the code of the one before is never taken for its own."""
    with Recorder() as recorder:
        with Watched(sys.executable, "-c", EXEC_PARENT, program("pie"), program("static"), start_new_session=True) as watched:
            pid = watched.process.pid
            capture = recorder.record(watched)
        check(len(capture.execs[pid]) >= 5, f"{len(capture.execs[pid])} execs of process {pid} were recorded")
        ends, wrong = collections.Counter(), []
        for seen in capture.seen[pid]:
            stack = capture.stacks.get(seen.stack)
            ends[ENDS[stack.end] if stack else "no stack"] += 1
            if stack and stack.end == COMPLETE:
                # A stack is written once, though its addresses may be the next program's too: it has the time of the first.
                names = " " + " ".join(reversed(capture.tokens(stack)))
                if not EXEC_STACK.match(names) and "unknown" not in names:
                    wrong.append(capture.describe(stack))
        print(f"  {len(capture.execs[pid])} execs: {dict(ends)}")
        check(not wrong, f"{len(wrong)} wrong stacks; the first:\n" + "\n".join(wrong[:2]))
        check(ends["complete"] >= 0.9 * sum(ends.values()), f"{dict(ends)}")


EXEC_PARENT = ("import os, sys\nprint('ready', flush=True)\n"
               "os.execv(sys.argv[1], [sys.argv[1], '--exec', '1000', sys.argv[2]])")


def function_being_watched():
    """Return probes put the kernel's addresses on the stack, up to three of them here; the walk goes through them."""
    event = f'<event name="watch" threshold="1h" trace-length="1s"><function name="deep_watched" binary="{program("pie")}"/></event>'
    with start(program("pie"), "--only", "watched,plain_20") as watched, Recorder(event, length="3s") as recorder:
        before = recorder.event("watch")["runs"]
        capture = recorder.record(watched)
        check(recorder.event("watch")["runs"] > before, "the function is not watched")
        check_planted(capture, watched.scenarios)
        scenario = next(scenario for scenario in watched.scenarios if scenario["name"] == "watched")
        deepest = max(capture.tokens(stack).count("deep_watched") for stack in capture.stacks.values() if stack.pid == scenario["pid"])
        check(deepest == 3, f"at most {deepest} of the three calls are on the stacks")


if __name__ == "__main__":
    run(position_independent, fixed_addresses, lazy_binding, static, static_position_independent, blocked_as_gdb_sees_them,
        container, deleted_file, replaced_file, young_process, exec_in_turn, function_being_watched)
