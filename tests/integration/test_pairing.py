"""Begins and ends that do not match: they make no delay, no other event suffers, and it is
reported."""

import json
import subprocess

from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)

UNPAIRED = PROGRAMS / "unpaired"


class Unpaired(Watched):
    """A program that has made its requests, and idles."""

    def __init__(self, kind):
        super().__init__(UNPAIRED, kind)
        self.go()
        check(json.loads(self.process.stdout.readline()) == {"requests": 5}, "no requests")

    def idle_past(self, daemon, event, threshold_ns):
        """Waits until the longest open run, if any, passes the threshold, and the daemon has
        checked it."""
        wait_for(
            lambda: daemon.event(event)["open"] == 0
            or daemon.event(event)["oldest_open_ns"] > 2 * threshold_ns,
            "the threshold to pass",
        )


def request_event(nesting, threshold="600ms"):
    return library_event("request", UNPAIRED, threshold, "200ms", attributes=f'nesting="{nesting}"')


def event_by_probes(nesting):
    """The same event, named after its nesting."""
    return (
        f'<event name="{nesting}" threshold="600ms" trace-length="200ms" nesting="{nesting}" '
        f'binary="{UNPAIRED.resolve()}"><begin usdt="lagtrap:request__begin"/>'
        '<end usdt="lagtrap:request__end"/></event>'
    )


def check_no_delay(daemon, event, what):
    status = daemon.status()
    check(event["delays"] == 0 and event["max_ns"] < 600e6, f"{what}: a false delay: {event}")
    check(
        status["captures"]["done"] == 0 and status["state"] == "waiting",
        f"{what}: a recording: {status['captures']}",
    )


def requests_are_not_merged():
    """Five requests of 150 ms are not a delay of 750 ms, however one begins or ends. Counts:
    runs, unmatched begins, unmatched ends."""
    wanted = {
        "leave-early": {"each": (4, 1, 0), "outermost": (4, 1, 0), "restart": (4, 1, 0)},
        "begin-twice": {"each": (5, 4, 0), "outermost": (0, 4, 0), "restart": (5, 5, 0)},
        "lose-inner-end": {"each": (5, 5, 0), "outermost": (5, 5, 0), "restart": (5, 5, 0)},
        "end-twice": {"each": (4, 1, 1), "outermost": (4, 1, 1), "restart": (4, 1, 1)},
    }
    for kind, nestings in wanted.items():
        with Daemon("".join(event_by_probes(nesting) for nesting in nestings)) as daemon, Unpaired(
            kind
        ) as program:
            for nesting, counts in nestings.items():
                program.idle_past(daemon, nesting, 600e6)
                event = daemon.event(nesting)
                check_no_delay(daemon, event, f"{kind}, {nesting}")
                found = (event["runs"], event["unmatched_begins"], event["unmatched_ends"])
                check(found == counts, f"{kind}, {nesting}: {found} instead of {counts}")


def runs_nested_in_one_frame_are_whole():
    """Which of two markers in a frame is the inner one is unknown while they are open, but known
    once they have ended."""
    with Daemon(request_event("outermost")) as daemon, Unpaired("nest-in-frame"):
        event = daemon.event("request")
        check_no_delay(daemon, event, "nested")
        check(
            (event["runs"], event["unmatched_begins"], event["unmatched_ends"], event["open"])
            == (5, 0, 0, 0),
            f"{event}",
        )
    with Daemon(request_event("outermost", "100ms")) as daemon, Unpaired("nest-in-frame"):
        found = report(daemon.wait_for_bundles(1)[0])
        check(
            found["trigger_reason"] == "end" and found["delays"][0]["duration_ns"] >= 150e6,
            f"{found['delays']}",
        )
        check(daemon.event("request")["delays"] == 5, f"{daemon.event('request')}")


def a_run_that_was_open_at_its_deadline_is_counted():
    """And once: it is a delay from the moment it is noticed."""
    with Daemon(request_event("each", "100ms")) as daemon, Watched(
        UNPAIRED, "leave-early"
    ) as program:
        program.go()
        daemon.wait_for_bundles(1)
        check(json.loads(program.process.stdout.readline()) == {"requests": 5}, "no requests")
        # The second begin restarts the first run: its end was not seen, so its delay is withdrawn.
        wait_for(lambda: daemon.event("request")["runs"] == 4, "the runs")
        event = daemon.event("request")
        check(event["delays"] == 4 and event["recordings"] >= 1, f"{event}")
    with Daemon(
        library_event("leaky", UNPAIRED, "100ms", "100ms", more="<key/>"), 'cool-down="1h"'
    ) as daemon, Unpaired("leak"):
        # Not a single end was seen, so open runs mean nothing.
        wait_for(lambda: daemon.event("leaky")["oldest_open_ns"] > 300e6, "the deadlines")
        event = daemon.event("leaky")
        check(event["delays"] == 0 and daemon.status()["captures"]["done"] == 0, f"{event}")


def a_wrong_end_does_not_blind_others():
    """An event without ends fills the table; the other's runs still find room, and the log says
    whose runs are open."""
    events = library_event("leaky", UNPAIRED, "10s", more="<key/>") + library_event(
        "good", UNPAIRED, "10s", more="<key/>"
    )
    with Daemon(events, budget='disable="none" open-runs="7168"') as daemon, Unpaired("leak"):
        good, leaky = daemon.event("good"), daemon.event("leaky")
        check(good["runs"] == 1000 and good["lost"] == 0 and good["unmatched_ends"] == 0, f"{good}")
        check(leaky["open"] > 6000 and leaky["open"] + leaky["lost"] == 20000, f"{leaky}")
        kinds = {finding["kind"] for finding in leaky["pairing"]}
        check(
            {"no-end", "crowded"} <= kinds and not good["pairing"],
            f"{leaky['pairing']} {good['pairing']}",
        )
        wait_for(
            lambda: "event leaky: 20000 begins but no end" in daemon.log(), "the log to say it"
        )
        check(daemon.log().count("20000 begins") == 1, daemon.log())
        text = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path], capture_output=True, text=True
        ).stdout
        check("20000 begins but no end" in text and "runs are open" in text, text)


def two_ends_at_once_are_one_end():
    with Daemon(library_event("raced", UNPAIRED, "10s", more="<key/>")) as daemon, Unpaired("race"):
        event = daemon.event("raced")
        check(
            (event["runs"], event["unmatched_ends"], event["open"], event["lost"])
            == (20000, 20000, 0, 0),
            f"{event}",
        )


def every_marker_is_counted():
    with Daemon(request_event("each")) as daemon, Unpaired("leave-early"):
        begin, end = daemon.event("request")["markers"]
        check((begin["role"], begin["hits"], begin["unmatched"]) == ("begin", 5, 1), f"{begin}")
        check((end["role"], end["hits"], end["unmatched"]) == ("end", 4, 0), f"{end}")
        check(
            begin["marker"] == "USDT probe lagtrap:request__begin"
            and begin["binary"] == str(UNPAIRED.resolve()),
            f"{begin}",
        )
        check(begin["last_realtime_ns"] <= end["last_realtime_ns"], f"{begin} {end}")


if __name__ == "__main__":
    run(
        requests_are_not_merged,
        runs_nested_in_one_frame_are_whole,
        a_run_that_was_open_at_its_deadline_is_counted,
        a_wrong_end_does_not_blind_others,
        two_ends_at_once_are_one_end,
        every_marker_is_counted,
    )
