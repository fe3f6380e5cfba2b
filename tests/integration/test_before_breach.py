"""The part of a delay before the recording began: how long it ran, waited for a CPU, and was
blocked, and for what."""

import re
import subprocess

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
)

WAITS = PROGRAMS / "waits_by_class"
SCHEDULE = PROGRAMS / "schedule"

# These tests are about what only the counts know.
NO_HISTORY = '<history length="0s" early-share="0%"/>'


def delay_of(kind, slow_ms, attributes, threshold="50ms"):
    with Daemon(
        library_event("work", PLANTED, threshold, "200ms", attributes=attributes)
    ) as daemon:
        with Watched(
            PLANTED,
            "--kind",
            kind,
            "--fast",
            20,
            "--slow-ms",
            slow_ms,
            "--wait",
            "--directory",
            daemon.folder,
        ) as program:
            told = program.go().result()
        # On a machine that stalled, a fast run is a delay too.
        delays = report(daemon.wait_for_bundles(1)[0])["delays"]
        planted = [
            one
            for one in delays
            if told["slow_inner_ns"] <= one["duration_ns"] <= told["slow_outer_ns"]
        ]
        check(len(planted) == 1, f"{len(planted)} of {len(delays)} delays are the one of {told}")
        return planted[0]


def nothing_is_unknown():
    """For delays barely longer than the threshold, and for long ones, by the deadline and by the
    end."""
    reasons = {"sleep": "sleep", "lock": "lock (futex)"}
    for attributes in ('breach="deadline"', 'breach="end"'):
        for kind in ("sleep", "lock", "cpu"):
            for slow_ms in (60, 700):
                delay = delay_of(kind, slow_ms, attributes)
                split, what = delay["split"], f"{kind} of {slow_ms} ms, {attributes}"
                check(split["not_recorded_ns"] < 0.01 * split["wall_ns"], f"{what}: {split}")
                parts = (
                    split["on_cpu_ns"]
                    + split["runnable_ns"]
                    + split["blocked_ns"]
                    + split["not_recorded_ns"]
                )
                check(
                    parts == split["wall_ns"] == delay["duration_ns"],
                    f"{what}: the parts are {parts} of {split}",
                )
                if kind in reasons:
                    blocked = {one["reason"]: one["total_ns"] for one in split["blocked"]}
                    check(
                        blocked.get(reasons[kind], 0) > 0.9 * split["blocked_ns"] > 0,
                        f"{what}: blocked {blocked}",
                    )
                    check(split["blocked_ns"] > split["on_cpu_ns"], f"{what}: {split}")
                else:
                    check(split["on_cpu_ns"] > split["blocked_ns"], f"{what}: {split}")


def counts_agree_with_the_kernels_own():
    """Random steps in a run that is noticed only when it has ended, so all of it is known by
    counts. Clocks that the program reads around and between the markers are the bounds; the
    kernel's own exclude time in interrupts."""
    events = library_event(
        "schedule", SCHEDULE, "50ms", "100ms", attributes='breach="end"'
    ) + library_event(
        "valued",
        SCHEDULE,
        "50ms",
        "100ms",
        stages=("step",),
        more="<key/>",
        attributes='breach="end"',
    )
    seeds = [(seed, ()) for seed in range(6)] + [(seed, ("value",)) for seed in range(3)]
    with Daemon(
        events, recording='cool-down="0s" captures-per-hour="1000"', more=NO_HISTORY
    ) as daemon:
        for number, (seed, how) in enumerate(seeds, 1):
            with Watched(SCHEDULE, seed, *how) as program:
                told = program.go().result()
            delay = report(daemon.wait_for_newest_bundle(number))["delays"][0]
            split, what = delay["split"], f"seed {seed} {how}"
            check(
                split["wall_ns"] == delay["duration_ns"] and split["not_recorded_ns"] == 0,
                f"{what}: {split}",
            )
            slack_ns = 0.01 * split["wall_ns"]
            for part in ("on_cpu_ns", "runnable_ns"):
                least, most = told["inner"][part] - slack_ns, told["outer"][part] + slack_ns
                # Time that the host stole while the thread ran is not in the kernel's count. The
                # minimum of the other parts bounds it too, because they add up to the whole.
                most += told["stolen_ns"] if part == "on_cpu_ns" else 0
                check(
                    least <= split[part] <= most,
                    f"{what}: {part} is {split[part]}, not within {least} to {most}: {told}",
                )
            blocked = {one["reason"]: one["total_ns"] for one in split["blocked"]}
            for reason, planned_ns in told["planned_ns"].items():
                # A waiter that comes late to a lock finds less of the time left.
                least = planned_ns - (
                    slack_ns + told["outer"]["runnable_ns"] if reason == "lock (futex)" else 0
                )
                check(
                    blocked.get(reason, 0) >= least,
                    f"{what}: {reason} {blocked.get(reason, 0)} of {planned_ns}: {blocked}",
                )


def the_status_says_where_the_time_of_runs_goes():
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 20, "--slow-ms", 400, "--wait"
        ) as program:
            program.go().result()
        timed = daemon.event("work")["timed"]
        check(timed["left_out"] == 0, f"{timed}")
        blocked_ns = timed["ns"] - timed["on_cpu_ns"] - timed["runnable_ns"]
        check(blocked_ns > 0.9 * 390e6, f"a sleep of 400 ms is not seen: {timed}")
        status = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path], capture_output=True, text=True
        ).stdout
        check("on a CPU   for a CPU     blocked" in status, status)


def delays_are_counted_by_what_took_most_of_them():
    with Daemon(library_event("work", PLANTED, "50ms", "100ms"), more=NO_HISTORY) as daemon:
        for kind, slow_ms in (("sleep", 80), ("lock", 80), ("lock", 90), ("cpu", 300)):
            with Watched(
                PLANTED, "--kind", kind, "--fast", 5, "--slow-ms", slow_ms, "--wait"
            ) as program:
                program.go().result()
        event = daemon.event("work")
        mostly = event["delays_mostly"]
        # 6 is LAGTRAP_WAIT_SLEEP, 1 is LAGTRAP_WAIT_LOCK. On a busy machine more runs are slow,
        # because they wait for a CPU.
        computing = mostly["on_cpu"] + mostly["runnable"]
        check(
            mostly["blocked"][6] == 1
            and mostly["blocked"][1] == 2
            and computing == event["delays"] - 3 > 0,
            event,
        )
        status = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path], capture_output=True, text=True
        ).stdout
        check("delays mostly: lock (futex) 2, " in status, status)
        metrics = subprocess.run(
            [LAGTRAP, "metrics", "--socket", daemon.socket_path], capture_output=True, text=True
        ).stdout
        check(
            'lagtrap_event_delays_by_class_total{event="work",class="sleep"} 1' in metrics, metrics
        )


def report_of(event, *program):
    with Daemon(event, more=NO_HISTORY) as daemon:
        with Watched(*program) as watched:
            said = watched.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        (delay,) = report(bundle)["delays"]
    return delay, " ".join(text.split()), said


def who_ended_a_wait_before_the_recording_is_named():
    """Whether it is a thread of the program, or a process that was gone when the recording
    began."""
    event = library_event("timed", WAITS, "40ms", "100ms", attributes='breach="end"')
    for kind, did in (("stop", "resumed it"), ("page", "woke it")):
        delay, text, said = report_of(event, WAITS, kind, 60)
        waker = delay["wakers"][0]
        check(
            waker["tid"] not in (0, said["tid"]) and waker["thread"] == "waits_by_class",
            f"{kind}: {waker}",
        )
        check((waker["pid"] == said["tid"]) == (kind == "page"), f"{kind}: {waker} of {said}")
        check(waker["blocked_ns"] >= 60e6, f"{kind}: {waker}")
        check(f"until waits_by_class ({waker['tid']}) {did}" in text, f"{kind}: {text}")
        check("Woken by" in text and "was not recorded: no stack" in text, f"{kind}: {text}")
    delay, text, _ = report_of(event, WAITS, "sleep", 60)
    check(
        delay["wakers"][0]["interrupt"] and "until its timer expired" in text,
        f"{delay['wakers']}, {text}",
    )


def a_value_is_known_between_the_markers_of_each_thread():
    """Time between markers of two threads is handed over, and nothing else is unknown."""
    for breach in ("deadline", "end"):
        # Until the run ends, however long other programs hold it up.
        event = library_event(
            "passed",
            WAITS,
            "100ms",
            "200ms..10min",
            stages=("prepared", "received"),
            more="<key/>",
            attributes=f'breach="{breach}"',
        )
        delay, text, _ = report_of(event, WAITS, "two-threads", 60)
        split = delay["split"]
        check(split["wall_ns"] == delay["duration_ns"], f"{breach}: {split}")
        check(
            split["not_recorded_ns"] - split["between_threads_ns"] < 0.01 * split["wall_ns"],
            f"{breach}: {split}",
        )
        check(split["between_threads_ns"] >= 60e6, f"{breach}: {split}")
        blocked = {one["reason"]: one["total_ns"] for one in split["blocked"]}
        # CPU time by its own clock may count as waiting for the CPU here, if other programs run at
        # the switch.
        check(
            split["on_cpu_ns"] + split["runnable_ns"] >= 60e6 and blocked.get("sleep", 0) >= 60e6,
            f"{breach}: {split}",
        )
        # A program that was gone when the recording began has no known names.
        thread = r"(?:thread |\S+ \()(\d+)\)?"
        passed = re.search(
            f"passed from {thread} to {thread} between .* and .* after its begin", text
        )
        check(
            passed
            and [int(tid) for tid in passed.groups()] == [delay["begin_tid"], delay["end_tid"]],
            f"{breach}: {text}",
        )


if __name__ == "__main__":
    run(
        who_ended_a_wait_before_the_recording_is_named,
        a_value_is_known_between_the_markers_of_each_thread,
        nothing_is_unknown,
        counts_agree_with_the_kernels_own,
        delays_are_counted_by_what_took_most_of_them,
        the_status_says_where_the_time_of_runs_goes,
    )
