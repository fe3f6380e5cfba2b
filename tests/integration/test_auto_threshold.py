"""Thresholds that follow from an event's runs: from a stored history to a recording."""

import json
import re
import signal
import subprocess
import time

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)

HOUR_NS = 3_600_000_000_000


def slow_run(milliseconds):
    with Watched(
        PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", milliseconds, "--wait"
    ) as program:
        return program.go().result()


def explained(daemon):
    done = subprocess.run(
        [LAGTRAP, "explain", "work", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, done.stderr)
    return " ".join(done.stdout.split())


def bucket_of(duration_ns):
    """Four for each power of two."""
    power = duration_ns.bit_length() - 1
    return 4 * power + (duration_ns >> (power - 2) & 3)


def write_history(daemon, identity, hours, runs, duration_ns):
    """As if the event had been watched for these hours."""
    now_ns = time.time_ns()
    daemon.history_path.write_text(
        json.dumps(
            {
                "format": "lagtrap-run-history",
                "version": 1,
                "events": [
                    {
                        "name": "work",
                        "runs": {
                            "identity": identity,
                            "since_ns": now_ns - hours * HOUR_NS,
                            "hours": [
                                {
                                    "hour": now_ns // HOUR_NS - ago,
                                    "runs": [bucket_of(duration_ns), runs],
                                }
                                for ago in range(hours, 0, -1)
                            ],
                        },
                    }
                ],
            }
        )
    )


def from_history_to_recording():
    with Daemon(library_event("work", PLANTED, "auto", "100ms")) as daemon:
        daemon.history_path = daemon.spool / ".run-history.json"
        event = daemon.event("work")
        check(
            event["auto_threshold"]["reason"] == "learning" and event["threshold_ns"] == HOUR_NS,
            event,
        )
        check("is not known yet: 0 of 100 runs" in explained(daemon), explained(daemon))
        slow_run(300)
        runs = daemon.event("work")["runs"]
        check(
            daemon.event("work")["delays"] == 0 and not daemon.bundles(), "recorded while it learns"
        )
        daemon.stop()
        stored = json.loads(daemon.history_path.read_text())["events"]
        check(len(stored) == 1 and stored[0]["name"] == "work", stored)
        check(
            sum(sum(hour["runs"][1::2]) for hour in stored[0]["runs"]["hours"]) == runs > 0, stored
        )

        write_history(daemon, stored[0]["runs"]["identity"], 30, 2000, 20_000_000)
        daemon.start()
        threshold_ns = daemon.event("work")["threshold_ns"]
        check(
            60_000_000 < threshold_ns <= 75_000_000,
            f"not three times 20 ms, rounded up by its bucket: {threshold_ns}",
        )
        text = explained(daemon)
        check(
            re.search(
                r"Its threshold \(p99\.9 x 3\) is \S+ ms: p99\.9 of 60,000 runs in 30 hours is \S+ "
                r"ms\.",
                text,
            ),
            text,
        )
        slow_run(300)
        daemon.wait_for_bundles(1)
        delays = report(daemon.bundles()[0])["delays"]
        check([delay["threshold_ns"] for delay in delays] == [threshold_ns], delays)
        wait_for(
            lambda: daemon.event("work")["auto_threshold"]["captures"] == 1,
            "the recording to be counted",
        )

        # Other settings of the event take effect at a reload, and the recording is not forgotten.
        daemon.write_settings(library_event("work", PLANTED, "p50 x 5", "100ms"))
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: daemon.event("work")["threshold_ns"] > threshold_ns, "the other rule")
        check(daemon.event("work")["auto_threshold"]["rule"] == "p50 x 5", daemon.event("work"))
        daemon.stop()
        daemon.start()
        check(daemon.event("work")["auto_threshold"]["captures"] == 1, daemon.event("work"))
        log = daemon.log_path.read_text()
        check("is lost" not in log and "cannot be saved" not in log, log)


def the_daily_limit_is_kept():
    with Daemon(
        library_event("work", PLANTED, "auto", "100ms"),
        more='<auto-threshold captures-per-day="1"/>',
    ) as daemon:
        daemon.stop()
        daemon.history_path = daemon.spool / ".run-history.json"
        identity = json.loads(daemon.history_path.read_text())["events"][0]["runs"]["identity"]
        write_history(daemon, identity, 30, 2000, 20_000_000)
        daemon.start()
        slow_run(800)
        daemon.wait_for_bundles(1)
        slow_run(800)
        wait_for(
            lambda: daemon.status()["captures"]["skipped_daily_limit"] == 1,
            "the skipped delay to be counted",
        )
        check("it used its recordings of the day" in explained(daemon), explained(daemon))
        daemon.stop()
        daemon.start()
        event = daemon.event("work")
        check(event["without_recordings"]["reason"] == "daily-limit", event["without_recordings"])
        slow_run(800)
        wait_for(
            lambda: daemon.status()["captures"]["skipped_daily_limit"] == 1,
            "the limit to be kept after a restart",
        )
        check(len(daemon.bundles()) == 1, "a restart resets the limit")


def other_settings_are_rehearsed():
    with Daemon(library_event("work", PLANTED, "1s", "100ms")) as daemon:
        slow_run(20)
        daemon.stop()
        daemon.history_path = daemon.spool / ".run-history.json"
        identity = json.loads(daemon.history_path.read_text())["events"][0]["runs"]["identity"]
        write_history(daemon, identity, 10, 3, 200_000_000)
        new = daemon.folder / "new.xml"
        new.write_text(
            daemon.settings_path.read_text().replace('threshold="1s"', 'threshold="100ms"')
        )
        command = [LAGTRAP, "rehearse", new, "--settings", daemon.settings_path]
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, done.stderr)
        found = json.loads(done.stdout)
        check(
            (found["hours"], found["new"]["recordings"], found["in_use"]["recordings"])
            == (10, 30, 0),
            found,
        )
        text = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check(
            text.returncode == 0
            and re.search(r"^work +30 +100 ms +30 +30 +1\.00 s +0 +0$", text.stdout, re.M),
            text,
        )
        new.write_text("<lagtrap/>")
        check(
            subprocess.run(command, capture_output=True, timeout=60).returncode == 3,
            "bad settings were rehearsed",
        )


def a_damaged_history_is_replaced():
    daemon = Daemon(library_event("work", PLANTED, "auto", "100ms"))
    daemon.spool.mkdir()
    (daemon.spool / ".run-history.json").write_text("{")
    with daemon:
        check(daemon.event("work")["auto_threshold"]["reason"] == "learning", daemon.event("work"))
        check(
            "thresholds are learned anew" in daemon.log_path.read_text(),
            daemon.log_path.read_text(),
        )
        daemon.stop()
        check(
            json.loads((daemon.spool / ".run-history.json").read_text())["version"] == 1,
            "it was not replaced",
        )


run(
    from_history_to_recording,
    the_daily_limit_is_kept,
    other_settings_are_rehearsed,
    a_damaged_history_is_replaced,
)
