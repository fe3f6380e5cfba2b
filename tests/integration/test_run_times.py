"""Where the time of runs went, according to their batches: by class of wait, for runs keyed by
thread and by value."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from lagtrap_test import PROGRAMS, Daemon, Watched, check, library_event, run, skip, wait_for
from run_batches import read_spool
from test_wakeups import quota_group

WAITS = PROGRAMS / "waits_by_class"
ALL = '<runs batch-interval="100ms" limit-per-second="100000"/>'
EVENTS = library_event("timed", WAITS, "60s", attributes='record="runs"') + library_event(
    "passed",
    WAITS,
    "60s",
    stages=("compute", "rest", "prepared", "received"),
    more="<key/>",
    attributes='record="runs"',
)
MS = 1_000_000


def timed_daemon():
    return Daemon(EVENTS, more=ALL)


def runs_of(daemon, event, count=1):
    """The event's runs received so far, in the order of their ends; at least `count`."""

    def told():
        return [
            one
            for batch in read_spool(daemon.spool)
            for one in batch["runs"]
            if one["event"] == event and not one["aborted"]
        ]

    wait_for(lambda: len(told()) >= count, f"{count} runs of {event}")
    return told()


def run_of(kind, number, event="timed"):
    with timed_daemon() as daemon:
        with Watched(WAITS, kind, number) as program:
            said = program.go().result()
        one = runs_of(daemon, event)[0]
    check_whole(one, f"{kind} {number}")
    return one, said


def check_whole(one, what):
    """The parts add up to the whole run, within 10 microseconds or a thousandth."""
    check(one["times"], f"{what}: the time was not counted: {one}")
    missing = one["duration_ns"] - one["times"]["all_ns"]
    check(
        0 <= missing <= max(10_000, one["duration_ns"] // 1000),
        f"{what}: {missing} ns of {one['duration_ns']} are missing: {one['times']}",
    )


def computed_ns(times):
    """At least the thread's own clock, which may start before others' programs at the switch are
    done."""
    return times["on_cpu_ns"] + times["runnable_ns"] - times["throttled_ns"]


def check_class(kind, number, wait_class, least_ns):
    one, _ = run_of(kind, number)
    blocked = one["times"]["blocked"]
    check(
        blocked.get(wait_class, 0) >= least_ns,
        f"{kind}: {least_ns} ns of {wait_class} at least, not {blocked}",
    )
    check(
        max(blocked, key=blocked.get) == wait_class, f"{kind}: most is {wait_class}, not {blocked}"
    )


@contextlib.contextmanager
def freezer_group():
    """A control group: returns a function that moves a process into it, and one that freezes or
    thaws it."""
    roots = [
        root
        for root in (pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/unified"))
        if (root / "cgroup.controllers").exists()
    ]
    if not roots:
        skip("no control groups of version 2 are mounted")
    group = roots[0] / f"lagtrap-freezer-{os.getpid()}"
    group.mkdir()

    def freeze(frozen):
        (group / "cgroup.freeze").write_text(str(int(frozen)))
        wait_for(
            lambda: f"frozen {int(frozen)}" in (group / "cgroup.events").read_text(),
            f"frozen {frozen}",
        )

    try:
        yield lambda pid: (group / "cgroup.procs").write_text(str(pid)), freeze
    finally:
        freeze(False)
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "the control group to be empty")
        group.rmdir()


def waits_have_their_class():
    check_class("sleep", 60, "sleep", 60 * MS)
    check_class("stop", 80, "stopped", 80 * MS)
    check_class("page", 50, "page-fault", 50 * MS)


def runs_32_bit_calls():
    """Whether getpid() of 32-bit code works. Some virtual machines kill such a program, whatever
    their kernel's configuration."""
    source = (
        'int main(void) { long pid; __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : '
        '"memory"); return pid <= 0; }'
    )
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "getpid"
        subprocess.run(["cc", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
        return subprocess.run([program]).returncode == 0


def a_system_call_of_32_bit_code_is_of_no_class():
    """Its number means another call in 64-bit code: that of nanosleep() is sync() there."""
    if not runs_32_bit_calls():
        print("this machine runs no system calls of 32-bit code: not looked at")
        return
    check_class("old-call", 70, "other", 70 * MS)


def reads_of_a_disk_are_told():
    with timed_daemon() as daemon:
        folder = pathlib.Path("/var/tmp")
        with Watched(WAITS, "disk", folder) as program:
            program.go().result()
        one = runs_of(daemon, "timed")[0]
    check_whole(one, "disk")
    blocked = one["times"]["blocked"]
    check(
        blocked.get("disk", 0) >= 0.8 * sum(blocked.values()) > 0,
        f"64 MiB past the cache are waits for a disk: {one['times']}",
    )


def the_quota_of_a_control_group_is_told():
    """As much as the kernel itself counts, except for time after the end of the run, until the
    period's end."""
    period_us = 100_000
    # Before others, so that it uses up its quota in each period.
    first = ("nice", "-n", "-15")
    with quota_group(20_000, period_us) as (join, throttled_ns), timed_daemon() as daemon:
        with Watched(*first, WAITS, "burn", 90) as program:
            join(program.process.pid)
            program.go().result()
        counted_ns = throttled_ns()
        one = runs_of(daemon, "timed")[0]
    check_whole(one, "quota")
    times = one["times"]
    least_ns = counted_ns - period_us * 1000
    check(0 < least_ns <= times["throttled_ns"], f"the kernel counted {counted_ns}: {times}")
    check(
        times["throttled_ns"] <= times["runnable_ns"] and computed_ns(times) >= 90 * MS, f"{times}"
    )


def a_frozen_control_group_is_told():
    """A sleep of 100 ms in a group that stays frozen until long after: the time after the
    sleep's end is the freezer's."""
    with freezer_group() as (join, freeze), timed_daemon() as daemon:
        with Watched(WAITS, "sleep", 100) as program:
            join(program.process.pid)
            program.go()
            wait_for(lambda: daemon.event("timed")["open"] == 1, "the run to be open")
            freeze(True)
            frozen_ns = time.monotonic_ns()
            wait_for(lambda: time.monotonic_ns() > frozen_ns + 500 * MS, "half a second")
            freeze(False)
            program.result()
        one = runs_of(daemon, "timed")[0]
    check_whole(one, "frozen")
    blocked = one["times"]["blocked"]
    check(blocked.get("stopped", 0) >= 500 * MS, f"it was frozen for half a second: {one['times']}")
    check(blocked.get("sleep", 0) <= one["duration_ns"] - 500 * MS, f"{one['times']}")


def who_leaves_a_run_open_harms_no_other():
    for how in ("exit", "exec", "kill"):
        with timed_daemon() as daemon:
            with Watched(WAITS, how) as program:
                program.go().result()
            # After exec the new program makes a run of its own.
            ended = 21 if how == "exec" else 20
            for one in runs_of(daemon, "timed", ended):
                check_whole(one, how)
            wait_for(
                lambda: daemon.event("timed")["abandoned"] == 1,
                "the run that was left to be given up",
            )
            timed = daemon.event("timed")["timed"]
            check(timed["left_out"] == 0, f"{how}: {timed}")


def nested_runs_have_each_their_own():
    with timed_daemon() as daemon:
        with Watched(WAITS, "nested", 20) as program:
            program.go().result()
        inner, outer = sorted(runs_of(daemon, "timed", 2), key=lambda one: one["duration_ns"])
    for one, sleeps in ((inner, 1), (outer, 3)):
        check_whole(one, "nested")
        asleep_ns = one["times"]["blocked"]["sleep"]
        check(asleep_ns >= sleeps * 20 * MS, f"{sleeps} sleeps of 20 ms: {one['times']}")
    check(
        outer["times"]["blocked"]["sleep"] >= inner["times"]["blocked"]["sleep"] + 40 * MS,
        f"{outer['times']}",
    )


def more_threads_than_the_table_holds():
    """9,000 threads with an open run each: those that do not fit in the table are counted, and
    nothing else is claimed about them. On a busy machine, some of the runs are lost on the way, and
    counted."""
    threads = 9000
    with timed_daemon() as daemon:
        with Watched(WAITS, "crowd", threads) as program:
            program.go().result()
        status = daemon.event("timed")
        check(
            status["runs"] + status["lost"] == threads,
            f"{status['runs']} runs and {status['lost']} lost of {threads}",
        )
        check(status["timed"]["left_out"] > 0, f"{status['timed']}")
        batches = lambda: read_spool(daemon.spool)
        lost_in = lambda batch: batch.get("runs_lost", 0)
        told = lambda: sum(len(batch["runs"]) + lost_in(batch) for batch in batches())
        wait_for(lambda: told() == status["runs"], f"{status['runs']} runs, received or lost")
        lost = sum(map(lost_in, batches()))
        runs = runs_of(daemon, "timed", status["runs"] - lost)
    without = [one for one in runs if not one["times"]]
    left_out = status["timed"]["left_out"]
    check(
        len(without) <= left_out <= len(without) + lost,
        f"{len(without)} without times, {left_out} left out, {lost} lost",
    )
    check(len(without) < len(runs) // 2, f"{len(without)} of {len(runs)} have no times")
    for one in runs:
        if one["times"]:
            check_whole(one, "crowd")


def a_value_followed_by_one_thread_is_known_whole():
    one, _ = run_of("one-thread", 30, "passed")
    times = one["times"]
    check([stage["name"] for stage in one["stages"]] == ["compute", "rest"], f"{one['stages']}")
    check(times["handed_over_ns"] == 0, f"{times}")
    check(times["blocked"]["sleep"] >= 60 * MS and computed_ns(times) >= 30 * MS, f"{times}")


def a_value_handed_over_is_known_between_the_markers_of_each_thread():
    one, _ = run_of("two-threads", 30, "passed")
    times = one["times"]
    prepared, received = one["stages"]
    check(prepared["tid"] == one["begin_tid"] != received["tid"] == one["end_tid"], f"{one}")
    check(
        times["handed_over_ns"] == received["at_ns"] - prepared["at_ns"] >= 30 * MS,
        f"{times}, {one['stages']}",
    )
    check(times["blocked"]["sleep"] >= 30 * MS, f"the first thread slept: {times}")
    check(
        times["blocked"]["sleep"] <= prepared["at_ns"],
        f"what the second slept before its first marker is not the run's: {times}",
    )
    check(computed_ns(times) >= 30 * MS, f"the second computed: {times}")


if __name__ == "__main__":
    run(
        waits_have_their_class,
        a_system_call_of_32_bit_code_is_of_no_class,
        reads_of_a_disk_are_told,
        the_quota_of_a_control_group_is_told,
        a_frozen_control_group_is_told,
        who_leaves_a_run_open_harms_no_other,
        nested_runs_have_each_their_own,
        more_threads_than_the_table_holds,
        a_value_followed_by_one_thread_is_known_whole,
        a_value_handed_over_is_known_between_the_markers_of_each_thread,
    )
