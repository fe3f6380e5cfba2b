"""The benchmarks: python3 bench/run.py [NAME...]. Prints a table of figure, peer and ratio;
writes nothing.

Machines are shared and noisy, so each figure is a median over alternating rounds, and only its
ratio to the peer of the same rounds counts.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "integration"))
from lagtrap_test import (
    BURST,
    BUILD_DIR,
    Daemon,
    PLANTED,
    Watched,
    check,
    library_event,
    wait_for,
)  # noqa: E402

import arming  # noqa: E402
import before  # noqa: E402
import calls  # noqa: E402
import functions  # noqa: E402
import names  # noqa: E402
import objects  # noqa: E402
import scale  # noqa: E402
import server  # noqa: E402
import stacks  # noqa: E402

MERGE = BUILD_DIR / "trace" / "lagtrap-merge"
TICKS = os.sysconf("SC_CLK_TCK")
rows = []


def row(figure, value, peer="", ratio="", wanted=""):
    rows.append((figure, value, peer, ratio, wanted))
    print(
        f"  {figure}: {value}"
        + (f"; peer {peer}" if peer else "")
        + (f"; ratio {ratio}" if ratio else ""),
        flush=True,
    )


def burst(pairs, threads=1, event="tick"):
    with Watched(
        BURST, "--threads", threads, "--pairs", pairs, "--event", event, "--wait"
    ) as program:
        return program.go().result()


def pair_ns(pairs=400_000):
    result = burst(pairs)
    return result["duration_ns"] / result["pairs"]


class Bpftrace:
    """The same pairing as a bpftrace script: a start time by thread, a histogram at the end."""

    BARE = (
        "usdt:{0}:lagtrap:tick__begin {{ @start[tid] = nsecs; }} "
        "usdt:{0}:lagtrap:tick__end /@start[tid]/ {{ @duration = hist(nsecs - @start[tid]); delete(@start[tid]); }}"
    )
    # The work of lagtrap for a pair: counts unmatched begins, runs, the longest, and delays, and
    # reports delays.
    SAME_WORK = (
        "usdt:{0}:lagtrap:tick__begin {{ if (@start[tid]) {{ @unmatched_begins = count(); }} @start[tid] = nsecs; }} "
        "usdt:{0}:lagtrap:tick__end {{ if (@start[tid]) {{ $duration = nsecs - @start[tid]; @duration = hist($duration); "
        '@longest = max($duration); if ($duration > 10000000000) {{ @delays = count(); printf("delay %d\\n", tid); }} '
        "delete(@start[tid]); }} else {{ @unmatched_ends = count(); }} }}"
    )

    def __init__(self, script, program=BURST):
        self.script, self.program = script, program

    def __enter__(self):
        self.process = subprocess.Popen(
            ["bpftrace", "-e", self.script.format(self.program.resolve())],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        line = self.process.stdout.readline()
        while (
            line and "Attaching" not in line
        ):  # it may first complain of RLIMIT_MEMLOCK and continue
            line = self.process.stdout.readline()
        check(line, "bpftrace does not attach")
        time.sleep(2)  # bpftrace does not report when it has attached
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=300)
        check("@duration" in output, "bpftrace counted nothing")


class EmptyPair:
    """Two markers with a program that does nothing ("nothing"), or reads what every tool must
    ("clock"): the lower bound for tools that enter the kernel."""

    def __init__(self, program, binary=BURST.resolve(), markers=("tick__begin", "tick__end")):
        self.arguments = [binary, program, *markers]

    def __enter__(self):
        self.process = subprocess.Popen(
            [BUILD_DIR / "bench" / "empty_pair", *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(self.process.stdout.readline() == "attached\n", "empty_pair does not attach")
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)
        check(self.process.returncode == 0, "empty_pair failed")


def bench_marker():
    """Begin and end through USDT, armed, below the threshold, against the same pair in bpftrace."""
    bare, empty, clock, unheeded, armed, peer, bare_peer = [], [], [], [], [], [], []
    for _ in range(5):
        bare.append(pair_ns())
        with EmptyPair("nothing"):
            empty.append(pair_ns())
        with EmptyPair("clock"):
            clock.append(pair_ns())
        with Daemon(library_event("tick", BURST, "10s", more='<scope pid="1"/>')):
            unheeded.append(pair_ns())
        with Daemon(library_event("tick", BURST, "10s")):
            armed.append(pair_ns())
        with Bpftrace(Bpftrace.SAME_WORK):
            peer.append(pair_ns())
        with Bpftrace(Bpftrace.BARE):
            bare_peer.append(pair_ns())
    idle, least, least_useful, floor, ours, theirs, bare_theirs = (
        statistics.median(times) for times in (bare, empty, clock, unheeded, armed, peer, bare_peer)
    )
    row(
        "begin+end pair, armed, under the threshold",
        f"{ours - idle:.0f} ns",
        f"bpftrace, the same work {theirs - idle:.0f} ns",
        f"{(ours - idle) / (theirs - idle):.2f}",
        "0.7 or less",
    )
    row(
        "the same, against a script that only fills a histogram",
        f"{ours - idle:.0f} ns",
        f"bpftrace {bare_theirs - idle:.0f} ns",
        f"{(ours - idle) / (bare_theirs - idle):.2f}",
    )
    row("the same pair out of scope", f"{floor - idle:.0f} ns")
    row(
        "the same pair with programs that do nothing: the kernel's own part",
        f"{least - idle:.0f} ns",
        f"bpftrace, the same work {theirs - idle:.0f} ns",
        f"{(least - idle) / (theirs - idle):.2f}",
    )
    row(
        "the same with programs that read marker, clock and thread, and pair nothing",
        f"{least_useful - idle:.0f} ns",
        f"bpftrace, the same work {theirs - idle:.0f} ns",
        f"{(least_useful - idle) / (theirs - idle):.2f}",
    )
    row("begin+end pair, nobody listens", f"{idle:.1f} ns")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid):
    return (
        int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024
    )


def bench_idle():
    """The daemon with 20 armed events and no hits."""
    events = "".join(
        library_event("tick", BURST, f"{50 + i}ms")
        .replace('name="tick"', f'name="tick_{i}"')
        .replace(
            f'<library binary="{BURST.resolve()}"></library>',
            f'<begin usdt="lagtrap:tick__begin" binary="{BURST.resolve()}"/><end usdt="lagtrap:tick__end" binary="{BURST.resolve()}"/>',
        )
        for i in range(20)
    )
    with Daemon(events) as daemon:
        before, seconds = cpu_seconds(daemon.process.pid), 60
        time.sleep(seconds)  # the length of the measurement
        used = cpu_seconds(daemon.process.pid) - before
        row(
            "daemon idle, 20 armed events",
            f"{100 * used / seconds:.3f} % of a CPU",
            wanted="under 0.1 %",
        )
        row(
            "memory of the same",
            f"{resident_mib(daemon.process.pid):.1f} MiB",
            wanted="under 40 MB",
        )


def bench_count():
    """As many runs as two threads can make in 10 s, every one armed and counted."""
    with Daemon(library_event("tick", BURST, "10s")) as daemon:
        with Watched(
            BURST, "--threads", 2, "--seconds", 10, "--event", "tick", "--wait"
        ) as program:
            sent = program.go().result()["pairs"]
        event = daemon.event("tick")
        counted = sum(bucket["count"] for bucket in event["histogram"])
        row(
            "runs counted of those sent in 10 s by two threads",
            f"{counted} + {event['lost']} lost of {sent}",
            ratio=f"{(counted + event['lost']) / sent:.6f}",
            wanted="1, lost 0",
        )
        row("the same, a second", f"{sent / 10:.0f} runs/s")


def bench_breach():
    """How late a deadline is noticed, and how soon recording begins after that."""
    late, begin = [], []
    # No history, because this measures how soon a recording begins after the breach.
    with Daemon(
        library_event("work", PLANTED, "20ms", "50ms"),
        'cool-down="1ms" captures-per-hour="3600"',
        more='<history length="0s" early-share="0%"/>',
    ) as daemon:
        for done in range(1, 22):
            wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait")
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 60, "--wait"
            ) as program:
                program.go().result()
            daemon.wait_for_bundles(done)
        for bundle in daemon.bundles():
            system = ElementTree.fromstring(member(bundle, "system.xml"))
            late.append(noticed_late_ns(system))
        begin = [
            duration_ns(text)
            for text in re.findall(r"starting ([0-9.]+ \w+) after the breach", daemon.log())
        ]
    row(
        "deadline noticed late by, median",
        f"{statistics.median(late) / 1e3:.0f} us, worst {max(late) / 1e3:.0f} us",
        wanted="at most 2 ms",
    )
    row(
        "recording begins after the breach is reported, median",
        f"{statistics.median(begin) / 1e3:.0f} us",
        wanted="at most 1 ms",
    )


def member(bundle, name):
    return subprocess.run(
        ["tar", "--zstd", "-xOf", bundle, name], capture_output=True, check=True
    ).stdout


def noticed_late_ns(system):
    """From the deadline of the run that started the recording until it was noticed."""
    first = next(delay for delay in system.iter("delay") if delay.get("first") == "true")
    breach_ns = int(next(system.iter("trigger")).get("breach-boottime-ns"))
    return breach_ns - int(first.get("begin-ns")) - int(first.get("threshold-ns"))


def duration_ns(text):
    number, unit = text.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


class Redis:
    """redis-server under redis-benchmark: a load that uses both CPUs and switches often."""

    PORT = "7380"

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-bench-")
        self.server = subprocess.Popen(
            ["redis-server", "--port", self.PORT, "--save", "", "--dir", self.folder],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: self.cli("ping") == "PONG\n", "redis")
        self.load = subprocess.Popen(
            ["redis-benchmark", "-p", self.PORT, "-c", "20", "-t", "set,get", "-l", "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: self.commands() > 10000, "the load")
        return self

    def __exit__(self, *_):
        for process in (self.load, self.server):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cli(self, *words):
        return subprocess.run(
            ["redis-cli", "-p", self.PORT, *words], capture_output=True, text=True
        ).stdout

    def commands(self):
        found = re.search(r"total_commands_processed:(\d+)", self.cli("info", "stats"))
        return int(found[1]) if found else 0

    def rate(self, seconds):
        before, begun = self.commands(), time.monotonic()
        time.sleep(seconds)  # the length of the measurement
        return (self.commands() - before) / (time.monotonic() - begun)


class Perf:
    """The equivalent done by hand: samples with stacks, and scheduling."""

    def __init__(self, folder, seconds):
        self.files = [pathlib.Path(folder) / "samples.data", pathlib.Path(folder) / "sched.data"]
        self.commands = [
            [
                "perf",
                "record",
                "-a",
                "-g",
                "-F",
                "999",
                "-o",
                self.files[0],
                "--",
                "sleep",
                str(seconds),
            ],
            ["perf", "sched", "record", "-o", self.files[1], "--", "sleep", str(seconds)],
        ]

    def start(self):
        self.processes = [
            subprocess.Popen(
                [str(word) for word in command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in self.commands
        ]

    def finish(self):
        for process in self.processes:
            process.wait(timeout=120)
        return sum(file.stat().st_size for file in self.files)


def capture_under_load(seconds):
    """A daemon whose captures of `seconds` stay unmerged, so that the merge can be measured
    separately."""
    return Daemon(
        library_event("tick", BURST, "10s", f"{seconds}s"),
        'cool-down="1ms" captures-per-hour="1000"',
        options=("--merge-program", "/bin/false"),
    )


def merge(capture):
    """Runs lagtrap-merge; returns its output, with its own time and memory."""
    with tempfile.TemporaryDirectory() as output:
        begun = time.monotonic()
        process = subprocess.Popen([MERGE, capture, output], stdout=subprocess.PIPE)
        said = json.loads(process.stdout.read())
        usage = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        return {
            "seconds": time.monotonic() - begun,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "memory_mib": usage.ru_maxrss / 1024,
            "bundle_bytes": pathlib.Path(said["bundle"]).stat().st_size,
        }


def wait_for_captures(daemon, count):
    def ended():
        status = daemon.status()
        return status["captures"]["waiting"] >= count and status["state"] in (
            "waiting",
            "cooling-down",
        )

    wait_for(ended, "the capture's end", 120)
    return sorted((daemon.spool / "captures").iterdir(), key=lambda path: path.stat().st_mtime)


def bench_capture():
    """A capture of 4 s under load: loss of throughput, size and merge time, against perf doing
    the same."""
    losses, perf_losses, perf_bytes, merged = [], [], [], []
    with Redis() as redis, capture_under_load(4) as daemon, tempfile.TemporaryDirectory() as folder:
        before = redis.rate(3.8)
        for done in range(1, 9):
            daemon.ask("trigger", event="tick")
            ours = redis.rate(3.8)
            captures = wait_for_captures(daemon, done)
            between = redis.rate(3.8)
            perf = Perf(folder, 4)
            perf.start()
            theirs = redis.rate(3.8)
            perf_bytes.append(perf.finish())
            after = redis.rate(3.8)
            # The load drifts, so each loss is relative to the undisturbed rate just before and
            # after.
            losses.append(100 * (1 - 2 * ours / (before + between)))
            perf_losses.append(100 * (1 - 2 * theirs / (between + after)))
            before = after
        for capture in captures:
            merged.append(merge(capture))
    loss, perf_loss = statistics.median(losses), statistics.median(perf_losses)
    row(
        "throughput lost during a capture under load",
        f"{loss:.1f} % ({min(losses):.1f} to {max(losses):.1f})",
        f"perf record and perf sched record {perf_loss:.1f} % ({min(perf_losses):.1f} to {max(perf_losses):.1f})",
        f"{loss / perf_loss:.2f}" if perf_loss > 0 else "",
        "no more than perf",
    )
    size, perf_size = statistics.median(m["bundle_bytes"] for m in merged), statistics.median(
        perf_bytes
    )
    row(
        "bundle of 4 s under load",
        f"{size / 1e6:.2f} MB",
        f"two perf files {perf_size / 1e6:.1f} MB",
        f"{size / perf_size:.3f}",
        "0.1 or less",
    )
    row(
        "merge of 4 s recorded under load, median",
        f"{statistics.median(m['seconds'] for m in merged):.2f} s",
        wanted="under 2 s",
    )
    row(
        "memory of the merge",
        f"{max(m['memory_mib'] for m in merged):.0f} MiB",
        wanted="under 256 MB",
    )


def bench_merge():
    """How the merge time grows with the length of the capture. It runs at low priority, so here
    on an idle machine."""
    for seconds in (4, 15, 60):
        with capture_under_load(seconds) as daemon:
            with Redis():
                daemon.ask("trigger", event="tick")
                capture = wait_for_captures(daemon, 1)[-1]
            figure = merge(capture)
        row(
            f"merge of {seconds} s recorded under load",
            f"{figure['seconds']:.2f} s, {figure['cpu_seconds']:.2f} s of CPU, {figure['memory_mib']:.0f} MiB",
            ratio=f"{figure['cpu_seconds'] / seconds:.3f} s of CPU a second",
            wanted="linear, under 256 MB",
        )


class Sleepers:
    """Idle processes of several programs."""

    def __init__(self, count):
        self.commands = [
            ["sleep", "infinity"],
            ["cat"],
            [sys.executable, "-c", "input()"],
            ["sh", "-c", "read line"],
        ]
        self.count = count

    def __enter__(self):
        self.processes = [
            subprocess.Popen(self.commands[i % len(self.commands)], stdin=subprocess.PIPE)
            for i in range(self.count)
        ]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()


def recording_cost_ms(session):
    """The cost of the daemon and of its BPF programs."""
    return session["quality"]["daemon_cpu_ns"] / 1e6, session["quality"]["bpf_run_time_ns"] / 1e6


def perf_record_ms(folder):
    """CPU time of perf itself for the same second; the cost of its samples in the kernel is not
    accounted anywhere."""
    process = subprocess.Popen(
        ["perf", "record", "-a", "-g", "-F", "999", "-o", folder / "perf.data", "--", "sleep", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def bench_recording():
    """Cost of a recording of 1 s while 100 processes sleep and nothing else runs."""
    daemon_ms, bpf_ms, perf_ms = [], [], []
    with Sleepers(100), capture_under_load(1) as daemon, tempfile.TemporaryDirectory() as folder:
        time.sleep(3)  # their code is known by then
        for done in range(1, 8):
            daemon.ask("trigger", event="tick")
            capture = wait_for_captures(daemon, done)[-1]
            session = json.loads((capture / "session.json").read_text())
            check(session["quality"]["shed"] == [], f"shed: {session['quality']['shed']}")
            ours = recording_cost_ms(session)
            daemon_ms.append(ours[0])
            bpf_ms.append(ours[1])
            perf_ms.append(perf_record_ms(pathlib.Path(folder)))
    daemon_part, bpf_part, theirs = (
        statistics.median(times) for times in (daemon_ms, bpf_ms, perf_ms)
    )
    row(
        "recording of 1 s, 100 sleeping processes: daemon and BPF programs",
        f"{daemon_part + bpf_part:.1f} ms ({daemon_part:.1f} + {bpf_part:.1f})",
        f"perf record -a -g -F 999: {theirs:.1f} ms",
        f"{(daemon_part + bpf_part) / theirs:.2f}",
        f"at most {15 * os.cpu_count():.0f} ms (1.5 % of the CPUs)",
    )


def bench_stacks():
    """Call stacks: how many are complete and correct, and what they cost."""
    stacks.bench(row)


def bench_names():
    """Functions, inlined functions and lines of a program with 200 MB of debug information."""
    names.bench(row, capture_under_load, wait_for_captures, merge)


def bench_server():
    """The server: uploads, runs, a page over many runs, causes over many hosts."""
    server.bench(row)


def bench_scale():
    """The server under 1,000 machines for two minutes, with PostgreSQL and S3: what it accepts,
    and how fast pages are meanwhile."""
    scale.bench(row)


def bench_switches():
    """Cost of observing context switches for other programs."""
    before.bench_switches(row)


def bench_before():
    """How much of a delay's time is explained, and the cost of that while nothing is slow."""
    before.bench_unknown(row)
    before.bench_pair(row, pair_ns)
    before.bench_idle(row, cpu_seconds)
    before.bench_queries(row, Bpftrace, EmptyPair)


def bench_calls():
    """Each call of a function with everything it calls: cost, speed, and accuracy of times"""
    calls.bench(row)


def bench_objects():
    """Objects across an interface: what one costs the program"""
    objects.bench(row)


def bench_arming():
    """Many events on one large library, until they are watched and until they are not."""
    arming.bench(row)


def bench_functions():
    """All functions of a program at a bounded cost: bytes, slow-down and counts compared with
    other tracers"""
    functions.bench(row)


BENCHES = {
    "marker": bench_marker,
    "idle": bench_idle,
    "arming": bench_arming,
    "calls": bench_calls,
    "functions": bench_functions,
    "objects": bench_objects,
    "switches": bench_switches,
    "before": bench_before,
    "count": bench_count,
    "breach": bench_breach,
    "capture": bench_capture,
    "recording": bench_recording,
    "merge": bench_merge,
    "stacks": bench_stacks,
    "names": bench_names,
    "server": bench_server,
    "scale": bench_scale,
}


def print_table():
    print("\n| figure | measured | peer, same run | ratio | wanted |\n|---|---|---|---|---|")
    for columns in rows:
        print("| " + " | ".join(columns) + " |")


def main():
    chosen = sys.argv[1:] or list(BENCHES)
    for name in chosen:
        if name not in BENCHES:
            sys.exit(f"there is no benchmark \"{name}\"; there are {', '.join(BENCHES)}")
    for name in chosen:
        print(f"{name}: {BENCHES[name].__doc__}", flush=True)
        BENCHES[name]()
    print_table()


if __name__ == "__main__":
    main()
