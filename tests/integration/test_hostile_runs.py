"""A user who runs a watched program alongside another user: the other's delays are still
recorded."""

import json
import os
import shutil
import subprocess

from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    library_event,
    report,
    require_bpf,
    run,
    wait_for,
)
from user_namespace import Process, UserNamespace

PROGRAM = PROGRAMS / "hostile_neighbour" / "hostile_neighbour"
HARMED_UID, HOSTILE_UID = 64001, 64002  # users that no machine knows


class Neighbour(OwnedProcess):
    """The hostile user's process."""

    def __init__(self, program, *arguments, uid=HOSTILE_UID):
        self.process = subprocess.Popen(
            [program, *[str(part) for part in arguments]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=uid,
            group=uid,
            extra_groups=[],
        )

    def says(self):
        line = self.process.stdout.readline()
        check(line, "the hostile neighbour ended")
        return line.strip()


class Harmed(Watched):
    """The other user's process, which makes short requests and, on request, one of 300 ms."""

    def __init__(self, program):
        super().__init__(program, "serve", user=HARMED_UID, group=HARMED_UID, extra_groups=[])

    def be_slow_once(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == "counting\n", "no slow request")
        return int(self.process.stdout.readline())


class Watch(Daemon):
    """A daemon that watches a copy of the program."""

    def __init__(self, make_events, **options):
        super().__init__("", **options)
        self.program = self.folder / "watched"
        shutil.copy(PROGRAM, self.program)
        os.chmod(self.program, 0o755)
        self.write_settings(make_events(self.program))


def request(program):
    return library_event("request", program, "100ms", "1s")


def keyed(program):
    return library_event("keyed", program, "1h", more="<key/>")


def lagtrap(daemon, command, *arguments):
    done = subprocess.run(
        [LAGTRAP, command, "--socket", daemon.socket_path, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, done.stderr)
    return done.stdout


def explained(daemon, harmed, bundles):
    """The harmed user's slow request is recorded, and the lock's holder is named."""
    took_ns = harmed.be_slow_once()
    check(took_ns > 150e6, f"the slow request took {took_ns} ns")
    found = [
        (bundle, delay)
        for bundle in daemon.wait_for_bundles(bundles)
        for delay in report(bundle)["delays"]
        if delay["begin_pid"] == harmed.process.pid
    ]
    check(found, "the delay is in no recording")
    bundle, delay = found[0]
    check(delay["duration_ns"] > 200e6, f"another delay: {delay}")
    text = subprocess.run(
        [LAGTRAP, "report", bundle], capture_output=True, text=True, timeout=60
    ).stdout
    check("counter" in text, f"the holder of the lock is not named: {text}")


def hits_in_a_loop_are_the_loops_alone():
    budget = 'share="5%" interval="500ms" pause="1h"'
    with Watch(request, budget=budget) as daemon, Harmed(daemon.program) as harmed:
        wait_for(lambda: daemon.event("request")["runs"] > 5, "requests")
        with Neighbour(daemon.program, "hit", 2):
            limits = wait_for(
                lambda: daemon.event("request")["limits"], "the hostile user to be limited"
            )
            check([limit["uid"] for limit in limits] == [HOSTILE_UID], f"limited: {limits}")
            limited = daemon.event("request")["limited"]
            wait_for(
                lambda: daemon.event("request")["limited"] > limited + 100_000,
                "hits that do nothing but count",
            )
            looks = daemon.status()["budget"]["looks"]
            wait_for(lambda: daemon.status()["budget"]["looks"] > looks + 4, "four looks")
            event = daemon.event("request")
            check(
                event["armed"] and not event["disabled"],
                f"the event is disabled: {event['problem']}",
            )
            check(
                event["unmatched_ends"] == 0,
                f"pairs were torn: {event['unmatched_ends']} ends without a begin",
            )
            explained(daemon, harmed, 1)
            status = lagtrap(daemon, "status")
            check(
                f"not watched for user {HOSTILE_UID}" in status,
                f"the status does not say who: {status}",
            )
            check(
                f"user {HOSTILE_UID}" in lagtrap(daemon, "explain", "request"),
                "nor does the explanation",
            )
            check(
                'lagtrap_event_limited_parties{event="request"} 1' in lagtrap(daemon, "metrics"),
                "nor the metrics",
            )


def limited_hits(daemon):
    """The users whose hits are limited once two checks have changed nothing, without the wording
    for people."""

    def settled():
        before, looks = daemon.event("request")["limits"], daemon.status()["budget"]["looks"]
        wait_for(lambda: daemon.status()["budget"]["looks"] > looks + 2, "looks")
        after = daemon.event("request")["limits"]
        return after if after and len(after) == len(before) else None

    limits = wait_for(settled, "limits")
    return [{key: limit[key] for key in ("uid", "namespace") if key in limit} for limit in limits]


def subordinate_users_have_their_owners_share():
    budget = 'share="5%" interval="500ms" pause="1h"'
    with Watch(request, budget=budget) as daemon, Harmed(daemon.program) as harmed, UserNamespace(
        HOSTILE_UID
    ) as users:
        wait_for(lambda: daemon.event("request")["runs"] > 5, "requests")
        with users.start(0, daemon.program, "hit", 1), users.start(
            1, daemon.program, "hit", 1
        ), users.start(64, daemon.program, "hit", 1):
            limits = limited_hits(daemon)
            check(limits == [{"uid": HOSTILE_UID}], f"limited: {limits}")
            explained(daemon, harmed, 1)


def root_of_a_container_is_not_the_machines():
    """Nor are its other users those of the machine with the same numbers."""
    budget = 'share="5%" interval="500ms" pause="1h"'
    inside = 'setpriv --reuid=%d --clear-groups "$@" & exec "$@"' % HARMED_UID
    with Watch(request, budget=budget) as daemon, Harmed(daemon.program) as harmed:
        wait_for(lambda: daemon.event("request")["runs"] > 5, "requests")
        with Process(
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            inside,
            "sh",
            daemon.program,
            "hit",
            1,
        ):
            limits = limited_hits(daemon)
            check(len(limits) == 1 and limits[0].get("namespace"), f"limited: {limits}")
            explained(daemon, harmed, 1)
            status = lagtrap(daemon, "status")
            check(
                f"not watched for container {limits[0]['namespace']}" in status,
                f"the status does not say who: {status}",
            )


def a_limited_user_is_tried_again():
    budget = 'share="5%" interval="300ms" pause="1s"'
    with Watch(request, budget=budget) as daemon, Harmed(daemon.program):
        wait_for(lambda: daemon.event("request")["runs"] > 5, "requests")
        with Neighbour(daemon.program, "hit", 1):
            wait_for(lambda: daemon.event("request")["limits"], "the hostile user to be limited")
        wait_for(lambda: not daemon.event("request")["limits"], "the limit to end")
        with Neighbour(daemon.program, "be_slow"):
            wait_for(
                lambda: daemon.event("request")["max_ns"] > 50e6,
                "runs that only the hostile user has",
            )


def a_hot_process_goes_before_the_others_of_its_user():
    budget = 'share="5%" interval="500ms" pause="1h"'
    with Watch(request, budget=budget) as daemon, Neighbour(
        daemon.program, "hit", 1
    ) as hot, Neighbour(daemon.program, "be_slow"):
        hot_pid, uid = hot.process.pid, HOSTILE_UID
        limits = wait_for(lambda: daemon.event("request")["limits"], "the process to be limited")
        check(
            [(limit["uid"], limit["pid"]) for limit in limits] == [(uid, hot_pid)],
            f"limited: {limits}",
        )


# By default, the table of open runs is as large as the machine's memory allows.
FEW_OPEN_RUNS = 'disable="none" open-runs="7168"'


def keys_without_end_leave_room():
    events = lambda program: request(program) + keyed(program)
    with Watch(events, budget=FEW_OPEN_RUNS) as daemon, Neighbour(
        daemon.program, "open_keys", 100_000
    ) as hostile:
        check(hostile.says() == "opened", "no keys")
        full = daemon.event("keyed")
        check(full["open"] > 6000, f"the table is not full: {full['open']}")
        with Harmed(daemon.program) as harmed:
            wait_for(lambda: daemon.event("request")["runs"] > 100, "requests")
            event = daemon.event("request")
            check(
                event["lost"] == 0 and event["unmatched_ends"] <= 1, f"requests were lost: {event}"
            )
            explained(daemon, harmed, 1)


def the_same_event_has_room_for_both():
    keyed_too = lambda program: library_event("keyed", program, "1h", more="<key/>")
    with Watch(keyed_too, budget=FEW_OPEN_RUNS) as daemon, Neighbour(
        daemon.program, "open_keys", 100_000
    ) as hostile:
        check(hostile.says() == "opened", "no keys")
        before = daemon.event("keyed")
        with Neighbour(daemon.program, "open_keys", 500, uid=HARMED_UID) as other:
            check(other.says() == "opened", "no keys")
            after = daemon.event("keyed")
            # Runs they evicted are runs of the event too, so it has as many open.
            gone = after["expired"] + after["lost"] - before["expired"] - before["lost"]
            check(gone <= 500 + 5 and after["open"] >= before["open"] - 5, f"{before} {after}")
        wait_for(
            lambda: daemon.event("keyed")["open"] < before["open"] - 400,
            "the other user's to be swept",
        )


def planted_delays_leave_recordings_for_others():
    planted = lambda program: library_event("request", program, "50ms", "200ms")
    with Watch(planted, recording='cool-down="100ms" captures-per-hour="6"') as daemon, Harmed(
        daemon.program
    ) as harmed:
        wait_for(lambda: daemon.event("request")["runs"] > 5, "requests")
        with Neighbour(daemon.program, "be_slow"):
            without = wait_for(
                lambda: daemon.status()["captures"]["users_without"], "the share to be used up"
            )
            check([user.get("uid") for user in without] == [HOSTILE_UID], f"limited: {without}")
            wait_for(
                lambda: daemon.status()["captures"]["skipped_user_share"] > 3,
                "delays that begin nothing",
            )
            check(
                daemon.status()["captures"]["done"] + daemon.status()["captures"]["waiting"] <= 3,
                "more than half",
            )
            explained(daemon, harmed, 4)
            status = lagtrap(daemon, "status")
            check(
                f"user {HOSTILE_UID} reached half of captures-per-hour" in status,
                f"the status does not say who: {status}",
            )


def a_race_for_keys_harms_no_other_event():
    """Begins, stages and ends of a few keys from many threads at once. Another event's runs are
    intact, no raced run vanishes, and each nesting releases its slots."""
    for nesting in ("each", "outermost", "restart"):
        events = lambda program: (
            library_event("request", program, "1h", stages=["half"])
            + library_event(
                "raced",
                program,
                "1h",
                stages=["half"],
                more="<key/>",
                attributes=f'nesting="{nesting}"',
            )
        )
        with Watch(events) as daemon:
            with Neighbour(daemon.program, "race", 100_000) as racing:
                made = json.loads(racing.says())
                calm, raced = daemon.event("request"), daemon.event("raced")
                whole = {
                    "runs": made["requests"],
                    "unmatched_begins": 0,
                    "unmatched_ends": 0,
                    "unmatched_stages": 0,
                    "lost": 0,
                    "open": 0,
                }
                found = {key: calm[key] for key in whole}
                check(found == whole, f"{nesting}: {found} instead of {whole}")
                check(
                    raced["open"] <= 7 * 64,
                    f"{nesting}: {raced['open']} runs of seven keys are open",
                )
                began = next(
                    marker["hits"] for marker in raced["markers"] if marker["role"] == "begin"
                )
                check(
                    abs(began - made["raced"]) <= made["raced"] // 1000,
                    f"{began} of {made['raced']} begins counted",
                )
                if nesting != "outermost":  # whose inner begins open nothing
                    accounted = sum(
                        raced[key]
                        for key in (
                            "runs",
                            "unmatched_begins",
                            "abandoned",
                            "lost",
                            "expired",
                            "too_deep",
                            "open",
                        )
                    )
                    check(
                        accounted == made["raced"],
                        f"{nesting}: {accounted} of {made['raced']} begins accounted for",
                    )
            wait_for(lambda: daemon.event("raced")["open"] == 0, "the slots to be given back")


if __name__ == "__main__":
    require_bpf()
    run(
        hits_in_a_loop_are_the_loops_alone,
        subordinate_users_have_their_owners_share,
        root_of_a_container_is_not_the_machines,
        a_limited_user_is_tried_again,
        keys_without_end_leave_room,
        the_same_event_has_room_for_both,
        planted_delays_leave_recordings_for_others,
        a_race_for_keys_harms_no_other_event,
    )
