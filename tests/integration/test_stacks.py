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
from recorded_stacks import COMPLETE, ENDS
from stack_recorder import DEEP_PROGRAMS, LIBRARIES, Recorder, program, start
from stack_verdict import MAY_STOP, PAGE_COPIED, Verdict, check_base, children_of, judge

MOST_CAPTURES = 6  # to see them all
MOST_COPIED = 0.05
# The kernel does not report that a library was unmapped. Its replacement is known only a
# millisecond or two after it was mapped; until then, a thread that only opens and closes libraries
# is walked with the wrong table. Also, the kernel's own system call for return probes sets ip and
# sp one after the other (arch/x86/kernel/uprobes.c, sys_uretprobe), so a sample in between sees
# inconsistent registers.
MOST_STALE = {"reopened_libraries": 0.1, "watched": 0.002}
# Once an exception has found its handler, gcc's unwinder overwrites return addresses before it
# leaves its frames. The stack then is not a valid chain of calls. This may affect a tenth of the
# stacks of a thread that only throws.
MOST_BETWEEN = 0.1


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
