"""Call stacks of programs built without frame pointers: every planted stack, frame by frame,
equals the account of the program itself, gdb and the machine code; what cannot be walked is
reported, and never wrong.

The planted programs are in tests/integration/programs/deep_stacks; recorded_stacks.py reads the
recording.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lagtrap_test import LAGTRAP, Watched, check, check_trace, run, wait_for
from recorded_stacks import COMPLETE, ENDS, GAP, MOST_FRAMES, TOO_DEEP
from stack_recorder import DEEP_PROGRAMS, LIBRARIES, Recorder, program, start

LEAST_SEEN = 5  # of each thread, so that something was checked
MOST_CAPTURES = 6  # to see them all

# Stacks that by nature end elsewhere than at the thread's first frame.
ENDS_ELSEWHERE = {"frames_128": TOO_DEEP, "frames_500": TOO_DEEP, "bare": GAP, "bare_frame": GAP}
# Reasons, outside the unwinder, for which stacks may stop short; the frames they have must still be
# right.
NEW_CODE = ("no process", "no mapping", "no table", "no stack")
MAY_STOP = {
    "reopened_libraries": (
        NEW_CODE + ("gap",),
        "a library's mapping is known a millisecond or two after it was made, and what "
        "it does when it is closed has no unwind information",
    ),
    "fork_storm": (
        NEW_CODE + ("bad address",),
        "so is a child; and one that ends has no memory any more",
    ),
    "longjmp": (
        ("gap", "unsupported"),
        "within glibc's longjmp the frame is found by registers that hold no frame",
    ),
    # The end of makecontext's stack is reached by a return without a call, before which glibc has
    # no unwind information.
    "fiber": (("gap",), "the function under the fiber's first has no unwind information"),
    "exceptions": (
        ("gap", "unsupported"),
        "the last instructions before a landing pad are between two frames",
    ),
    "watched": (
        ("no mapping", "no table", "gap"),
        "the kernel's own page for probes has no unwind information",
    ),
}
# After a fork, every page of both processes is copied on its next write. While the kernel does
# that, the page is absent; a thread that writes to its stack is then in the kernel.
PAGE_COPIED = "bad address, in the kernel"
MOST_COPIED = 0.05
# The kernel does not report that a library was unmapped. Its replacement is known only a
# millisecond or two after it was mapped; until then, a thread that only opens and closes libraries
# is walked with the wrong table. Also, the kernel's own system call for return probes sets ip and
# sp one after the other (arch/x86/kernel/uprobes.c, sys_uretprobe), so a sample in between sees
# inconsistent registers.
MOST_STALE = {"reopened_libraries": 0.1, "watched": 0.002}
# How many of their stacks are complete depends on how soon the machine lets the daemon look; that
# some are does not.
KNOWN_LATE = {"reopened_libraries": ("deep_two_enter", "deep_three_enter"), "fork_storm": ()}
# Once an exception has found its handler, gcc's unwinder overwrites return addresses before it
# leaves its frames. The stack then is not a valid chain of calls. This may affect a tenth of the
# stacks of a thread that only throws.
MOST_BETWEEN = 0.1
# Where frames may be found by frame pointers, if that is reported: the linker makes no unwind
# information for the PLT of a library without other .eh_frame, and gcc makes none for what a
# library does when it is closed.
BY_FRAME_POINTER = (*ENDS_ELSEWHERE, "fiber", "debug_frame", "reopened_libraries")


def expected_base(scenario):
    """The noted frames by name, outermost first."""
    return re.compile(f'^{scenario["outer"]}(?: (?:{scenario["climb"]})){{{scenario["frames"]}}}$')


class Verdict:
    """Observations of one scenario."""

    def __init__(self, scenario):
        self.name, self.scenario = scenario["name"], scenario
        self.base = tuple(scenario["base"])
        self.inner = re.compile(f'^{scenario["inner"]}$')
        self.allowed = set(re.findall(r"deep_\w+|lib|plt|vdso|uprobes", scenario["inner"])) | {
            "lib"
        }
        for name, endings in re.findall(r"(deep_\w+)\(([_\w|]+)\)", scenario["inner"]):
            self.allowed |= {name + ending for ending in endings.split("|")}
        self.ends, self.seen, self.wrong, self.short, self.between = (
            collections.Counter(),
            0,
            [],
            [],
            0,
        )
        self.whole_through = collections.Counter()
        self.may_end = set(MAY_STOP.get(self.name, ((), ""))[0]) | {
            ENDS[ENDS_ELSEWHERE.get(self.name, COMPLETE)],
            "complete",
            PAGE_COPIED,
            "between",
        }
        asleep = self.name == "main" or self.name.endswith(
            "_long"
        )  # all the time: seen once, when a capture begins
        self.least = 1 if asleep else LEAST_SEEN

    def fail(self, why, capture, stack):
        self.wrong.append(f"{self.name}: {why}\n{capture.describe(stack, self.base)}")

    def count(self, end, times, description=""):
        self.seen += times
        self.ends[end] += times
        if end not in self.may_end:
            self.short.append(f"{self.name}: {times} times short\n{description}")

    def inner_fits(self, tokens):
        return self.inner.match(" ".join(reversed(tokens)))

    def judge(self, capture, stack, times, in_kernel):
        """One stack, seen this many times: all of it right, or short and right as far as it
        reaches."""
        end = ENDS[stack.end]
        if end == "bad address" and in_kernel:
            end = PAGE_COPIED
        tokens = capture.tokens(stack)
        if self.name == "exceptions" and any(
            frame.name().startswith("_Unwind_R") for frame in capture.frames(stack)
        ):
            if (
                stack.frames[-len(self.base) :] != self.base
                or not self.inner_fits(tokens[: -len(self.base)])
                or capture.not_called(stack)
            ):
                self.between += times
                return self.count("between", times)
        self.count(
            end, times, capture.describe(stack, self.base) if end not in self.may_end else ""
        )
        if stack.by_frame_pointer and self.name not in BY_FRAME_POINTER:
            return self.fail("found by frame pointers, which the program has not", capture, stack)
        if ENDS_ELSEWHERE.get(self.name) == GAP and tokens[0] in ("deep_bare", "deep_bare_frame"):
            if stack.end == COMPLETE and not stack.by_frame_pointer:
                self.fail(
                    "called complete, and certain, though there is no unwind information",
                    capture,
                    stack,
                )
            if stack.by_frame_pointer:
                return None
        elif ENDS_ELSEWHERE.get(self.name) == TOO_DEEP and end != PAGE_COPIED:
            whole = ("deep_stand",) == tuple(tokens[:1]) and stack.frames[1:] == self.base[
                : MOST_FRAMES - 1
            ]
            if stack.end != TOO_DEEP or len(stack.frames) != MOST_FRAMES or not whole:
                self.fail("is not the innermost 127 frames of a deeper stack", capture, stack)
            return None
        if stack.end == COMPLETE:
            self.whole_through.update(dict.fromkeys(tokens, times))
            return self.judge_complete(capture, stack, tokens)
        return self.judge_short(capture, stack, tokens)

    def judge_complete(self, capture, stack, tokens):
        if stack.frames[-len(self.base) :] != self.base:
            return self.fail("does not stand on the noted frames", capture, stack)
        if not self.inner_fits(tokens[: -len(self.base)]):
            return self.fail(
                f"what stands on the noted frames is not {self.inner.pattern}", capture, stack
            )
        wrong = [
            place
            for place in capture.not_called(stack)
            if place < len(stack.frames) - len(self.base)
        ]
        return (
            self.fail(f"no call stands before frame {wrong[0]}", capture, stack) if wrong else None
        )

    def judge_short(self, capture, stack, tokens):
        """Ends early: a whole stack without some of its outermost frames, or within what is
        above the noted ones."""
        for known in range(min(len(self.base), len(stack.frames) - 1), 0, -1):
            if stack.frames[-known:] == self.base[:known]:
                if not self.inner_fits(tokens[:-known]):
                    self.fail(
                        f"short, and what stands on the noted frames is not {self.inner.pattern}",
                        capture,
                        stack,
                    )
                return
        strange = [token for token in tokens if token not in self.allowed]
        if strange or capture.not_called(stack):
            self.fail(
                "short, and with frames that cannot be there: "
                f"{strange or capture.not_called(stack)}",
                capture,
                stack,
            )

    def too_few_complete(self):
        """Describes in a line what is wrong with a scenario whose stacks may stop short; None if
        nothing is."""
        complete = self.ends["complete"]
        if self.name not in KNOWN_LATE:
            return (
                f"{complete} of {self.seen} stacks are complete, fewer than half"
                if complete * 2 < self.seen
                else ""
            )
        missing = [name for name in KNOWN_LATE[self.name] if not self.whole_through[name]]
        if missing:
            return f"no stack through {' and '.join(missing)} is complete"
        return (
            ""
            if complete >= LEAST_SEEN
            else f"{complete} of {self.seen} stacks are complete, fewer than {LEAST_SEEN}"
        )

    def line(self):
        share = 100 * self.ends["complete"] / self.seen if self.seen else 0
        others = ", ".join(
            f"{count} {end}" for end, count in sorted(self.ends.items()) if end != "complete"
        )
        return (
            f"  {self.name:20} {self.seen:6} stacks of {len(self.base)} frames and more, "
            f"{share:5.1f} % complete {others}"
        )


def judge(verdict, capture, tids):
    """Adds a capture's stacks of some threads to the verdict on their scenario."""
    counted = collections.Counter(
        (seen.stack, bool(seen.in_kernel)) for tid in tids for seen in capture.seen[tid]
    )
    for (number, in_kernel), times in counted.items():
        if number in capture.stacks:
            verdict.judge(capture, capture.stacks[number], times, in_kernel)
        else:
            verdict.count("no stack", times)


def children_of(capture, pid):
    return [child for child, (parent, _) in capture.parents.items() if parent == pid]


def check_base(capture, scenario):
    """The noted frames are the planted ones: a check of the planted program itself."""
    pid = scenario["pid"]
    mappings = capture.mappings[pid]
    check(mappings, f"{scenario['name']}: no mappings of process {pid} were recorded")
    stack = next(iter(capture.stacks.values()))._replace(
        pid=pid, frames=tuple(scenario["base"]), at_ns=1 << 62
    )
    names = " " + " ".join(reversed(capture.tokens(stack)))
    check(
        expected_base(scenario).match(names),
        f"{scenario['name']} noted {names}, not {expected_base(scenario).pattern}",
    )


def check_planted(recorder, watched, static=False):
    """Records until every planted thread was seen, and checks all their stacks; prints a line
    for each scenario."""
    verdicts = [Verdict(scenario) for scenario in watched.scenarios]
    for verdict in verdicts:
        if (
            static and verdict.name == "debug_frame"
        ):  # the rest of the program has .eh_frame, which then takes precedence
            verdict.may_end.add("gap")
    for _ in range(MOST_CAPTURES):
        capture = recorder.record(watched)
        for verdict in verdicts:
            scenario = verdict.scenario
            check_base(capture, scenario)
            children = children_of(capture, scenario["pid"]) if verdict.name == "fork_storm" else []
            judge(verdict, capture, [scenario["tid"], *children])
        if all(verdict.seen >= verdict.least for verdict in verdicts):
            break
    for verdict in verdicts:
        print(verdict.line(), flush=True)
    problems = []
    for verdict in verdicts:
        print("".join(f"{text}\n" for text in verdict.wrong[:2] + verdict.short[:2]), end="")
        if len(verdict.wrong) > MOST_STALE.get(verdict.name, 0) * verdict.seen:
            problems.append(f"{verdict.name}: {len(verdict.wrong)} wrong stacks")
        if verdict.short:
            problems.append(f"{verdict.name}: ends {dict(verdict.ends)}")
        if verdict.between > MOST_BETWEEN * verdict.seen:
            problems.append(
                f"{verdict.name}: {verdict.between} of {verdict.seen} stacks are between two frames"
            )
        if (
            verdict.ends[PAGE_COPIED] > max(1, MOST_COPIED * verdict.seen)
            and verdict.name != "fork_storm"
        ):
            problems.append(
                f"{verdict.name}: {verdict.ends[PAGE_COPIED]} of {verdict.seen} stacks could not "
                "be read"
            )
        if verdict.seen < verdict.least:
            problems.append(f"{verdict.name}: seen {verdict.seen} times only")
        if verdict.name in MAY_STOP and verdict.name != "fiber" and verdict.too_few_complete():
            problems.append(f"{verdict.name}: {verdict.too_few_complete()}")
    check(not problems, "; ".join(problems))
    return capture


def planted(variant):
    with start(program(variant)) as watched, Recorder(length="4s") as recorder:
        capture = check_planted(recorder, watched, static="static" in variant)
        check_names(capture, watched.scenarios)


def check_names(capture, scenarios):
    """The merged trace has the same frames with the same names."""
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
            tokens = (
                capture.tokens(capture.stacks[seen.stack]) if seen.stack in capture.stacks else []
            )
            recorded.add(tuple(token for token in reversed(tokens) if token.startswith("deep_")))
        unknown = in_trace[scenario["tid"]] - recorded
        check(
            in_trace[scenario["tid"]] and not unknown,
            f"{scenario['name']}: in the trace, not in the logs: {list(unknown)[:2]}",
        )


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
for setting in ("backtrace past-main on", "backtrace past-entry on", "backtrace limit 700",
                "pagination off"):
    gdb.execute("set " + setting)
stacks = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    addresses, frame = [], gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):  # those are on no stack
            addresses.append(frame.pc())
        frame = frame.older() if frame.unwind_stop_reason() == gdb.FRAME_UNWIND_NO_REASON else None
    stacks[thread.ptid[1]] = addresses
print("STACKS " + json.dumps(stacks))
"""


def gdb_stacks(pid, folder):
    """The addresses of each thread's frames according to gdb."""
    script = folder / "stacks.py"
    script.write_text(GDB_SCRIPT)
    done = subprocess.run(
        ["gdb", "-nx", "-q", "-batch", "-p", str(pid), "-x", script],
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("STACKS ")]
    check(len(lines) == 1, f"gdb says {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return {int(tid): tuple(addresses) for tid, addresses in json.loads(lines[0][7:]).items()}


def blocked_as_gdb_sees_them():
    """Sleeping threads: all addresses equal gdb's, for threads always asleep and those that
    sleep at times."""
    always, at_times = ("main", "cond_wait_long", "read_pipe_long"), (
        "cond_wait",
        "cond_signal",
        "nanosleep",
        "read_pipe",
        "write_pipe",
    )
    with Recorder(length="1s") as recorder, start(
        program("pie"), "--only", ",".join(always[1:] + at_times)
    ) as watched:
        capture = recorder.record(watched)
        for scenario in watched.scenarios:
            name, tid = scenario["name"], scenario["tid"]
            kinds = ("sleeping",) if name in always else ("switch", "sleeping")
            recorded = {
                capture.stacks[seen.stack].frames: seen.stack
                for seen in capture.seen[tid]
                if seen.kind in kinds and seen.stack in capture.stacks
            }
            check(
                recorded,
                f"{name}: nothing was recorded of the thread "
                f"{'at the start' if name in always else ''}",
            )

            def agrees():
                theirs = gdb_stacks(watched.process.pid, recorder.folder)[tid]
                base = tuple(scenario["base"])
                check(
                    theirs[-len(base) :] == base,
                    f"{name}: gdb has {theirs}, the program noted {base}",
                )
                return theirs in recorded or (name in always and theirs)

            theirs = wait_for(agrees, f"gdb to see {name} where it was recorded: {list(recorded)}")
            if theirs is not True:
                stacks = "\n".join(
                    capture.describe(capture.stacks[number]) for number in recorded.values()
                )
                check(
                    False,
                    f"{name}: gdb has {[hex(address) for address in theirs]}, recorded is {stacks}",
                )


# ---- programs in unusual places ----


def copy_program(folder, variant="pie", name="deep_stacks"):
    """A copy of a planted program with its libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        shutil.copy2(DEEP_PROGRAMS / f"libdeep_{library}.so", folder)
    return pathlib.Path(shutil.copy2(program(variant), folder / name))


def container():
    """A separate mount namespace, where the program has the path of another program outside."""
    with Recorder() as recorder:
        root, files = recorder.folder / "root", recorder.folder / "files"
        inside = pathlib.Path("usr/bin/python3")
        copy_program(files / "usr" / "bin", name=inside.name)
        for line in subprocess.run(
            ["ldd", program("pie")], capture_output=True, text=True, check=True
        ).stdout.splitlines():
            library = re.search(r"(/\S+) \(0x", line)
            if library and "libdeep_" not in line:
                target = files / library[1][1:]
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library[1], target)
        root.mkdir()
        script = (
            f'mount -t tmpfs none "{root}" && cp -a "{files}/." "{root}/" && '
            f'mkdir "{root}/old" "{root}/proc" && '
            f'mount -t proc none "{root}/proc" && cd "{root}" && '
            f"pivot_root . old && exec /{inside} --only "
            "plain_20,qsort,cond_wait,cond_signal,nanosleep,exceptions,forked_by_main"
        )
        with start(
            "sh", "-c", script, command=("unshare", "-m", "--propagation", "private")
        ) as watched:
            shutil.rmtree(files)
            check_planted(recorder, watched)


def deleted_file():
    """The program's file and its libraries are removed after its start."""
    with Recorder() as recorder:
        folder = recorder.folder / "gone"
        with start(
            copy_program(folder),
            "--only",
            "plain_20,qsort,linked_library,opened_library,cond_wait,cond_signal",
        ) as watched:
            shutil.rmtree(folder)
            check_planted(recorder, watched)


def replaced_file():
    """Another program takes the file's place after its start, as in a package update."""
    with Recorder() as recorder:
        path = copy_program(recorder.folder / "updated")
        with start(
            path, "--only", "plain_20,qsort,linked_library,cond_wait,cond_signal"
        ) as watched:
            shutil.copy2(program("fixed"), path.with_suffix(".new"))
            os.rename(path.with_suffix(".new"), path)
            check_planted(recorder, watched)


def young_process():
    """Started while the daemon ran, one second before the recording."""
    with Recorder() as recorder:
        recorder.record()
        with start(
            program("lazy"),
            "--only",
            "plain_20,qsort,malloc_free,linked_library,cond_wait,cond_signal,forked_by_main",
        ) as watched:
            check_planted(recorder, watched)


# Before main(), the C library prepares itself, and asks the dynamic linker through its own PLT
# (__tunable_get_val@plt of libc.so.6).
EXEC_STACK = re.compile(
    r"^ lib( lib| plt)*( main( deep_climb){0,20}( deep_exec( deep_spin)?)?( lib| plt)*( vdso)*)?$"
)


def exec_in_turn():
    """A process that executes other programs: the previous program's code is never mistaken for
    its own."""
    with Recorder() as recorder:
        with Watched(
            sys.executable,
            "-c",
            EXEC_PARENT,
            program("pie"),
            program("static"),
            start_new_session=True,
        ) as watched:
            pid = watched.process.pid
            capture = recorder.record(watched)
        check(
            len(capture.execs[pid]) >= 5,
            f"{len(capture.execs[pid])} execs of process {pid} were recorded",
        )
        ends, wrong = collections.Counter(), []
        for seen in capture.seen[pid]:
            stack = capture.stacks.get(seen.stack)
            ends[ENDS[stack.end] if stack else "no stack"] += 1
            if stack and stack.end == COMPLETE:
                names = " " + " ".join(reversed(capture.tokens(stack)))
                unnamed = (
                    "nowhere" in names
                )  # the program before an exec so early that nothing had looked at it
                if not EXEC_STACK.match(names) and not unnamed:
                    wrong.append(capture.describe(stack))
        print(f"  {len(capture.execs[pid])} execs: {dict(ends)}")
        check(not wrong, f"{len(wrong)} wrong stacks; the first:\n" + "\n".join(wrong[:2]))
        # Each program's code is known some time after its start, and it works for a tenth of a
        # second.
        check(ends["complete"] >= 0.5 * sum(ends.values()), f"{dict(ends)}")


EXEC_PARENT = (
    "import os, sys\nprint('ready', flush=True)\n"
    "os.execv(sys.argv[1], [sys.argv[1], '--exec', '1000', sys.argv[2]])"
)


def function_being_watched():
    """Return probes put kernel addresses on the stack, up to three of them here; the walk
    continues through them."""
    event = (
        '<event name="watch" threshold="1h" trace-length="1s">'
        f'<function name="deep_watched" binary="{program("pie")}"/></event>'
    )
    with start(program("pie"), "--only", "watched,plain_20") as watched, Recorder(
        event, length="3s"
    ) as recorder:
        before = recorder.event("watch")["runs"]
        capture = check_planted(recorder, watched)
        check(recorder.event("watch")["runs"] > before, "the function is not watched")
        scenario = next(scenario for scenario in watched.scenarios if scenario["name"] == "watched")
        deepest = max(
            capture.tokens(stack).count("deep_watched")
            for stack in capture.stacks.values()
            if stack.pid == scenario["pid"]
        )
        check(deepest == 3, f"at most {deepest} of the three calls are on the stacks")


def return_probes_of_others():
    """Another tool's return probe, set by bpftrace, replaces the return address with one of the
    kernel's."""
    with start(program("pie"), "--only", "watched,plain_20") as watched, Recorder(
        length="3s"
    ) as recorder:
        peer = subprocess.Popen(
            [
                "bpftrace",
                "-e",
                f"uretprobe:{program('pie')}:deep_watched {{ @returns = count(); }}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            maps = pathlib.Path(f"/proc/{watched.process.pid}/maps")
            wait_for(lambda: "[uprobes]" in maps.read_text(), "bpftrace's probe")
            check_planted(recorder, watched)
        finally:
            peer.terminate()
            peer.wait()


def function_being_traced():
    """The probes of lagtrap calls and lagtrap functions are return probes too."""
    commands = (
        ("calls", "--function", "deep_watched", "--depth", "0", "--count", "0", "--min", "1min"),
        ("functions", "--exclude", f"^(?!deep_watched$|{program('pie').name}$)"),
    )
    for command in commands:
        with start(program("pie"), "--only", "watched,plain_20") as watched, Recorder(
            length="3s"
        ) as recorder:
            tracer = subprocess.Popen(
                [
                    LAGTRAP,
                    *command,
                    "--socket",
                    recorder.socket_path,
                    "--process",
                    str(watched.process.pid),
                    "--json",
                    "--for",
                    "10min",
                    "--budget",
                    "10000",
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            try:
                told = json.loads(tracer.stdout.readline())
                started = told.get("started") or told["started_functions"]
                check(
                    [row[0] for row in started["functions"]] == ["deep_watched"],
                    f"{command}: {started}",
                )
                maps = pathlib.Path(f"/proc/{watched.process.pid}/maps")
                wait_for(lambda: "[uprobes]" in maps.read_text(), "a probe to be hit")
                capture = check_planted(recorder, watched)
                scenario = next(
                    scenario for scenario in watched.scenarios if scenario["name"] == "watched"
                )
                deepest = max(
                    capture.tokens(stack).count("deep_watched")
                    for stack in capture.stacks.values()
                    if stack.pid == scenario["pid"]
                )
                check(
                    deepest == 3 and tracer.poll() is None,
                    f"{command}: at most {deepest} of the three calls are on the stacks",
                )
            finally:
                tracer.kill()
                tracer.communicate()


if __name__ == "__main__":
    run(
        position_independent,
        fixed_addresses,
        lazy_binding,
        static,
        static_position_independent,
        blocked_as_gdb_sees_them,
        container,
        deleted_file,
        replaced_file,
        young_process,
        exec_in_turn,
        function_being_watched,
        function_being_traced,
        return_probes_of_others,
    )
