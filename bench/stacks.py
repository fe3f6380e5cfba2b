"""The benchmark of call stacks: how many are complete and correct, and what they cost, compared
with perf in the same minute.

Addresses are compared as (file, offset in the file), as perf prints them. A stack reaches the
first frame if its outermost frame is in the first instructions of its program (_start), or right
after a system call that starts a thread.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile
import time

from lagtrap_test import check, wait_for
from recorded_stacks import COMPLETE, Files, Mapping
from stack_recorder import Load, Recorder, pids_of, program, start
from test_postgresql import BIN as POSTGRES_BIN, Postgres
from test_stack_programs import PYTHON_LOAD

SECONDS = 4
FREQUENCY = 999
# mov $number,%eax; syscall, of clone3 and clone
BEGINS_THREAD = (b"\xb8\xb3\x01\x00\x00\x0f\x05", b"\xb8\x38\x00\x00\x00\x0f\x05")
FRAME = re.compile(r"^\s+([0-9a-f]+) .*\((.*)\)$")


class Roots:
    """Tells whether an offset in a file is where stacks begin."""

    def __init__(self):
        self.files, self.known = Files(), {}

    def is_root(self, path, offset):
        if (path, offset) not in self.known:
            self.known[path, offset] = self.look(path, offset)
        return self.known[path, offset]

    def look(self, path, offset):
        file = self.files.find(Mapping(0, 0, 0, path, "", 0))
        address = file.address(offset) if file else None
        if address is None:
            return False
        (entry,) = struct.unpack_from("<Q", file.data, 24)
        before = file.code(address - 48, 48 + 7)
        return entry <= address < entry + 64 or any(call in before for call in BEGINS_THREAD)


def perf_record(folder, seconds, *options):
    """Starts perf; the file it writes is complete when the process has ended."""
    file = pathlib.Path(folder) / f"perf-{time.monotonic_ns()}.data"
    process = subprocess.Popen(
        [
            "perf",
            "record",
            "-q",
            *([] if "-c" in options else ["-F", str(FREQUENCY)]),
            *options,
            "-o",
            file,
            "--",
            "sleep",
            str(seconds),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return process, file


def perf_stacks(file):
    """(pid, user frames as (path, offset), innermost first) of each sample, as perf script
    unwinds it."""
    script = subprocess.Popen(
        ["perf", "script", "-i", file, "--no-inline", "-F", "pid,tid,ip,sym,dso"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        errors="replace",
    )
    pid, frames = None, []
    for line in script.stdout:
        frame = FRAME.match(line)
        if frame:
            if not frame[2].startswith("[kernel") and not frame[2].endswith(".ko"):
                frames.append((frame[2], int(frame[1], 16)))
        elif line.strip():
            pid, frames = int(line.split("/")[0]), []
        elif pid is not None:
            yield pid, tuple(frames)
            pid, frames = None, []
    check(script.wait() == 0, "perf script failed")


def our_stacks(capture, pids):
    """The same from a capture, with how the walk ended; once per sample."""
    converted = {}
    for seen in (
        entry
        for listed in capture.seen.values()
        for entry in listed
        if entry.kind == "sample" and entry.pid in pids
    ):
        stack = capture.stacks.get(seen.stack)
        if stack and seen.stack not in converted:
            frames = capture.frames(stack)
            converted[seen.stack] = tuple(
                (frame.mapping.path, address - frame.mapping.start + frame.mapping.offset)
                if frame.mapping
                else ("?", address)
                for frame, address in zip(frames, stack.frames)
            )
        yield seen.pid, converted.get(seen.stack, ()), stack


@contextlib.contextmanager
def debian_programs(folder):
    """PostgreSQL under pgbench, redis under redis-benchmark, and python3: their loads and a
    function that returns their pids."""
    with Postgres() as postgres, Load(
        "redis-server", "--port", "7382", "--save", "", cwd=folder
    ) as server, Load("/usr/bin/python3", "-c", PYTHON_LOAD) as python:
        python.ready()
        wait_for(
            lambda: subprocess.run(["redis-cli", "-p", "7382", "ping"], capture_output=True).stdout
            == b"PONG\n",
            "redis",
        )
        pgbench = postgres.command(
            POSTGRES_BIN / "pgbench", "-h", postgres.folder, "-n", "-c", 2, "-T", 600, "postgres"
        )
        with Load(
            "redis-benchmark", "-p", "7382", "-c", 4, "-t", "set,get", "-l", "-q"
        ) as benchmark, Load(*pgbench, cwd="/") as load:
            time.sleep(2)  # until all are at work

            def pids(capture):
                return {
                    "PostgreSQL": set(pids_of(capture, POSTGRES_BIN / "postgres")),
                    "redis": {server.process.pid},
                    "python3": {python.process.pid},
                }

            yield (server, python, benchmark, load), pids


def bench_complete(row):
    """Share of samples whose user stack reaches the thread's first frame."""
    roots = Roots()
    with tempfile.TemporaryDirectory() as folder, Recorder(
        length=f"{SECONDS}s"
    ) as recorder, debian_programs(folder) as (loads, pids):
        recorder.record(*loads)  # afterwards the tables of all programs exist
        capture = recorder.record(*loads)
        perf, file = perf_record(folder, SECONDS, "-a", "-g")
        check(perf.wait() == 0, "perf record failed")
        theirs = collections.Counter()
        groups = pids(capture)
        for pid, frames in perf_stacks(file):
            for name, members in groups.items():
                if pid in members and frames:
                    theirs[name, roots.is_root(*frames[-1])] += 1
    all_ours, all_theirs = collections.Counter(), collections.Counter()
    for name, members in groups.items():
        ours = collections.Counter(
            stack is not None
            and stack.end == COMPLETE
            and bool(frames)
            and roots.is_root(*frames[-1])
            for _, frames, stack in our_stacks(capture, members)
        )
        all_ours += ours
        all_theirs += collections.Counter(
            {reached: theirs[name, reached] for reached in (True, False)}
        )
        row(
            f"{name}: samples whose user stack reaches the first frame",
            share(ours),
            "`perf record -g`: "
            + share(collections.Counter({r: theirs[name, r] for r in (True, False)})),
        )
    row(
        "all three: samples whose user stack reaches the first frame",
        share(all_ours),
        f"`perf record -g`: {share(all_theirs)}",
        wanted="95 %",
    )


def share(counter):
    total = counter[True] + counter[False]
    return f"{100 * counter[True] / total:.2f} % of {total}" if total else "no samples"


def edges_of(frames):
    """Pairs of return addresses, each with its caller's, beginning with the caller of the
    innermost frame."""
    return list(zip(frames[1:], frames[2:] + (("", 0),)))


class Agreement:
    """Counts how many frames of one set of stacks have the same caller in another set."""

    def __init__(self, reference):
        self.known = set()
        for frames in reference:
            self.known.update(edges_of(frames))
            # For the innermost frame only its caller is compared, because the address within the
            # function varies.
            self.known.update(("caller", frame) for frame in frames[1:2])
        self.counts, self.missing = collections.Counter(), collections.Counter()

    def add(self, frames):
        listed = edges_of(frames) + [("caller", frame) for frame in frames[1:2]]
        for edge in listed:
            self.counts[edge in self.known] += 1
            if edge not in self.known:
                self.missing[edge] += 1

    def share(self):
        return share(self.counts)


def return_addresses(frames):
    """perf gives the last byte of the call for every frame but the innermost."""
    return frames[:1] + tuple((path, offset + 1) for path, offset in frames[1:])


def bench_agreement(row):
    """Share of our frames whose caller is the same in perf's offline unwinding of 64 KB of
    stack, at the same time."""
    only = (
        "plain_20,saved_registers,over_aligned,aligned_and_alloca,short_calls,cold_parts,qsort,"
        "std_sort,malloc_free,memcpy,linked_library"
    )
    loads = {
        "planted program": lambda: start(program("pie"), "--only", only),
        "python3": lambda: Load("/usr/bin/python3", "-c", PYTHON_LOAD),
    }
    for name, make in loads.items():
        with tempfile.TemporaryDirectory() as folder, make() as load, Recorder(
            length=f"{SECONDS}s"
        ) as recorder:
            if name == "python3":
                load.ready()
            recorder.record(load)
            perf, file = perf_record(
                folder,
                SECONDS,
                "-e",
                "cpu-clock:u",
                "--call-graph",
                "dwarf,65528",
                "-p",
                str(load.process.pid),
            )
            time.sleep(0.3)  # perf does not report when it has begun
            capture = recorder.record(load)
            check(perf.wait() == 0, "perf record failed")
            roots = Roots()
            theirs = [
                return_addresses(frames)
                for pid, frames in perf_stacks(file)
                if pid == load.process.pid
            ]
            whole = [
                frames
                for frames in theirs
                if frames and roots.is_root(frames[-1][0], frames[-1][1] - 1)
            ]
            ours = [
                frames
                for _, frames, stack in our_stacks(capture, {load.process.pid})
                if stack and stack.end == COMPLETE
            ]
        agreement = Agreement(whole)
        for frames in ours:
            agreement.add(frames)
        other = Agreement(whole[::2])
        for frames in whole[1::2]:
            other.add(frames)
        row(
            f"{name}: frames with the same caller as in `perf record --call-graph dwarf,65528`",
            agreement.share(),
            f"perf's odd samples in its even ones: {other.share()}; "
            f"perf reaches the first frame in {len(whole)} of {len(theirs)}",
            wanted="99 % of frames",
        )
        for edge, times in agreement.missing.most_common(3):
            print(f"    {times} times not seen by perf: {edge}")


def bpf_run_times(pid):
    """(run time in ns, runs) by program id, for the programs that a process holds."""
    ids = set()
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found = re.search(r"^prog_id:\s*(\d+)", entry.read_text(), re.MULTILINE)
            ids |= {int(found[1])} if found else set()
    shown = json.loads(
        subprocess.run(
            ["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True
        ).stdout
    )
    return {
        entry["id"]: (
            entry["name"],
            entry["type"],
            entry.get("run_time_ns", 0),
            entry.get("run_cnt", 0),
        )
        for entry in shown
        if entry["id"] in ids
    }


def time_per_sample(frames):
    """Of the program on the sampler's perf events, while each CPU is on a stack with this many
    frames."""
    with contextlib.ExitStack() as stack, Recorder(length="4s") as recorder:
        loads = []
        for cpu in sorted(os.sched_getaffinity(0)):
            load = stack.enter_context(
                Load(
                    program("pie"),
                    "--stand",
                    frames,
                    preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}),
                )
            )
            loads.append(load.ready())
        recorder.record(*loads)
        recorder.begin()
        wait_for(lambda: recorder.status()["state"] == "recording", "the recording")
        first = last = bpf_run_times(recorder.process.pid)
        while recorder.status()["state"] == "recording":
            last = {**last, **bpf_run_times(recorder.process.pid)}
            time.sleep(0.2)
        capture = recorder.finish(loads)
    pids = {load.process.pid for load in loads}
    depth = statistics.median(len(frames) for _, frames, _ in our_stacks(capture, pids))
    ends = collections.Counter(
        stack.end == COMPLETE for _, _, stack in our_stacks(capture, pids) if stack
    )
    samplers = [
        (last[number][2] - first[number][2], last[number][3] - first[number][3])
        for number in last
        if number in first and last[number][1] == "perf_event"
    ]
    spent_ns, runs = (sum(column) for column in zip(*samplers))
    check(runs > 0, f"no program on perf events ran: {last}")
    return spent_ns / runs, runs, depth, ends


def bench_time(row):
    """BPF time of one sample, by the kernel's run-time statistics."""
    setting = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = setting.read_text()
    setting.write_text("1\n")
    try:
        times = {}
        for frames in (13, 30, 60):
            times[frames], runs, depth, ends = time_per_sample(frames)
            wanted = "under 20 µs" if frames == 30 else ""
            row(
                f"time of a sample in BPF, {depth:.0f} frames, {share(ends)} complete",
                f"{times[frames] / 1e3:.2f} µs over {runs:,} samples",
                wanted=wanted,
            )
        row("each further frame", f"{(times[60] - times[13]) / 47:.0f} ns", wanted="under 1 µs")
    finally:
        setting.write_text(before)


def bench_bytes(row):
    """Bytes written per second, against perf copying 8 KB of each stack, for the same load at
    nearly the same time."""
    with tempfile.TemporaryDirectory() as folder, debian_programs(folder) as (loads, _):
        for recording, peer_name, peer_commands in (
            (
                'scheduling="no"',
                "`perf record --call-graph dwarf,8192`",
                [("-a", "--call-graph", "dwarf,8192")],
            ),
            ("", "the same and `perf sched record`", [("-a", "--call-graph", "dwarf,8192"), SCHED]),
        ):
            ours, theirs = [], []
            with Recorder(length=f"{SECONDS}s", recording=recording) as recorder:
                for _ in range(3):
                    ours.append(sum(recorder.record(*loads).log_bytes.values()) / SECONDS)
                    theirs.append(
                        sum(perf_bytes(folder, options) for options in peer_commands) / SECONDS
                    )
            own, peer = statistics.median(ours), statistics.median(theirs)
            what = "samples only" if recording else "samples, switches, wakeups and off-CPU stacks"
            row(
                f"bytes a second of recording: {what}",
                f"{own / 1e6:.3f} MB",
                f"{peer_name}: {peer / 1e6:.1f} MB",
                f"1/{peer / own:.0f}",
                "1/50 or less",
            )


SCHED = ("-a", "-e", "sched:sched_switch,sched:sched_waking,sched:sched_process_fork", "-c", "1")


def perf_bytes(folder, options):
    """Amount of data that perf writes in one recording."""
    perf, file = perf_record(folder, SECONDS, *options)
    check(perf.wait() == 0, f"perf record {options} failed")
    size = file.stat().st_size
    file.unlink()
    return size


MANY = (
    [
        "/usr/bin/python3",
        "-c",
        "import ssl, sqlite3, json, asyncio, ctypes; print('ready', flush=True); input()",
    ],
    ["perl", "-MPOSIX", "-e", "$| = 1; print qq(ready\n); <STDIN>"],
    ["bash", "-c", "echo ready; read"],
    ["dash", "-c", "echo ready; read x"],
    ["gdb", "-nx", "-q", "-batch", "-ex", "echo ready\\n", "-ex", "python input()"],
    ["mawk", "-W", "interactive", 'BEGIN { print "ready"; fflush(); getline }'],
    ["git", "-c", "alias.x=!echo ready; read x", "x"],
    ["node", "-e", "console.log('ready'); process.stdin.resume()"],
    ["sqlite3", "-batch", "-cmd", "select 'ready';"],
)


def many_processes(stack, count):
    for number in range(count):
        command = [word for word in MANY[number % len(MANY)]]
        if subprocess.run(["which", command[0]], capture_output=True).returncode != 0:
            command = list(MANY[0])
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        check(b"ready" in process.stdout.readline(), f"{command} does not begin")


def tables_of_all():
    """The unwinder status of a fresh daemon once it has the tables of all processes, and how
    long that took."""
    begun = time.monotonic()
    with Recorder(length="100ms") as recorder:
        recorder.record()
        status = wait_for(
            lambda: (lambda now: now if now["tables_waiting"] == 0 and now["tables"] else None)(
                recorder.unwinder()
            ),
            "the tables",
        )
        return status, time.monotonic() - begun


def bench_tables(row):
    """Tables of a machine with 200 processes: built, and then loaded from the cache."""
    import stack_recorder

    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory(
        prefix="lagtrap-bench-cache-"
    ) as cache:
        many_processes(stack, 200)
        stack_recorder.CACHE = type("Cache", (), {"name": cache})
        made, made_seconds = tables_of_all()
        cached, cached_seconds = tables_of_all()
    what = f"{made['tables']} tables, {made['processes']} processes"
    row(
        f"unwind tables of a machine with 200 more processes ({what})",
        f"{made['table_bytes'] / 1e6:.1f} MB, {made['used_bytes'] / 1e6:.1f} MB with address "
        "spaces",
        wanted="under 64 MB",
    )
    row(
        "CPU time to build them",
        f"{made['make_cpu_ns'] / 1e9:.2f} s ({made['made']} made, there after {made_seconds:.1f} "
        "s)",
        wanted="under 5 s",
    )
    row(
        "the same from the cache",
        f"{cached['from_cache_cpu_ns'] / 1e9:.3f} s ({cached['cached']} from the cache, "
        f"{cached['made']} made, there after {cached_seconds:.1f} s)",
        wanted="under 0.3 s",
    )
    row(
        "tables without room; tables that could not be built",
        f"{made['tables_without_room']}; {made['tables_failed']}",
    )


def bench(row, parts=()):
    for part in (bench_complete, bench_agreement, bench_time, bench_bytes, bench_tables):
        if not parts or part.__name__.removeprefix("bench_") in parts:
            print(f"  {part.__doc__}", flush=True)
            part(row)
