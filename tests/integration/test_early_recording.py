"""Recordings that begin before the breach, for runs slower than nearly all others: kept if the
threshold is passed, otherwise dropped from memory."""

import contextlib
import json
import signal
import threading

from lagtrap_test import PLANTED, Daemon, Watched, check, library_event, report, run, wait_for


def early(daemon):
    return daemon.status()["history"]["early"]


def slow_run(kind, slow_ms, *more):
    return Watched(
        PLANTED,
        "--kind",
        kind,
        "--fast",
        50,
        "--gap-us",
        1000,
        "--slow-ms",
        slow_ms,
        "--wait",
        *more,
    )


def the_holder_is_known_from_before_the_breach():
    """It computes for 240 ms while holding the lock; the threshold of 200 ms is passed shortly
    before it releases it."""
    for attributes in ('breach="deadline"', 'breach="end"'):
        with Daemon(
            library_event("work", PLANTED, "200ms", "200ms", attributes=attributes)
        ) as daemon:
            with slow_run("lock", 240) as program:
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
            counts = early(daemon)
            check(counts["begun"] >= 1 and counts["kept"] == 1, f"{attributes}: {counts}")
            told = report(bundle)["delays"][0]
        split = told["split"]
        check(
            sum(split["without_stacks"].values()) < 0.5 * split["wall_ns"],
            f"{attributes}: nothing was recorded early: {split}",
        )
        words = " ".join(told["cause"]["sentences"])
        check("lock-holder" in words, f"{attributes}: {words}")
        # Where it computed while holding the lock, or was kept from running by others.
        check(
            "planted_lock_holder" in json.dumps(told["wakers"]), f"{attributes}: {told['wakers']}"
        )


def what_stays_below_its_threshold_leaves_nothing():
    with Daemon(library_event("work", PLANTED, "400ms", "200ms")) as daemon:
        for _ in range(3):
            with slow_run("sleep", 150) as program:
                program.go().result()
        wait_for(lambda: early(daemon)["dropped"] == 3, "three recordings to be dropped")
        counts = early(daemon)
        check(counts["begun"] == 3 and counts["kept"] == 0 and counts["outgrown"] == 0, f"{counts}")
        check(
            daemon.status()["state"] == "waiting" and not daemon.bundles(), "something was recorded"
        )
        left = list((daemon.spool / "captures").iterdir())
        check(not left, f"dropped recordings left {left}")
        # The next one has nothing of them.
        with slow_run("sleep", 500) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        check(early(daemon)["kept"] == 1, f"{early(daemon)}")
        told = report(bundle)
    check(told["machine"]["length_ns"] < 1e9, f"it begins with an earlier one: {told['machine']}")
    check(told["delays"][0]["split"]["not_recorded_ns"] == 0, f"{told['delays'][0]['split']}")


def what_many_runs_reach_is_no_reason():
    """Nearly all runs take half of the threshold: no lower early point is kept, and the share of
    time is not exceeded."""
    with Daemon(
        library_event("work", PLANTED, "100ms", "200ms"), more='<history early-share="1%"/>'
    ) as daemon:
        first_ns = early(daemon)["points"][0]["point_ns"]
        check(0 < first_ns < 10e6, f"{early(daemon)}")
        # Each ends with one slow run, which all have the same length.
        with contextlib.ExitStack() as stack:
            programs = [stack.enter_context(slow_run("sleep", 50)) for _ in range(40)]

            def runs():
                for program in programs:
                    program.go().result()

            thread = threading.Thread(target=runs)
            thread.start()
            stack.callback(thread.join)

            def chosen():
                point_ns = early(daemon)["points"][0]["point_ns"]
                return point_ns is None or point_ns > 50e6

            wait_for(chosen, "another point to be chosen")
        counts = early(daemon)
        check(
            counts["time_ns"] < 0.01 * counts["watched_ns"] + 2.2e9,
            f"more than its share was recorded: {counts}",
        )
        check(not daemon.bundles(), "no run was a delay")


def is_on(daemon):
    counts = early(daemon)
    return counts["begun"] > counts["kept"] + counts["dropped"]


def new_settings_end_one_that_is_on():
    event = library_event("work", PLANTED, "6s", "200ms")
    with Daemon(event) as daemon:
        with slow_run("sleep", 4000) as program:
            program.go()
            wait_for(lambda: is_on(daemon), "an early recording")
            other = (
                '<event name="other" threshold="7s" trace-length="1s">'
                f'<function name="main" binary="{PLANTED.resolve()}"/></event>'
            )
            daemon.write_settings(event + other)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(
                lambda: len(daemon.status()["events"]) == 2 and daemon.status()["arming"] is None,
                "the new settings",
            )
            # The run continues during this, and so does the watch for it.
            wait_for(lambda: early(daemon)["begun"] >= 1, "another early recording")
            program.result()
        wait_for(lambda: not is_on(daemon), "it to be dropped")
        check(early(daemon)["dropped"] == 1 and not daemon.bundles(), f"{early(daemon)}")


def a_daemon_that_is_killed_leaves_nothing():
    with Daemon(library_event("work", PLANTED, "5s", "200ms")) as daemon:
        with slow_run("sleep", 3000) as program:
            program.go()
            wait_for(lambda: is_on(daemon), "an early recording")
            daemon.kill()
            check(not list((daemon.spool / "captures").iterdir()), "something of it is on the disk")
            daemon.start()
            program.result()
        with slow_run("lock", 100) as program:
            program.go().result()
        check(daemon.ask("trigger", event="work")["ok"], "a recording by hand is refused")
        daemon.wait_for_bundles(1)


def what_was_asked_about_is_in_the_recording():
    """With the time before the breach, although the answer comes long after it."""
    with Daemon(
        library_event("work", PLANTED, "200ms", "200ms"), more='<confirm wait="1h"/>'
    ) as daemon:
        with slow_run("lock", 240) as program:
            program.go().result()
        wait_for(
            lambda: (daemon.status()["pending"] or {}).get("recorded"),
            "the question, and the recording in memory",
        )
        check(
            not list((daemon.spool / "captures").iterdir()) and not daemon.bundles(),
            "something is on the disk",
        )
        check(daemon.ask("approve")["ok"], "approve failed")
        told = report(daemon.wait_for_bundles(1)[0])["delays"][0]
        check(early(daemon)["kept"] == 1, f"{early(daemon)}")
    check(
        told["first"] and "lock-holder" in " ".join(told["cause"]["sentences"]), f"{told['cause']}"
    )
    check(told["before"] is not None, "nothing is known from before it")


def a_recording_by_hand_takes_it_over():
    with Daemon(library_event("work", PLANTED, "6s", "200ms")) as daemon:
        with slow_run("sleep", 1500) as program:
            program.go()
            wait_for(lambda: is_on(daemon), "an early recording")
            check(daemon.ask("trigger", event="work")["ok"], "a recording by hand is refused")
            bundle = daemon.wait_for_bundles(1)[0]
            program.result()
        length_ns = report(bundle)["machine"]["length_ns"]
    check(length_ns > 200e6, f"it took {length_ns} ns")


if __name__ == "__main__":
    run(
        the_holder_is_known_from_before_the_breach,
        what_stays_below_its_threshold_leaves_nothing,
        what_many_runs_reach_is_no_reason,
        new_settings_end_one_that_is_on,
        a_daemon_that_is_killed_leaves_nothing,
        what_was_asked_about_is_in_the_recording,
        a_recording_by_hand_takes_it_over,
    )
