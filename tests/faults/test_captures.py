"""kill -9 and I/O errors at every step in which the daemon and its merge helper write a capture
and its bundle.

The programs provide the steps: the test logs one whole life of a capture, and then kills, and
injects an error, at each step passed. Everything that was begun must arrive at the server
exactly once, whatever happens in between.
"""

import collections
import sys

from fault_world import (
    ERRORS,
    LAGTRAPD,
    MERGE,
    RecordingDaemon,
    can_fail,
    check,
    check_all_arrived_once,
    passes_in,
    points_of,
    temporary_folder,
    wait_for,
)
from lagtrap_server import Server
from lagtrap_test import run

# Passed more often the longer the recording is: the first pass stands for all.
FIRST_PASS_ONLY = ("log.torn", "log.flushed")
# In a thread that walks the spool now and then; test_spool.py covers it.
ELSEWHERE = ("retention.",)
figures = collections.Counter()


def lives(daemon, log, count):
    """The steps of `count` captures, each in a separate daemon: of the daemon, and of the merge
    helper."""
    by_daemon, by_merge = [], []
    for _ in range(count):
        log.unlink(missing_ok=True)
        check(daemon.start_with(log=log), "the daemon did not start")
        armed = sum(passes_in(log)[daemon.process.pid].values()) if log.exists() else 0
        daemon.slow_run()
        wait_for(lambda: daemon.status()["captures"]["done"] == 1, "the bundle", 300)
        daemon.settle()
        passes = passes_in(log)
        of_daemon = passes.pop(daemon.process.pid)
        check(sum(of_daemon.values()) > armed, "no step of a capture was logged")
        of_merge = sum(passes.values(), collections.Counter())
        by_daemon.append(of_daemon)
        by_merge.append(of_merge)
        daemon.note_begun()
        daemon.stop()
    return (steps_in(by_daemon, "capture."), steps_in(by_merge, "merge."))


def steps_in(passes, wanted):
    """(name, number of the pass) of what every life has passed."""
    steps = []
    for name in sorted(set.intersection(*map(set, passes))):
        if name.startswith(ELSEWHERE):
            continue
        times = 1 if name.startswith(FIRST_PASS_ONLY) else min(counter[name] for counter in passes)
        steps += [(name, nth) for nth in range(1, min(times, 4) + 1)]
    check(
        any(name.startswith(wanted) for name, _ in steps),
        f"{wanted}* is not among the steps {steps}",
    )
    return steps


def check_none_forgotten(names):
    """Each fault point of these two programs was passed, except those for other programs' steps."""
    # tests/integration/test_merge.py covers merges that take too long, test_single_probes.py
    # kernels that lack something.
    others = ("spool.", "transfer.", "server.", "retention.", "renewal.", "kernel.")
    points = {point for program in (LAGTRAPD, MERGE) for point in points_of(program)}
    forgotten = sorted(
        point.name
        for point in points
        if not point.name.startswith(others) and not any(point.is_pass(name) for name in names)
    )
    check(not forgotten, f"no capture passes the fault points {forgotten}")
    return points


def die_in_the_daemon(daemon, steps):
    for name, nth in steps:
        came_up = daemon.start_with(f"{name}@{nth}:kill")
        if came_up:
            daemon.slow_run()
        wait_for(daemon.died, f"the daemon's death at {name}, pass {nth}")
        daemon.note_begun()
        daemon.note_cut_short()
        figures["daemon killed"] += 1
    check(daemon.start_with(), "the daemon did not start")
    daemon.settle()


def die_in_the_merge(daemon, steps):
    for name, nth in steps:
        done = daemon.status()["captures"]["done"]
        daemon.fail_next_merge(f"{name}@{nth}:kill")
        daemon.slow_run()
        wait_for(
            lambda: daemon.status()["captures"]["done"] == done + 1,
            f"the bundle in spite of the death at {name}",
            300,
        )
        check(not daemon.merge_fault_waits(), f"no merge had the fault {name}")
        daemon.note_begun()
        figures["merge killed"] += 1
    check(
        daemon.status()["captures"]["merges_failed"] == len(steps),
        f"{daemon.status()['captures']}: {len(steps)} were killed",
    )
    daemon.settle()


def kills():
    with temporary_folder() as folder, RecordingDaemon(started=False) as daemon:
        of_daemon, of_merge = lives(daemon, folder / "passes", 2)
        check_none_forgotten({name for name, _ in of_daemon + of_merge})
        die_in_the_daemon(daemon, of_daemon)
        die_in_the_merge(daemon, of_merge)
        daemon.stop()
        with Server(data=folder / "server") as server:
            rows = check_all_arrived_once(daemon, server)
            server.check_store()
        check(daemon.cut_short, "no death came while something was recorded")
        leftovers = [
            path.name
            for path in (daemon.spool / "ready").iterdir()
            if not path.name.startswith((".re",))
        ]
        check(not leftovers, f"left in ready/: {leftovers}")
    print(
        f"{len(of_daemon)} steps of the daemon and {len(of_merge)} of its merge helper: "
        f"{figures['daemon killed']} + {figures['merge killed']} kills, {len(daemon.begun)} "
        f"captures begun, {len(rows)} bundles at the server, {len(daemon.cut_short)} of captures "
        "that were cut short marked as partial"
    )


def errors():
    """An error at each step costs at most its own capture, is counted and reported, and the
    daemon records the next."""
    with temporary_folder() as folder, RecordingDaemon(started=False) as daemon:
        of_daemon, of_merge = lives(daemon, folder / "passes", 2)
        points = check_none_forgotten({name for name, _ in of_daemon + of_merge})
        injected = 0
        for name, nth in of_daemon:
            if not can_fail(name, points):
                continue
            error = ERRORS[injected % len(ERRORS)]
            log = folder / f"passes {injected}"
            check(
                daemon.start_with(f"{name}@{nth}:error:{error}", log),
                f"{error} at {name} ended the daemon at its start",
            )
            for slow in (1, 2):
                wait_for(
                    lambda: daemon.status()["state"] == "waiting", "the daemon to wait for breaches"
                )
                daemon.slow_run()
                wait_for(
                    lambda: sum(daemon.status()["captures"][key] for key in ("done", "failed"))
                    >= slow,
                    f"capture {slow}",
                )
            daemon.settle()
            counts = daemon.status()["captures"]
            check(
                counts["done"] >= 1, f"{error} at {name}: nothing was recorded afterwards: {counts}"
            )
            check(
                passes_in(log)[daemon.process.pid][name] >= nth,
                f"the error at {name}, pass {nth}, did not come about",
            )
            daemon.note_begun()
            daemon.stop()
            injected += 1
        check(daemon.start_with(), "the daemon did not start")
        for name, nth in of_merge:
            if not can_fail(name, points):
                continue
            done = daemon.status()["captures"]["done"]
            daemon.fail_next_merge(f"{name}@{nth}:error:{ERRORS[injected % len(ERRORS)]}")
            daemon.slow_run()
            wait_for(
                lambda: daemon.status()["captures"]["done"] == done + 1,
                f"the bundle in spite of an error at {name}",
                300,
            )
            check(not daemon.merge_fault_waits(), f"no merge had the fault {name}")
            daemon.note_begun()
            injected += 1
        daemon.settle()
        daemon.stop()
        with Server(data=folder / "server") as server:
            rows = check_all_arrived_once(daemon, server)
            server.check_store()
    print(
        f"{injected} errors, {len(daemon.begun)} captures begun, {len(rows)} bundles at the server"
    )


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run(kills, errors)
