"""Benchmarks of the history before a breach, and of its cost while nothing is slow."""

import pathlib
import re
import statistics
import subprocess

from lagtrap_test import BURST, PLANTED, Daemon, Watched, check, library_event, report, wait_for

from test_postgresql import BIN, Postgres

KINDS = ("sleep", "cpu", "lock")
SLOW_MS = (55, 60, 80, 150, 500, 5000)
NOTHING_BEFORE = '<history length="0s" early-share="0%" times="no"/>'
SWITCHES = 1_000_000
ROUNDS = 5


def unknown_share(kind, slow_ms, breach, more):
    with Daemon(
        library_event("work", PLANTED, "50ms", "200ms", attributes=f'breach="{breach}"'), more=more
    ) as daemon:
        with Watched(
            PLANTED, "--kind", kind, "--fast", 50, "--gap-us", 1000, "--slow-ms", slow_ms, "--wait"
        ) as program:
            program.go().result()
        delay = max(
            report(daemon.wait_for_bundles(1)[0])["delays"], key=lambda one: one["duration_ns"]
        )
    split = delay["split"]
    return (
        split["not_recorded_ns"] / split["wall_ns"],
        sum(split["without_stacks"].values()) / split["wall_ns"],
    )


def bench_unknown(row):
    for breach in ("deadline", "end"):
        known = {
            slow_ms: [unknown_share(kind, slow_ms, breach, "") for kind in KINDS]
            for slow_ms in SLOW_MS
        }
        bare = [unknown_share(kind, 60, breach, NOTHING_BEFORE)[0] for kind in KINDS]
        worst = max(share for shares in known.values() for share, _ in shares)
        by_class = max(share for shares in known.values() for _, share in shares)
        row(
            "unknown time of a delay noticed "
            f"{'by its deadline' if breach == 'deadline' else 'at its end'}: worst of {len(KINDS)} "
            f"kinds, {SLOW_MS[0]} ms to {SLOW_MS[-1] // 1000} s",
            f"{100 * worst:.2f} %",
            f"60 ms, recorded from the breach on: {100 * min(bare):.0f} to {100 * max(bare):.0f} %",
            wanted="under 1 %",
        )
        row("the same, known without stacks: worst", f"{100 * by_class:.1f} %")


def switch_ns(*around):
    """CPU time of one switch between two processes on one CPU."""
    told = subprocess.run(
        [
            "taskset",
            "-c",
            "1",
            "perf",
            "stat",
            "-x,",
            "-e",
            "task-clock",
            *around,
            "perf",
            "bench",
            "sched",
            "pipe",
            "-l",
            str(SWITCHES // 2),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Total time: ([0-9.]+) \[sec\]", told.stdout)
    clock = re.search(r"^([0-9.]+),", told.stderr, re.MULTILINE)
    check(found and clock, f"perf says {told.stdout} {told.stderr}")
    return float(clock.group(1)) * 1e6 / SWITCHES


def bench_switches(row):
    """Rounds alternate, so that other load affects all of them alike."""
    event = library_event("tick", BURST, "10s")
    alone, counted, whole, recorded = [], [], [], []
    for _ in range(ROUNDS):
        alone.append(switch_ns())
        with Daemon(event, more='<history length="0s" early-share="0%"/>'):
            counted.append(switch_ns())
        with Daemon(event):
            whole.append(switch_ns())
        recorded.append(switch_ns("perf", "sched", "record", "-o", "/dev/null", "--"))
    base, times, ours, theirs = (
        statistics.median(one) for one in (alone, counted, whole, recorded)
    )
    for what, cost in (
        ("run times", times - base),
        ("run times, history and early recordings", ours - base),
    ):
        row(
            f"context switch and wakeup of a thread in no run: {what}",
            f"{cost:.0f} ns",
            f"`perf sched record`: {theirs - base:.0f} ns",
            f"{cost / (theirs - base):.2f}",
        )
        row(
            "the same at 100,000 switches a second",
            f"{100 * cost * 1e5 / 1e9:.2f} % of a CPU",
            f"`perf sched record`: {100 * (theirs - base) * 1e5 / 1e9:.1f} %",
            wanted="at most 1 %",
        )


QUERY = (
    f'<event name="query" threshold="10s" trace-length="1s" binary="{BIN}/postgres">'
    '<begin usdt="postgresql:query__start"/><end usdt="postgresql:query__done"/></event>'
)
QUERY_SCRIPT = (
    "usdt:{0}:postgresql:query__start {{ if (@start[tid]) {{ @unmatched_begins = count(); }} "
    "@start[tid] = nsecs; }} "
    "usdt:{0}:postgresql:query__done {{ if (@start[tid]) {{ $duration = nsecs - @start[tid]; "
    "@duration = hist($duration); "
    "@longest = max($duration); if ($duration > 10000000000) {{ @delays = count(); "
    'printf("delay %d\\n", tid); }} '
    "delete(@start[tid]); }} else {{ @unmatched_ends = count(); }} }}"
)


def queries_a_second(postgres):
    told = postgres.run(
        BIN / "pgbench", "-h", postgres.folder, "-n", "-S", "-c", 2, "-T", 5, "postgres"
    )
    return float(re.search(r"tps = ([0-9.]+)", told).group(1))


def bench_queries(row, bpftrace, empty_pair):
    """pgbench -S, where each query is an event with two markers."""
    alone, floor, bare, ours, theirs = [], [], [], [], []
    with Postgres() as postgres:
        queries_a_second(postgres)
        for _ in range(ROUNDS):
            alone.append(queries_a_second(postgres))
            with empty_pair("clock", BIN / "postgres", ("query__start", "query__done")):
                floor.append(queries_a_second(postgres))
            with Daemon(QUERY, more=NOTHING_BEFORE) as daemon:
                bare.append(queries_a_second(postgres))
                check(daemon.event("query")["runs"] > 1000, "no queries were seen")
            with Daemon(QUERY) as daemon:
                ours.append(queries_a_second(postgres))
                check(daemon.event("query")["runs"] > 1000, "no queries were seen")
            with bpftrace(QUERY_SCRIPT, BIN / "postgres"):
                theirs.append(queries_a_second(postgres))

    def lost(rates):
        """The median of each round's own loss, because the machine changes from round to round."""
        return statistics.median(
            100 * (1 - rate / base) for rate, base in zip(rates, alone, strict=True)
        )

    peer = f"bpftrace, same work: {lost(theirs):.1f} %"
    row(
        "pgbench -S slowdown by programs that only read marker, clock and thread",
        f"{lost(floor):.1f} %",
        peer,
        f"{lost(floor) / lost(theirs):.2f}",
    )
    row(
        f"the same, each of {statistics.median(alone):,.0f} queries a second an event, "
        "markers only",
        f"{lost(bare):.1f} %",
        peer,
        f"{lost(bare) / lost(theirs):.2f}",
        "at most 8 %",
    )
    row(
        "the same with run times, history and early recordings",
        f"{lost(ours):.1f} %",
        peer,
        f"{lost(ours) / lost(theirs):.2f}",
        "at most 10 %",
    )


def bench_pair(row, pair_ns):
    """A pair of markers, with and without counting where the time of runs goes."""
    without, counted = [], []
    for _ in range(ROUNDS):
        with Daemon(library_event("tick", BURST, "10s"), more=NOTHING_BEFORE):
            without.append(pair_ns())
        with Daemon(library_event("tick", BURST, "10s")):
            counted.append(pair_ns())
    more = statistics.median(
        100 * (one / other - 1) for one, other in zip(counted, without, strict=True)
    )
    row(
        "marker pair with run times, against without",
        f"{statistics.median(counted):.0f} ns",
        f"{statistics.median(without):.0f} ns",
        f"{1 + more / 100:.3f}",
        "at most 1.15",
    )


def wakes_from_idle(seconds):
    """How often per second a thread was started on an idle CPU of the machine."""
    done = subprocess.run(
        [
            "perf",
            "stat",
            "-a",
            "-x,",
            "-e",
            "sched:sched_switch",
            "--filter",
            "prev_pid==0",
            "sleep",
            str(seconds),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stderr.split(",")[0]) / seconds


def own_wakes(pid):
    """How often the process's threads blocked voluntarily."""
    return sum(
        int(
            re.search(
                r"^voluntary_ctxt_switches:\s+(\d+)",
                task.joinpath("status").read_text(),
                re.MULTILINE,
            )[1]
        )
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
    )


def bench_idle(row, cpu_seconds):
    seconds = 20
    found = {}
    for what, more in (("with", ""), ("without", NOTHING_BEFORE)):
        with Daemon(library_event("tick", BURST, "50ms"), more=more) as daemon:
            wait_for(
                lambda daemon=daemon: daemon.status()["unwinder"]["tables_waiting"] == 0, "tables"
            )
            pid = daemon.process.pid
            cpu, wakes = cpu_seconds(pid), own_wakes(pid)
            machine = wakes_from_idle(seconds)
            found[what] = (
                100 * (cpu_seconds(pid) - cpu) / seconds,
                (own_wakes(pid) - wakes) / seconds,
                machine,
            )
    (cpu, wakes, machine), (bare_cpu, bare_wakes, bare_machine) = found["with"], found["without"]
    row(
        "daemon while nothing is slow",
        f"{cpu:.3f} % of a CPU",
        f"without history and run times: {bare_cpu:.3f} %",
        wanted="at most 0.1 % more",
    )
    row("its wakeups a second", f"{wakes:.1f}", f"without: {bare_wakes:.1f}")
    row(
        "wakeups of idle CPUs a second, whole machine",
        f"{machine:.0f}",
        f"without: {bare_machine:.0f}",
        f"{machine / bare_machine:.2f}",
        "no more",
    )
