"""Runs the benchmarks and prints each figure beside that of its peer, measured in the same run.

Machines are shared and noisy, so each figure is a median over alternating rounds, and only its
ratio to the peer of the same rounds counts.
"""

import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import textwrap
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
import capture  # noqa: E402
import document  # noqa: E402
import functions  # noqa: E402
import names  # noqa: E402
import objects  # noqa: E402
import scale  # noqa: E402
import server  # noqa: E402
import stacks  # noqa: E402

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
        "usdt:{0}:lagtrap:tick__end /@start[tid]/ {{ @duration = hist(nsecs - @start[tid]); "
        "delete(@start[tid]); }}"
    )
    # The work of lagtrap for a pair: counts unmatched begins, runs, the longest, and delays, and
    # reports delays.
    SAME_WORK = (
        "usdt:{0}:lagtrap:tick__begin {{ if (@start[tid]) {{ @unmatched_begins = count(); }} "
        "@start[tid] = nsecs; }} "
        "usdt:{0}:lagtrap:tick__end {{ if (@start[tid]) {{ $duration = nsecs - @start[tid]; "
        "@duration = hist($duration); "
        "@longest = max($duration); if ($duration > 10000000000) {{ @delays = count(); "
        'printf("delay %d\\n", tid); }} '
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
        "begin and end by USDT, fast run",
        f"{ours - idle:.0f} ns",
        f"bpftrace, same work: {theirs - idle:.0f} ns",
        f"{(ours - idle) / (theirs - idle):.2f}",
        "0.7 or less",
    )
    row(
        "the same against a script that only fills a histogram",
        f"{ours - idle:.0f} ns",
        f"bpftrace: {bare_theirs - idle:.0f} ns",
        f"{(ours - idle) / (bare_theirs - idle):.2f}",
    )
    row("the same out of scope", f"{floor - idle:.0f} ns")
    row(
        "the same with empty programs (the kernel's part)",
        f"{least - idle:.0f} ns",
        f"bpftrace, same work: {theirs - idle:.0f} ns",
        f"{(least - idle) / (theirs - idle):.2f}",
    )
    row(
        "the same with programs that only read marker, clock and thread",
        f"{least_useful - idle:.0f} ns",
        f"bpftrace, same work: {theirs - idle:.0f} ns",
        f"{(least_useful - idle) / (theirs - idle):.2f}",
    )
    row("begin and end marker, nothing attached", f"{idle:.1f} ns")


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
            f'<begin usdt="lagtrap:tick__begin" binary="{BURST.resolve()}"/>'
            f'<end usdt="lagtrap:tick__end" binary="{BURST.resolve()}"/>',
        )
        for i in range(20)
    )
    with Daemon(events) as daemon:
        before, seconds = cpu_seconds(daemon.process.pid), 60
        time.sleep(seconds)  # the length of the measurement
        used = cpu_seconds(daemon.process.pid) - before
        row(
            "daemon with 20 events and no hits",
            f"{100 * used / seconds:.3f} % of a CPU",
            wanted="under 0.1 %",
        )
        row("its memory", f"{resident_mib(daemon.process.pid):.1f} MiB", wanted="under 40 MB")


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
            "runs counted of those made in 10 s by two threads",
            f"{counted:,} of {sent:,}" + (f"; {event['lost']:,} lost" if event["lost"] else ""),
            ratio=f"{(counted + event['lost']) / sent:.6g}",
            wanted="1",
        )
        row("runs a second", f"{sent / 10:,.0f}")


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
        "from a deadline until it is noticed: median of 21 (worst)",
        f"{statistics.median(late) / 1e3:.0f} ({max(late) / 1e3:,.0f}) µs",
        wanted="at most 2 ms",
    )
    row(
        "from the breach until the recording begins: median",
        f"{statistics.median(begin) / 1e3:.0f} µs",
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


def bench_capture():
    """A capture of 4 s under load: loss of throughput, size and merge time, against perf doing
    the same."""
    capture.bench_capture(row)


def bench_recording():
    """Cost of a recording of 1 s while 100 processes sleep and nothing else runs."""
    capture.bench_recording(row)


def bench_merge():
    """How the merge time grows with the length of the capture. It runs at low priority, so here
    on an idle machine."""
    capture.bench_merge(row)


def bench_stacks():
    """Call stacks: how many are complete and correct, and what they cost."""
    stacks.bench(row)


def bench_names():
    """Functions, inlined functions and lines of a program with 200 MB of debug information."""
    names.bench(row)


def bench_server():
    """The server: uploads, runs, a page over many runs, causes over many hosts."""
    server.bench(row)


def bench_scale():
    """The server under 1,000 machines for six minutes, with PostgreSQL and S3: what it accepts,
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
    """Each call of a function with everything it calls: cost, speed, and accuracy of times."""
    calls.bench(row)


def bench_objects():
    """Objects across an interface: what one costs the program."""
    objects.bench(row)


def bench_arming():
    """Many events on one large library, until they are watched and until they are not."""
    arming.bench(row)


def bench_functions():
    """All functions of a program at a bounded cost: bytes, slow-down and counts compared with
    other tracers."""
    functions.bench(row)


BENCHES = {
    "marker": bench_marker,
    "count": bench_count,
    "switches": bench_switches,
    "before": bench_before,
    "idle": bench_idle,
    "breach": bench_breach,
    "capture": bench_capture,
    "recording": bench_recording,
    "merge": bench_merge,
    "stacks": bench_stacks,
    "names": bench_names,
    "arming": bench_arming,
    "functions": bench_functions,
    "calls": bench_calls,
    "objects": bench_objects,
    "server": bench_server,
    "scale": bench_scale,
}


def list_benchmarks():
    for name, bench in BENCHES.items():
        print(
            textwrap.fill(
                " ".join(bench.__doc__.split()),
                98,
                initial_indent=f"  {name:11}",
                subsequent_indent=" " * 13,
            )
        )


def options():
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Builds for release, runs the benchmarks, and prints each figure "
        "beside that of its peer, measured in the same run.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks to run; all by default"
    )
    parser.add_argument(
        "--write", action="store_true", help="replace their tables in docs/performance.md"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks and run none")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in BENCHES:
            parser.error(f"unknown benchmark \"{name}\"; known: {', '.join(BENCHES)}")
    missing = set(chosen.names or BENCHES) - set(
        document.blocks(document.DOCUMENT.read_text(encoding="utf-8"))
    )
    if chosen.write and missing:
        parser.error(
            f"docs/performance.md has no table for {', '.join(sorted(missing))}; "
            "add <!-- bench: NAME --> and <!-- end --> there"
        )
    return chosen


def main():
    chosen, measured = options(), []
    if chosen.list:
        list_benchmarks()
        return
    for name in chosen.names or BENCHES:
        busy = document.busy_percent()
        print(f"{name}: {' '.join(BENCHES[name].__doc__.split())}", flush=True)
        BENCHES[name]()
        if chosen.write:
            document.write(name, rows, busy)
        measured += rows
        rows.clear()
    print(f"\n{document.table(measured)}")


if __name__ == "__main__":
    main()
