"""Unusual conditions of a machine: the clock is set, process numbers are reused, thousands of
processes, a storm of forks. The daemon continues, and its output stays true."""

import contextlib
import ctypes
import os
import pathlib
import resource
import signal
import subprocess
import time

from lagtrap_test import (
    PLANTED,
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

WATCHED = PROGRAMS / "faults" / "watched"
PROCESSES = PROGRAMS / "faults" / "processes"


def runs_of(daemon, event):
    return sum(bucket["count"] for bucket in daemon.event(event)["histogram"])


def one_capture(daemon, *options, prefix=(), during=None):
    """A slow run and its bundle: returns the program's output and the report, after checking
    their times against each other."""
    count = daemon.status()["captures"]["done"]
    wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait", 120)
    with Watched(
        *prefix, PLANTED, "--kind", "sleep", "--fast", 10, "--slow-ms", 400, "--wait", *options
    ) as program:
        program.go()
        if during:
            during()
        told = program.result()
    before = set(daemon.bundles())
    bundles = daemon.wait_for_bundles(count + 1, 300)
    bundle = max(bundles, key=lambda path: path.stat().st_mtime)
    check(
        len(bundles) == count + 1,
        f"{len(bundles)} bundles after {count + 1} captures, {len(before)} before",
    )
    check_trace(bundle)
    found = report(bundle)
    first = next(delay for delay in found["delays"] if delay["first"])
    check(
        told["slow_inner_ns"] <= first["duration_ns"] <= told["slow_outer_ns"],
        f"{first['duration_ns']} ns, the program says {told['slow_inner_ns']} to "
        f"{told['slow_outer_ns']}",
    )
    return told, found


def work_event(trace_length="1s"):
    return library_event("work", PLANTED, "100ms", trace_length)


@contextlib.contextmanager
def clock_set_by(nanoseconds):
    """Steps the wall clock, and sets it back to the time it would have had."""
    moved = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    try:
        time.clock_settime_ns(
            time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_MONOTONIC) + moved + nanoseconds
        )
        yield
    finally:
        time.clock_settime_ns(
            time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_MONOTONIC) + moved
        )


def clock_is_set():
    """Two seconds forward during a slow run, and back: its duration stays the same."""
    try:
        with clock_set_by(0):
            pass
    except PermissionError as refused:
        print(
            f"        the clock cannot be set here ({refused}); "
            "the unit tests of clock jumps have to do"
        )
        return

    def step():
        with clock_set_by(2_000_000_000):
            wait_for(lambda: daemon.status()["state"] != "waiting", "the capture to begin")

    with Daemon(work_event()) as daemon:
        one_capture(daemon, during=step)
        one_capture(daemon)


class CloneArguments(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "flags",
            "pidfd",
            "child_tid",
            "parent_tid",
            "exit_signal",
            "stack",
            "stack_size",
            "tls",
            "set_tid",
            "set_tid_size",
            "cgroup",
        )
    ]


def start_as(pid, *command):
    """A process with exactly this number; None if another has it."""
    number = ctypes.c_int32(pid)
    arguments = CloneArguments(
        exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(number), set_tid_size=1
    )
    words = [os.fsencode(word) for word in command]
    output, theirs = os.pipe()
    child = ctypes.CDLL(None, use_errno=True).syscall(
        435, ctypes.byref(arguments), ctypes.sizeof(arguments)
    )
    if child == 0:
        os.dup2(theirs, 1)
        os.execv(words[0], words)
    os.close(theirs)
    if child < 0:
        os.close(output)
        return None
    with open(output) as text:
        printed = text.read()
    _, status = os.waitpid(child, 0)
    check(child == pid, f"number {child} instead of {pid}")
    return printed, os.waitstatus_to_exitcode(status)


def process_number_comes_again():
    """A run of a dead process is neither ended by another process with the same number, nor in
    the way of that process's runs."""
    with Daemon(library_event("step", WATCHED, "10s")) as daemon:
        for what, begun, unmatched in (("end", 0, 1), ("again", 3, 0)):
            before, event = runs_of(daemon, "step"), daemon.event("step")
            with subprocess.Popen(
                [WATCHED, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as first:
                first.stdin.write(b"go\n")
                first.stdin.flush()
                while b"in a run" not in first.stdout.readline():
                    pass
                first.kill()
            second = start_as(first.pid, WATCHED, what)
            check(
                second is not None,
                f"process {first.pid} could not be started again: "
                f"{os.strerror(ctypes.get_errno())}",
            )
            now = daemon.event("step")
            check(
                runs_of(daemon, "step") - before == begun,
                f"{what}: {runs_of(daemon, 'step') - before} runs instead of {begun}",
            )
            check(now["unmatched_ends"] - event["unmatched_ends"] == unmatched, f"{what}: {now}")
            wait_for(lambda: daemon.event("step")["open"] == 0, "the dead one's run to be given up")
            check(
                daemon.event("step")["abandoned"] == event["abandoned"] + 1,
                f"{daemon.event('step')}",
            )


@contextlib.contextmanager
def many_processes(what, count, **options):
    """Runs the program "processes" in its own group; it and everything it started are gone
    afterwards."""
    program = subprocess.Popen(
        [PROCESSES, what, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )
    try:
        yield program.stdout.readline().strip()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        program.stdin.close()
        program.stdout.close()


def ten_thousand_processes():
    with many_processes("sleep", 10_000) as started:
        check(int(started) > 1000, f"only {started} processes could be started")
        began = time.monotonic()
        with Daemon(work_event("500ms")) as daemon:
            ready = time.monotonic()
            _, found = one_capture(daemon)
            resident = (
                int(pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1]) * 4096
            )
            print(
                f"        {started} processes: ready after {ready - began:.1f} s, bundle after "
                f"{time.monotonic() - ready:.1f} s, {resident >> 20} MiB resident"
            )


def storm_of_forks():
    """Another user's processes, started and ended as fast as possible, as many at once as its
    limit allows."""

    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))

    programs = dict(user=54323, group=54323, extra_groups=[], preexec_fn=limit, cwd="/")
    PROCESSES.chmod(0o755)
    with Daemon(work_event()) as daemon, many_processes("storm", 256, **programs) as said:
        check(said == "ready", f"the storm did not begin: {said!r}")
        _, found = one_capture(daemon)
        print(f"        recorded in the storm: {found.get('quality')}")
        one_capture(daemon)


if __name__ == "__main__":
    run(process_number_comes_again, clock_is_set, ten_thousand_processes, storm_of_forks)
