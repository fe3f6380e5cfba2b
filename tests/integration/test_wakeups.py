"""Causes of wakeups on a machine whose CPUs are all busy: timers and devices then interrupt
unrelated programs, none of which may be named."""

import contextlib
import os
import pathlib
import re
import subprocess

from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    Watched,
    check,
    check_trace,
    library_event,
    report,
    run,
    wait_for,
)

WAITS = PROGRAMS / "waits"
WAIT_MS = 1000  # the recording begins within it, even on a machine that is otherwise busy


@contextlib.contextmanager
def busy_cpus():
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count()):
            stack.enter_context(Watched(WAITS, "spin"))
        yield


@contextlib.contextmanager
def recorder():
    """Returns a function that records one wait of a kind: its delay in the report, and the
    report's text."""
    with Daemon(library_event("work", WAITS, "50ms", "1200ms")) as daemon:
        known = set()

        def record(kind, *arguments):
            wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait")
            # Not while the recording is merged: a merge has the lowest priority, and would take
            # twenty times as long.
            with busy_cpus(), Watched(WAITS, kind, WAIT_MS, *arguments) as program:
                waited_ns = program.go().result()["waited_ns"]
                daemon.wait_until_recorded()
            (bundle,) = set(daemon.wait_for_bundles(len(known) + 1)) - known
            known.add(bundle)
            check_trace(bundle)
            (delay,) = report(bundle)["delays"]
            check(delay["thread"] == "waiter", f"the delay is of {delay['thread']}")
            check(0.8 * WAIT_MS * 1e6 <= waited_ns, f"{kind} waited {waited_ns} ns")
            check(delay["wakers"], f"nobody ended the wait of {kind}")
            text = subprocess.run(
                [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
            ).stdout
            return delay, text

        yield record


def check_nobody_named(delay, cause, kind):
    longest = delay["wakers"][0]
    check(
        longest["cause"] == cause and longest["interrupt"],
        f"{kind}: ended by {longest}, not by a {cause}",
    )
    named = [waker for waker in delay["wakers"] if waker["thread"]]
    check(not named, f"{kind}: named {[waker['thread'] for waker in named]}")


def timeouts():
    with recorder() as record:
        for kind in ("cond", "poll", "epoll", "receive"):
            delay, text = record(kind)
            check_nobody_named(delay, "timeout", kind)
            check(
                re.search(r"1 wait of .* timed out", text),
                f"{kind}: the report does not say so:\n{text}",
            )
            check(
                delay["wakers"][0]["longest_ns"] <= delay["duration_ns"],
                f"{kind}: {delay['wakers'][0]}",
            )


def timers():
    """A timer that ends a wait without being its timeout."""
    with recorder() as record:
        delay, text = record("timerfd")
        check_nobody_named(delay, "timer", "timerfd")
        check("a timer ended 1 wait" in text, f"the report does not say so:\n{text}")


def threads():
    """Another thread of the program, through each of the ways in which threads wake one another."""
    with recorder() as record:
        for kind in ("futex", "pipe", "unix", "eventfd", "tcp", "udp"):
            delay, _ = record(kind)
            check(
                delay["wakers"][0]["thread"] == "partner", f"{kind}: ended by {delay['wakers'][0]}"
            )
            named = {waker["thread"] for waker in delay["wakers"]} - {"", "partner"}
            check(not named, f"{kind}: named {named}")


def without_descriptors():
    """A sleep in select, and what a thread opens or connects to, which has no descriptor yet."""
    path = r"/tmp/lagtrap-waits-\d+"
    with recorder() as record:
        for kind, words in (
            ("select", "Slept "),
            ("fifo", f"for somebody to open the other end of the pipe {path} "),
            ("connect", f"to connect to the local socket {path}, whose accept queue was full, "),
        ):
            _, text = record(kind)
            check(re.search(words, " ".join(text.split())), f"{kind}: the report says:\n{text}")


def kills():
    """Whoever kills a waiting program ends its wait, but did not hold it up."""
    with Daemon(library_event("work", WAITS, "50ms", "1200ms")) as daemon:
        with Watched(WAITS, "pipe", 60000) as program:
            program.go()
            wait_for(lambda: daemon.status()["state"] == "recording", "the recording to begin")
            program.process.kill()
            daemon.wait_until_recorded()
        (bundle,) = daemon.wait_for_bundles(1)
        check_trace(bundle)
        text = " ".join(
            subprocess.run(
                [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
            ).stdout.split()
        )
        check(
            re.search(rf"on a pipe in [^.]*, until \S+ \({os.getpid()}\b[^)]*\) killed it\.", text),
            f"the report does not say so:\n{text}",
        )


@contextlib.contextmanager
def quota_group(quota_us, period_us):
    """A control group with a CPU quota: returns a function that moves a process into it, and one
    that gives how long its threads were throttled, by the kernel's count."""
    old = pathlib.Path("/sys/fs/cgroup/cpu")  # version 1 of control groups
    group = (
        old if old.is_dir() else pathlib.Path("/sys/fs/cgroup")
    ) / f"lagtrap-test-{os.getpid()}"
    if not old.is_dir():
        (group.parent / "cgroup.subtree_control").write_text("+cpu")
    group.mkdir()
    try:
        if old.is_dir():
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")

        def throttled_ns():
            counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
            return (
                int(counts["throttled_time"])
                if "throttled_time" in counts
                else int(counts["throttled_usec"]) * 1000
            )

        yield lambda pid: (group / "cgroup.procs").write_text(str(pid)), throttled_ns
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "the control group to be empty")
        group.rmdir()


def quota():
    """A program whose control group has used up its CPU quota is distinguished from one that
    waits for others to leave the CPU."""
    with quota_group(20000, 100000) as (join, throttled_ns), Daemon(
        library_event("work", WAITS, "50ms", "300ms")
    ) as daemon:
        with Watched(WAITS, "burn", 200) as program:
            join(program.process.pid)
            program.go().result()
        (bundle,) = daemon.wait_for_bundles(1)
        check_trace(bundle)
        (delay,) = report(bundle)["delays"]
        split = delay["split"]
        # The kernel also counted time before the recording and, at the quota's end, the rest of the
        # period.
        unrecorded_ns = delay["duration_ns"] - (split["wall_ns"] - split["not_recorded_ns"]) + 100e6
        counted_ns = throttled_ns()
        check(split["throttled_ns"] <= split["runnable_ns"], f"split {split}")
        check(
            counted_ns - unrecorded_ns <= split["throttled_ns"] <= counted_ns + 100e6,
            f"throttled for {split['throttled_ns']} ns; "
            f"the kernel counted {counted_ns}, of it {unrecorded_ns} unrecorded at most",
        )
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        check("CPU quota" in text, f"the report does not name the quota:\n{text}")


if __name__ == "__main__":
    run(timeouts, timers, threads, without_descriptors, kills, quota)
