"""The daemon's life: reloading settings, answering requests, keeping limits, recovering
captures, odd neighbours."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    LAGTRAPD,
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

CROWD = PROGRAMS / "crowd"


def slow_run(milliseconds=120, program=PLANTED):
    with Watched(
        program, "--kind", "sleep", "--fast", 1, "--slow-ms", milliseconds, "--wait"
    ) as program:
        return program.go().result()


def settings_are_checked():
    with Daemon(library_event("work", PLANTED, "50ms")) as daemon:
        good = subprocess.run(
            [LAGTRAPD, "--check-settings", daemon.settings_path], capture_output=True, text=True
        )
        check(good.returncode == 0, good.stderr)
        daemon.write_settings(
            '<event name="x" threshold="5sx" trace-length="1s">'
            '<function name="f" binary="/nowhere"/></event>'
        )
        bad = subprocess.run(
            [LAGTRAPD, "--check-settings", daemon.settings_path], capture_output=True, text=True
        )
        check(bad.returncode != 0, "bad settings were accepted")
        check(
            "5sx" in bad.stderr and "/nowhere" in bad.stderr,
            f"not all errors are shown: {bad.stderr}",
        )
        check(f"{daemon.settings_path}:" in bad.stderr, f"no place is told: {bad.stderr}")


def reload_good_and_bad():
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        slow_run(20)
        runs = daemon.event("work")["runs"]
        check(runs > 0, "no run was counted")
        loaded = daemon.status()["settings"]["loaded_realtime_ns"]
        daemon.write_settings('<event name="work" threshold="0ms"/>')
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(
            lambda: daemon.status()["settings"]["reload_error"], "the bad settings to be refused"
        )
        check(
            daemon.status()["settings"]["loaded_realtime_ns"] == loaded,
            "bad settings came into force",
        )
        check(daemon.event("work")["threshold_ns"] == 10_000_000_000, "the threshold changed")
        slow_run(20)
        check(daemon.event("work")["runs"] == 2 * runs, "the old settings no longer count")

        daemon.write_settings(library_event("work", PLANTED, "50ms", "100ms"))
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(
            lambda: daemon.status()["settings"]["loaded_realtime_ns"] != loaded, "the good settings"
        )
        check(daemon.status()["settings"]["reload_error"] == "", "the error is still shown")
        check(
            daemon.event("work")["runs"] == 2 * runs,
            f"the counters were lost: {daemon.event('work')}, {runs}",
        )
        slow_run()
        daemon.wait_for_bundles(1)


def confirm_is_asked():
    event = library_event("work", PLANTED, "50ms", "100ms")
    with Daemon(event, more='<confirm wait="60s"/>') as daemon:
        check(not daemon.ask("approve")["ok"], "an answer without a question was taken")
        slow_run()
        wait_for(lambda: daemon.status()["state"] == "confirming", "the question")
        check(daemon.status()["pending"]["event"] == "work", "the question is about another event")
        check(daemon.ask("decline")["ok"], "decline failed")
        check(
            daemon.status()["captures"]["declined"] == 1 and not daemon.bundles(),
            "declined, and recorded",
        )
        wait_for(lambda: daemon.status()["state"] == "waiting", "the cool-down's end")
        slow_run()
        wait_for(lambda: daemon.status()["state"] == "confirming", "the second question")
        check(daemon.ask("approve")["ok"], "approve failed")
        delays = report(daemon.wait_for_bundles(1)[0])["delays"]
        check(
            len(delays) == 1 and delays[0]["first"],
            f"the run that was asked about is not in the bundle: {delays}",
        )
    with Daemon(event, more='<confirm wait="1s"/>') as daemon:
        slow_run()
        daemon.wait_for_bundles(1)  # no answer means go


def recorded_in_memory(daemon, event):
    def asked():
        pending = daemon.status()["pending"]
        return pending and pending["event"] == event and pending["recorded"] and pending["session"]

    return wait_for(asked, f"the question about {event}")


def another_breach_during_a_question():
    """It is recorded too, and asked about when the first has its answer; a third is only
    counted."""
    copies = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-two-"))
    try:
        programs = [
            pathlib.Path(shutil.copy(PLANTED, copies / name)) for name in ("first", "second")
        ]
        events = "".join(
            f'<event name="{program.name}" threshold="50ms" trace-length="100ms" copies="none">'
            f'<header event="work" binary="{program}"/></event>'
            for program in programs
        )
        with Daemon(events, more='<confirm wait="1h"/>') as daemon:
            slow_run(program=programs[0])
            first = recorded_in_memory(daemon, "first")
            slow_run(program=programs[1])
            folder = pathlib.Path(daemon.socket_path).with_suffix(".unanswered")
            wait_for(
                lambda: len(list(folder.iterdir())) == 2 and not daemon.status()["capture"],
                "the second recording",
            )
            slow_run(program=programs[1])
            wait_for(lambda: daemon.event("second")["delays"] == 2, "the third delay to be counted")
            check(len(list(folder.iterdir())) == 2, "a third recording waits for an answer")
            skipped = daemon.status()["captures"]["skipped_questions"]
            check(skipped == 1, f"{skipped} delays counted as skipped, 1 is expected")
            check(
                daemon.status()["pending"]["session"] == first, "the first question was forgotten"
            )
            check(daemon.ask("decline", session=first)["ok"], "decline failed")
            second = recorded_in_memory(daemon, "second")
            check(not daemon.ask("approve", session=first)["ok"], "a question was answered twice")
            check(daemon.ask("approve", session=second)["ok"], "approve failed")
            bundle = daemon.wait_for_bundles(1)[0]
            delays = report(bundle)["delays"]
            check([delay["event"] for delay in delays] == ["second"], f"{delays}")
            slow_run(program=programs[0])  # there is room again
            recorded_in_memory(daemon, "first")
            check(len(daemon.bundles()) == 1, "kept without an answer")
            check(len(list(folder.iterdir())) == 1, f"{list(folder.iterdir())}")
            daemon.stop()
            left = [*folder.rglob("*"), *(daemon.spool / "captures").rglob("*")]
            check(not left, f"it outlived the daemon: {left}")
    finally:
        shutil.rmtree(copies)


def a_declined_recording_ends_at_once():
    with Daemon(
        library_event("work", PLANTED, "50ms", "60s"), more='<confirm wait="1h"/>'
    ) as daemon:
        slow_run()
        wait_for(lambda: daemon.status()["state"] == "confirming", "the question")
        check(not daemon.status()["pending"]["recorded"], "a recording of a minute is over")
        check(daemon.ask("decline")["ok"], "decline failed")
        status = daemon.status()
        check(
            status["state"] in ("waiting", "cooling-down") and not status["pending"],
            f"{status['state']}",
        )
        check(not list((daemon.spool / "captures").iterdir()), "something reached the spool")


def a_person_is_asked():
    """By a command, whose exit status answers; with --tell it does not."""
    event = library_event("work", PLANTED, "50ms", "100ms")
    with Daemon(event, more='<confirm wait="1h"/>') as daemon:
        said = daemon.folder / "said"

        def asking(script, *options):
            return subprocess.Popen(
                [
                    LAGTRAP,
                    "ask",
                    "--socket",
                    daemon.socket_path,
                    *options,
                    "--",
                    "sh",
                    "-c",
                    script,
                    said,
                ],
                stdout=subprocess.PIPE,
                text=True,
            )

        def one_line(client):
            line = client.stdout.readline()
            client.send_signal(signal.SIGTERM)
            check(client.wait(30) == 0, f"it ended with {client.returncode}")
            return line

        slow_run()
        recorded_in_memory(daemon, "work")
        check(
            one_line(asking('printf %s "$1" > "$0"', "--tell")) == "work: notified\n",
            "nobody was notified",
        )
        text = said.read_text()
        check(
            text.startswith("lagtrap: work was too slow in planted_delays (")
            and "lagtrap decline" in text,
            text,
        )
        check(daemon.status()["state"] == "confirming", "telling is an answer")
        check(one_line(asking("exit 3")) == "work: no answer\n", "3 is an answer")
        check(one_line(asking("exit 1")) == "work: discarded\n", "1 is no answer")
        check(daemon.status()["captures"]["declined"] == 1 and not daemon.bundles(), "it was kept")
        slow_run()
        recorded_in_memory(daemon, "work")
        check(one_line(asking("exit 0")) == "work: kept\n", "0 is no answer")
        daemon.wait_for_bundles(1)


def a_person_is_asked_by_a_daemon_that_starts_later():
    event = library_event("work", PLANTED, "50ms", "100ms")
    daemon = Daemon(event, more='<confirm wait="1h"/>')
    asking = subprocess.Popen(
        [LAGTRAP, "ask", "--socket", daemon.socket_path, "--", "true"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    check("waiting for lagtrapd" in asking.stderr.readline(), "it does not say that it waits")
    with daemon:
        slow_run()
        check(asking.stdout.readline() == "work: kept\n", "no question")
        asking.send_signal(signal.SIGTERM)
        check(asking.wait(30) == 0, f"it ended with {asking.returncode}")


def limits_are_kept():
    event = library_event("work", PLANTED, "50ms", "100ms")
    with Daemon(event, 'cool-down="1h" captures-per-hour="1000"') as daemon:
        slow_run()
        daemon.wait_for_bundles(1)
        slow_run()
        wait_for(
            lambda: daemon.status()["captures"]["skipped_cool_down"] == 1,
            "the skipped delay to be counted",
        )
        check(len(daemon.bundles()) == 1, "the cool-down was not kept")
        check(daemon.ask("trigger", event="work")["ok"], "a person may record during the cool-down")
        daemon.wait_for_bundles(2)
    with Daemon(event, 'cool-down="1h" captures-per-hour="1"') as daemon:
        for count in (1, 2):
            check(
                daemon.ask("trigger", event="work")["ok"],
                "a person may record beyond the hourly limit",
            )
            daemon.wait_for_bundles(count)
        check(
            daemon.event("work")["without_recordings"] is None,
            "a person's recordings were taken from the event",
        )
        slow_run()
        daemon.wait_for_bundles(3)
    with Daemon(event, 'cool-down="1ms" captures-per-hour="1"') as daemon:
        slow_run()
        daemon.wait_for_bundles(1)
        slow_run()
        wait_for(
            lambda: daemon.status()["captures"]["skipped_hourly_limit"] == 1,
            "the skipped delay to be counted",
        )
        check(len(daemon.bundles()) == 1, "the hourly limit was not kept")
    with Daemon(
        library_event("work", PLANTED, "50ms", "60s"), 'capture-size-limit="1MiB"'
    ) as daemon:
        slow_run()
        bundle = daemon.wait_for_bundles(1)[0]
        found = report(bundle)
        check(found["quality"]["truncated_by_size"], "the size limit is not told of")


def each_event_cools_down_alone():
    """A recording of one event leaves the next delay of another one its own."""
    with tempfile.TemporaryDirectory() as folder:
        quiet = pathlib.Path(folder, "quiet_delays")
        shutil.copy(PLANTED, quiet)
        os.chmod(folder, 0o755)
        events = library_event("work", PLANTED, "50ms", "100ms") + (
            '<event name="quiet" threshold="50ms" trace-length="100ms" copies="none" '
            f'binary="{quiet}"><begin usdt="lagtrap:work__begin"/><end usdt="lagtrap:work__end"/>'
            "</event>"
        )
        with Daemon(events, 'cool-down="1h" captures-per-hour="1000"') as daemon:
            slow_run()
            daemon.wait_for_bundles(1)
            wait_for(
                lambda: daemon.status()["state"] == "waiting",
                "the daemon to be ready for the other event",
            )
            check(
                daemon.event("work")["without_recordings"]["reason"] == "cool-down",
                f"{daemon.event('work')}",
            )
            slow_run()
            wait_for(
                lambda: daemon.status()["captures"]["skipped_cool_down"] == 1,
                "the skipped delay to be counted",
            )
            check(daemon.event("quiet")["without_recordings"] is None, f"{daemon.event('quiet')}")
            slow_run(program=quiet)
            recorded = sorted(
                report(bundle)["delays"][0]["event"] for bundle in daemon.wait_for_bundles(2)
            )
            check(recorded == ["quiet", "work"], f"{recorded}")
            check(daemon.status()["state"] == "cooling-down", "both events rest")


def trigger_by_hand():
    # The program exists beforehand, because on a busy machine it takes a while to start.
    with Daemon(library_event("work", PLANTED, "10s", "2s")) as daemon, Watched(
        PLANTED, "--kind", "cpu", "--fast", 1, "--slow-ms", 20, "--wait"
    ) as program:
        wrong = daemon.ask("trigger", event="wrok")
        check(not wrong["ok"] and "work" in wrong["error"], f"{wrong}")
        check(daemon.ask("trigger", event="work")["ok"], "trigger failed")
        check(not daemon.ask("trigger", event="work")["ok"], "two captures at once")
        program.go().result()
        found = report(daemon.wait_for_bundles(1)[0])
        check(
            found["trigger_reason"] == "manual" and found["delays"] == [],
            f"{found['trigger_reason']} {found['delays']}",
        )
        check(found["runs"]["work"]["runs"] > 0, "the runs of the capture are not in it")


def trigger_and_wait():
    """The command ends when the bundle exists, and prints its name."""
    with Daemon(library_event("work", PLANTED, "10s", "200ms")) as daemon:

        def trigger(*options):
            return subprocess.run(
                [LAGTRAP, "trigger", *options, "--socket", daemon.socket_path],
                check=False,
                capture_output=True,
                text=True,
                timeout=120,
            )

        for _ in range(2):
            done = trigger("work", "--wait")
            check(done.returncode == 0 and done.stderr == "", f"{done}")
            [bundle] = [
                path for path in daemon.bundles() if path.name.startswith(done.stdout.strip())
            ]
            check(
                report(bundle)["session"] == done.stdout.strip(), f"another's bundle: {done.stdout}"
            )
            found = subprocess.run(
                [LAGTRAP, "report", "--spool", daemon.spool, done.stdout.strip()],
                check=False,
                capture_output=True,
                text=True,
            )
            check(found.returncode == 0 and done.stdout.strip() in found.stdout, f"{found}")
        wrong = trigger("wrok", "--wait")
        check(wrong.returncode != 0 and "work" in wrong.stderr, f"{wrong}")


def breach_during_a_capture():
    """Delays during a capture are listed with the first in the same system file."""
    with Daemon(library_event("work", PLANTED, "50ms", "1s")) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 120, "--wait"
        ) as one, Watched(PLANTED, "--kind", "cpu", "--fast", 0, "--slow-ms", 120, "--wait") as two:
            one.go().result()
            two.go().result()
        delays = report(daemon.wait_for_bundles(1)[0])["delays"]
        check(
            len(delays) == 2 and [delay["first"] for delay in delays] == [True, False], f"{delays}"
        )


def killed_daemon_leaves_a_bundle():
    """kill -9 during a capture: the next start merges what was recorded, marked as partial."""
    with Daemon(library_event("work", PLANTED, "50ms", "60s")) as daemon:
        slow_run()
        captures = daemon.spool / "captures"

        def recorded():
            return any(log.stat().st_size > 300_000 for log in captures.glob("*/kernel.log"))

        wait_for(lambda: daemon.status()["state"] == "recording", "the recording")
        with Watched(PLANTED, "--kind", "cpu", "--fast", 50000, "--slow-ms", 10, "--wait") as load:
            load.go()
            wait_for(recorded, "records on disk")
        daemon.kill()
        daemon.start()
        bundle = daemon.wait_for_bundles(1)[0]
        found = report(bundle)
        check(found["quality"]["partial"], "the bundle is not marked as partial")
        check_trace(bundle)
        check(list(captures.iterdir()) == [], "the capture was left behind")


def spool_that_can_not_be_written():
    """A capture that cannot be stored is counted and reported; the daemon continues and stores
    the next."""
    with Daemon(library_event("work", PLANTED, "50ms", "100ms")) as daemon:
        captures = daemon.spool / "captures"
        captures.rmdir()
        captures.write_text("in the way")
        slow_run()
        wait_for(lambda: daemon.status()["captures"]["failed"] == 1, "the failure to be counted")
        check("failed" in daemon.log(), "the failure is not told of")
        captures.unlink()
        captures.mkdir()
        wait_for(lambda: daemon.status()["state"] == "waiting", "the cool-down's end")
        slow_run()
        wait_for(lambda: daemon.status()["captures"]["done"] == 1, "the next capture")


def crowds_with_odd_names():
    """10,000 threads, and 500 processes that exit during the capture, with names that could
    garble a report."""
    # Long enough for all of them on a busy machine.
    with Daemon(library_event("work", PLANTED, "50ms", "12s")) as daemon:
        with Watched(CROWD, "threads", 10000), Watched(CROWD, "exits", 500) as exits:
            slow_run()
            wait_for(lambda: daemon.status()["state"] == "recording", "the recording")
            check(exits.go().result()["exits"] == 500, "not all processes ran")
            bundle = daemon.wait_for_bundles(1, seconds=180)[0]
        summary = check_trace(bundle, 100_000)
        check(len(summary["threads"]) >= 10000, f"{len(summary['threads'])} threads in the trace")
        check(
            len(summary["processes"]) >= 500, f"{len(summary['processes'])} processes in the trace"
        )
        text = subprocess.run(
            [BUILD_DIR / "cli" / "lagtrap", "report", bundle], capture_output=True, timeout=120
        )
        check(text.returncode == 0, text.stderr)
        check(
            not any(byte < 32 and byte != 10 for byte in text.stdout),
            f"control characters in {text.stdout!r}",
        )


if __name__ == "__main__":
    run(
        settings_are_checked,
        reload_good_and_bad,
        confirm_is_asked,
        another_breach_during_a_question,
        a_declined_recording_ends_at_once,
        a_person_is_asked,
        a_person_is_asked_by_a_daemon_that_starts_later,
        limits_are_kept,
        each_event_cools_down_alone,
        trigger_by_hand,
        trigger_and_wait,
        breach_during_a_capture,
        killed_daemon_leaves_a_bundle,
        spool_that_can_not_be_written,
        crowds_with_odd_names,
    )
