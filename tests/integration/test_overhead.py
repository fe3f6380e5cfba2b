"""What is disabled when lagtrap costs more than the settings allow, how it is reported, and what
comes back."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

from lagtrap_test import (
    BURST,
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)
from run_batches import read_spool

HOT = PROGRAMS / "hot"


def function_event(name, function):
    return (
        f'<event name="{name}" threshold="1h" trace-length="200ms">'
        f'<function name="{function}" binary="{HOT.resolve()}"/></event>'
    )


EVENTS = function_event("hot", "hot_function") + function_event("calm", "calm_function")


class Hot(Watched):
    def __init__(self):
        super().__init__(HOT)
        self.go()

    def calls(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def lagtrap(daemon, command):
    done = subprocess.run(
        [LAGTRAP, command, "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, done.stderr)
    return done.stdout


def wait_until_disabled(daemon):
    wait_for(lambda: daemon.event("hot")["disabled"], "the event to be disabled")


def wait_until_untouched(daemon, program):
    """The program makes a million calls of the function, none of which reaches the probes."""

    def untouched():
        hits, calls = daemon.event("hot")["hits"], program.calls()["hot"]
        wait_for(lambda: program.calls()["hot"] > calls + 1_000_000, "a million calls")
        return daemon.event("hot")["hits"] == hits

    wait_for(untouched, "the function to be called without our probe")


def a_hot_event_is_disabled():
    with Daemon(
        EVENTS, budget='share="1%" interval="500ms" pause="1h"'
    ) as daemon, Hot() as program:
        wait_until_disabled(daemon)
        looks = daemon.status()["budget"]["looks"]
        wait_until_untouched(daemon, program)
        event = daemon.event("hot")
        check(
            not event["armed"] and "of a CPU with" in event["problem"],
            f"the reason is not told: {event['problem']}",
        )
        # Dropped once the last probe is detached; hits have no effect long before.
        wait_for(
            lambda: daemon.event("hot")["open"] == 0,
            "the open runs of the disabled event to be dropped",
        )
        event = daemon.event("hot")
        # All markers were disabled at one moment. Each of two threads may have been inside the
        # function when it was armed.
        check(
            event["unmatched_ends"] + event["unmatched_begins"] + event["abandoned"] <= 4,
            f"pairs were torn: {event}",
        )
        check(0 < event["disabled_at_look"] <= looks, f"{event['disabled_at_look']} of {looks}")
        # Documented: at the latest the second check that finds it over its share. The program
        # started after the first checks.
        check(
            event["disabled_at_look"] - event["over_since_look"] <= 1,
            f"disabled at look {event['disabled_at_look']}, over "
            f"since {event['over_since_look']}",
        )

        calm = daemon.event("calm")
        check(
            calm["armed"] and not calm["disabled"], f"the other event went too: {calm['problem']}"
        )
        wait_for(
            lambda: daemon.event("calm")["runs"] > calm["runs"] + 20, "the other event to count on"
        )
        check("is disabled" in daemon.log(), "the log says nothing")
        text = lagtrap(daemon, "status")
        check("disabled" in text and "retry in" in text, f"the status says nothing: {text}")
        metrics = lagtrap(daemon, "metrics")
        check(
            'lagtrap_event_disabled{event="hot"} 1' in metrics
            and 'lagtrap_event_disabled{event="calm"} 0' in metrics,
            metrics,
        )
        check(daemon.ask("trigger", event="calm")["ok"], "no recording can be made")
        bundle = daemon.wait_for_bundles(1)[0]
        disabled = report(bundle)["quality"]["omitted"]
        check(
            any("event hot is not watched" in sentence for sentence in disabled),
            f"the report says nothing: {disabled}",
        )
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, timeout=60
        ).stdout
        check(
            "Incomplete: event hot is not watched" in text,
            f"the report's text says nothing: {text}",
        )

        loaded = daemon.status()["settings"]["loaded_realtime_ns"]
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: daemon.status()["settings"]["loaded_realtime_ns"] != loaded, "the reload")
        wait_until_disabled(daemon)  # a reload tries it again, and it is as hot as before
        wait_until_untouched(daemon, program)


def turns_in_part(daemon):
    """Returns after three turns without the event and three with it. Otherwise, if the machine
    changed its cost meanwhile, "more" than five times the share, for which it is disabled, or
    "less" than the share."""

    def at_least(look):
        return daemon.status()["budget"]["looks"] >= look

    def disabled_for_good():
        return "is disabled" in daemon.log() or "is counted, not timed" in daemon.log()

    for _ in range(3):
        look = daemon.status()["budget"]["looks"] + 10
        wait_for(
            lambda look=look: daemon.event("work")["disabled"] or at_least(look),
            "a turn without it",
        )
        said, one = lagtrap(daemon, "status"), daemon.event("work")
        if disabled_for_good() or not one["disabled"]:
            return "more" if disabled_for_good() else "less"
        check("partly" in said and "of the time to stay within the budget" in said, said)
        check("of the time, currently off: its markers took" in one["problem"], one)
        wait_for(lambda: daemon.event("work")["armed"] or disabled_for_good(), "a turn with it")
        wait_for(
            lambda runs=one["runs"]: daemon.event("work")["runs"] > runs + 100
            or disabled_for_good(),
            "runs of that turn",
        )
    return "more" if disabled_for_good() else ""


def what_is_not_far_too_dear_is_watched_in_part():
    """At about twice the share, as measured on this machine: on and off in turns, and each run
    stands for those in between.

    The cost of a hit changes by the second on a shared machine, so the share follows it until it
    is in between.
    """
    event = library_event("work", PLANTED, "1h", attributes='record="runs"')
    with Watched(PLANTED, "--fast", 3_000_000, "--gap-us", 50, "--wait") as program:
        program.go()
        nothing_else = (
            '<history length="0s" early-share="0%" times="no"/><runs limit-per-second="100000"/>'
        )
        with Daemon(event, budget='disable="none" interval="1s"', more=nothing_else) as daemon:
            wait_for(
                lambda: daemon.status()["budget"]["program_measured"], "the programs to be measured"
            )
            before, looks, began = (
                daemon.event("work")["hits"],
                daemon.status()["budget"]["looks"],
                time.monotonic(),
            )
            wait_for(lambda: daemon.status()["budget"]["looks"] >= looks + 4, "four looks")
            hits_per_second = (daemon.event("work")["hits"] - before) / (time.monotonic() - began)
            one = daemon.status()["budget"]
        # In the middle of the range watched in part, one to five times the share: the daemon itself
        # may take up to half of the share, and on a busy machine the program makes fewer hits.
        share = 100 * hits_per_second * (one["program_ns"] + one["probe_ns"]) / 1e9 / 2.2
        tried = []
        while not tried or tried[-1][1]:
            check(len(tried) < 8, f"no share is between its cost and a fifth of that: {tried}")
            with Daemon(
                event,
                budget=f'share="{share:.2f}%" disable="events" interval="1s"',
                more=nothing_else,
            ) as daemon:
                tried.append((share, turns_in_part(daemon)))
                share *= 1.5 if tried[-1][1] == "more" else 1 / 1.5
                if tried[-1][1]:
                    continue
                check(
                    daemon.event("work")["watched_share"] >= 0.19,
                    f"{daemon.event('work')['watched_share']}",
                )
                check(daemon.log().count("is watched") == 1, daemon.log())
                metrics = lagtrap(daemon, "metrics")
                check(
                    'lagtrap_event_disabled{event="work"} 0' in metrics
                    and re.search(r'lagtrap_event_watched_ratio\{event="work"\} 0\.\d', metrics),
                    metrics,
                )
                daemon.stop()
                weights = {
                    one["weight"] for batch in read_spool(daemon.spool) for one in batch["runs"]
                }
        check(
            max(weights) >= 2 and weights <= {1, 2, 3, 4, 5},
            f"runs stand for {weights}; tried {tried}",
        )


def hits_by_role(daemon, event):
    hits = {}
    for marker in daemon.event(event)["markers"]:
        hits[marker["role"]] = hits.get(marker["role"], 0) + marker["hits"]
    return hits


def stages_go_before_runs_do():
    """Begin, end and three stages: without stages the rest fits. The cost of a hit changes by
    the second on a busy machine, so the share follows it until it is between the two."""
    stages = ("prepare", "execute", "finish")
    event = library_event("work", PLANTED, "1h", attributes='record="runs"', stages=stages)
    nothing_else = '<history length="0s" early-share="0%" times="no"/>'
    share, tried = 4.0, []
    with Watched(PLANTED, "--fast", 30_000_000, "--gap-us", 50, "--wait") as program:
        program.go()
        while True:
            check(len(tried) < 12, f"no share that the stages alone are too much for: {tried}")
            with Daemon(
                event,
                budget=f'share="{share:.2f}%" disable="stages" interval="500ms" pause="6s"',
                more=nothing_else,
            ) as daemon:
                wait_for(lambda: daemon.event("work")["runs"] > 100, "runs with stages")
                looks = daemon.status()["budget"]["looks"] + 6
                wait_for(
                    lambda: daemon.event("work")["stages_disabled"]
                    or daemon.status()["budget"]["looks"] >= looks,
                    "the stages to be disabled",
                )
                tried.append((share, daemon.event("work")["stages_disabled"]))
                if not tried[-1][1]:
                    share /= 1.7
                    continue
                one = daemon.event("work")
                check(
                    one["armed"] and not one["disabled"] and one["watched_share"] == 1,
                    f"the event went with its stages: {one}",
                )
                said = lagtrap(daemon, "status")
                check(
                    "its stages have been disabled since 20" in said
                    and "runs are timed without them" in said,
                    said,
                )
                precision = one["precision"]
                check(
                    precision["stages"] == "off"
                    and precision["stages_off_since_realtime_ns"] > 0
                    and precision["timed_share"] == 1
                    and precision["count"] == "exact",
                    precision,
                )
                check(
                    'lagtrap_event_stages_disabled{event="work"} 1' in lagtrap(daemon, "metrics"),
                    "the metrics do not say so",
                )
                check(
                    "event work has no stages: the markers of its stages took" in daemon.log(),
                    daemon.log(),
                )
                before = daemon.event("work")["runs"]
                wait_for(
                    lambda: daemon.event("work")["runs"] > before + 1000, "runs without stages"
                )
                wait_for(
                    lambda: not daemon.event("work")["stages_disabled"], "the stages to come back"
                )
                hits = hits_by_role(daemon, "work")["stage"]
                wait_for(
                    lambda: hits_by_role(daemon, "work")["stage"] > hits
                    or daemon.event("work")["stages_disabled"],
                    "stages to be seen again",
                )
                daemon.stop()
                runs = [run for batch in read_spool(daemon.spool) for run in batch["runs"]]
                counts = {
                    (len(run["stages"]), run["without_stages"], run["dirty_reasons"])
                    for run in runs
                }
                check(
                    counts == {(0, 1, 0), (3, 0, 0)},
                    f"runs have all of their stages or none, and say so: {counts}",
                )
                return


def what_goes_is_counted_where_its_begins_fit():
    """The end is hit a million times a second, the begin rarely: no begin is missed while
    nothing is timed."""
    event = (
        '<event name="odd" threshold="1h" trace-length="200ms">'
        f'<begin function="calm_function" binary="{HOT.resolve()}"/>'
        f'<end function="hot_function" binary="{HOT.resolve()}"/></event>'
    )
    with Daemon(event, budget='share="5%" interval="500ms" pause="4s"') as daemon, Hot() as program:
        wait_for(lambda: daemon.event("odd")["counting"], "the event to be counted")
        check("counted, not timed" in daemon.event("odd")["problem"], daemon.event("odd"))
        said = lagtrap(daemon, "status")
        check(" counted" in said and "counted, not timed: its markers took" in said, said)

        def both():
            """The program's count before ours is requested, ours, and the program's count after
            it."""
            return program.calls()["calm"], daemon.event("odd")["counted"], program.calls()["calm"]

        first = both()
        wait_for(lambda: daemon.event("odd")["counted"] > first[1] + 20, "begins to be counted")
        last = both()
        if daemon.event("odd")["counting"]:
            counted = last[1] - first[1]
            check(last[0] - first[2] <= counted <= last[2] - first[0], f"{first} {last}")
        ends = hits_by_role(daemon, "odd")["end"]
        wait_for(
            lambda: hits_by_role(daemon, "odd")["end"] > ends, "all its markers to be watched again"
        )
        wait_for(lambda: daemon.event("odd")["counting"], "it to be counted again")
        check(
            'lagtrap_event_counted_total{event="odd"} ' in lagtrap(daemon, "metrics"),
            "the metrics do not say so",
        )


def it_comes_back_when_it_is_calm():
    with Daemon(EVENTS, budget='share="1%" interval="300ms" pause="1s"') as daemon:
        with Hot() as program:
            wait_until_disabled(daemon)
            program.process.kill()
            program.process.wait()
        wait_for(lambda: daemon.event("hot")["armed"], "the event to be armed again")
        check(
            not daemon.event("hot")["disabled"] and daemon.event("hot")["problem"] == "",
            "it is armed and called disabled",
        )
        runs = daemon.event("hot")["runs"]
        with Hot() as program:
            wait_for(lambda: daemon.event("hot")["runs"] > runs, "the armed event to count")


def a_loaded_machine_does_not_make_hits_dearer():
    """A program that waits for its CPU during a hit waits for others, not for lagtrap."""
    event = library_event("tick", BURST, "1h")
    with Daemon(
        event, budget='share="0.1%" disable="none" interval="1s"'
    ) as daemon, subprocess.Popen(
        ["taskset", "-c", "0", "nice", "-n", "19", BURST, "--threads", "1", "--seconds", "600"],
        stdout=subprocess.DEVNULL,
    ) as burst:

        def reckoned():
            """The estimated cost of a hit, three checks later."""
            wait_for(
                lambda: daemon.status()["budget"]["program_measured"], "the programs to be measured"
            )
            looks = daemon.status()["budget"]["looks"]
            wait_for(lambda: daemon.status()["budget"]["looks"] >= looks + 3, "three looks")
            return daemon.status()["budget"]["program_ns"]

        try:
            alone = reckoned()
            # The others have 70 times the weight: in a hit, 69 of 70 moments are theirs.
            with subprocess.Popen(
                ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]
            ) as other:
                try:
                    crowded = reckoned()
                finally:
                    other.kill()
        finally:
            burst.kill()
        check(
            crowded < 4 * alone and alone < 4 * crowded,
            f"{alone} ns alone, {crowded} ns beside others",
        )


def recordings_do_not_count_against_events():
    """The cost of recordings does not count as watching: a check during a recording finds almost
    nothing."""
    event = library_event("work", PLANTED, "1h", "3s")
    with Daemon(
        event, budget='share="1%" interval="300ms" recording-share="100%" disable="events stacks"'
    ) as daemon, Watched(
        PLANTED, "--kind", "cpu", "--fast", 0, "--slow-ms", 4000, "--wait"
    ) as load:
        load.go()
        looks = daemon.status()["budget"]["looks"]
        check(daemon.ask("trigger", event="work")["ok"], "no recording")
        found = []

        def recorded():
            status = daemon.status()
            # One check may have come before the recording began.
            if status["state"] == "recording" and status["budget"]["looks"] >= looks + 2:
                found.append(status["budget"]["used_ppm"])
            return status["state"] != "recording"

        wait_for(recorded, "the recording's end")
        # The next check includes the end of the recording.
        looks = daemon.status()["budget"]["looks"]
        after = wait_for(
            lambda: (budget := daemon.status()["budget"])["looks"] > looks and budget,
            "the look after it",
        )
        found += [after["used_ppm"]] if after["looks"] == looks + 1 else []
        check(found and max(found) < 10_000, f"millionths of a CPU: {found}")
        check(daemon.event("work")["armed"], daemon.event("work")["problem"])


def nothing_is_disabled_that_is_not_named():
    with Daemon(EVENTS, budget='share="0.2%" interval="200ms" disable="stacks"') as daemon, Hot():
        wait_for(
            lambda: daemon.status()["budget"]["exhausted"],
            "the status to say that the share is passed",
        )
        check(daemon.event("hot")["armed"], "an event was disabled that the settings keep")
        check("over the limit" in lagtrap(daemon, "status"), "the status text does not say so")


def stacks_at_markers_are_disabled():
    event = library_event("tick", BURST, "1h", attributes='record="runs" stacks="markers"')
    with Daemon(
        event,
        more='<runs limit-per-second="100000"/>',
        budget='share="0.5%" interval="300ms" pause="1h" disable="stacks"',
    ) as daemon:
        with subprocess.Popen([BURST, "--seconds", "120"], stdout=subprocess.DEVNULL) as burst:
            try:
                wait_for(
                    lambda: daemon.event("tick")["stacks_disabled"], "the stacks to be disabled"
                )
                check(daemon.event("tick")["armed"], "the event went with its stacks")
                runs = daemon.event("tick")["runs"]
                wait_for(lambda: daemon.event("tick")["runs"] > runs, "its runs to be counted on")
            finally:
                burst.kill()


def a_recording_gives_up_what_costs_most():
    """With a tiny share any recording exceeds it, so everything that can be disabled is, and the
    bundle says so."""
    event = library_event("work", PLANTED, "1h", "4s")
    # At the default interval, the samples of one thread are about a tenth of the cost, and a
    # smaller part is not worth disabling.
    with Daemon(
        event, recording='sample-interval="250us"', budget='recording-share="0.1%"'
    ) as kept, Watched(PLANTED, "--kind", "cpu", "--fast", 0, "--slow-ms", 6000, "--wait") as load:
        load.go()
        check(kept.ask("trigger", event="work")["ok"], "no recording")
        quality = report(kept.wait_for_bundles(1)[0])["quality"]
        check(
            any("call stacks every" in sentence for sentence in quality["omitted"]),
            f"{quality['omitted']}",
        )
        check("is reduced to stay within the budget" in kept.log(), "the log says nothing")
    with Daemon(event.replace("4s", "1s"), budget='recording-share="0.1%" disable="none"') as kept:
        check(kept.ask("trigger", event="work")["ok"], "no recording")
        quality = report(kept.wait_for_bundles(1)[0])["quality"]
        check(quality["omitted"] == [], f"given up what the settings keep: {quality['omitted']}")


class Switching(OwnedProcess):
    """Two processes on one CPU that pass a byte back and forth, with a context switch each time."""

    def __init__(self, cpu):
        self.process = subprocess.Popen(
            [
                "taskset",
                "-c",
                str(cpu),
                sys.executable,
                "-c",
                "import os\n(a, b), (c, d) = os.pipe(), os.pipe()\nchild = os.fork()\n"
                "if child == 0:\n    os.close(b)\n    os.close(c)\n"
                "    while os.read(a, 1): os.write(d, b'x')\n    os._exit(0)\n"
                "os.close(a)\nos.close(d)\nwhile True:\n    os.write(b, b'x')\n    os.read(c, 1)\n",
            ]
        )


def what_explains_the_time_before_a_breach_goes_first_and_comes_back():
    def given_up(daemon):
        history = daemon.status()["history"]
        return history["again_in_seconds"] > 0 and history["times_again_in_seconds"] > 0

    def one_delay():
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 20, "--gap-us", 1000, "--slow-ms", 120, "--wait"
        ) as program:
            program.go().result()

    with Daemon(
        library_event("work", PLANTED, "100ms", "100ms"),
        budget='share="1%" interval="200ms" disable="history times" pause="2s"',
    ) as daemon:
        with contextlib.ExitStack() as others:
            for cpu in sorted(os.sched_getaffinity(0)):
                others.enter_context(Switching(cpu))
            wait_for(lambda: given_up(daemon), "history and times to be given up")
            shown = lagtrap(daemon, "status")
            check(
                "the time before a breach is not kept, to stay within the budget" in shown
                and "the time of runs is not broken down, to stay within the budget" in shown,
                f"status says {shown}",
            )
            one_delay()
            daemon.wait_until_recorded()
        bundle = daemon.wait_for_bundles(1)[0]
        told = report(bundle)
        check(
            any(
                "the time of runs is not broken down" in sentence
                for sentence in told["quality"]["omitted"]
            ),
            f"{told['quality']['omitted']}",
        )
        split = told["delays"][0]["split"]
        check(
            split["not_recorded_ns"] > 50e6 and not any(split["without_stacks"].values()),
            f"something was counted: {split}",
        )
        log = daemon.log_path.read_text()
        check(
            log.find("the time before a breach is not kept")
            < log.find("the time of runs is not broken down"),
            log,
        )
        wait_for(
            lambda: not daemon.status()["history"]["times_again_in_seconds"]
            and not daemon.status()["history"]["again_in_seconds"],
            "what was given up to come back",
        )
        one_delay()
        delay = report(next(other for other in daemon.wait_for_bundles(2) if other != bundle))[
            "delays"
        ][0]
        check(
            delay["split"]["not_recorded_ns"] < delay["duration_ns"] // 100,
            f"it did not come back: {delay['split']}",
        )


if __name__ == "__main__":
    run(
        what_explains_the_time_before_a_breach_goes_first_and_comes_back,
        a_hot_event_is_disabled,
        a_loaded_machine_does_not_make_hits_dearer,
        recordings_do_not_count_against_events,
        what_is_not_far_too_dear_is_watched_in_part,
        stages_go_before_runs_do,
        what_goes_is_counted_where_its_begins_fit,
        it_comes_back_when_it_is_calm,
        nothing_is_disabled_that_is_not_named,
        stacks_at_markers_are_disabled,
        a_recording_gives_up_what_costs_most,
    )
