"""Real recordings of several hosts on a real server: causes explain the extra time of delays,
and rare reasons are not causes."""

import contextlib
import os
import shlex
import subprocess

import lagtrap_test
from lagtrap_server import Server
from lagtrap_test import PLANTED, UPLOADER, Daemon, Watched, check, library_event, run

EVENT = "work"
STAGES = ("prepare", "execute", "finish")
HOSTS = ("oak", "elm", "ash", "yew")
REAL_LAGTRAPD = lagtrap_test.LAGTRAPD.resolve()


class HostDaemon(Daemon):
    """A daemon on a host with another name: it runs in its own UTS namespace."""

    def __init__(self, host, *arguments, **options):
        super().__init__(*arguments, **options)
        self.program = self.folder / "lagtrapd-on-host"
        self.program.write_text(
            f"#!/bin/sh\nexec unshare --uts sh -c 'hostname {host} && exec \"$@\"' sh "
            f'{shlex.quote(str(REAL_LAGTRAPD))} "$@"\n'
        )
        os.chmod(self.program, 0o755)

    def start(self):
        lagtrap_test.LAGTRAPD = self.program
        try:
            super().start()
        finally:
            lagtrap_test.LAGTRAPD = REAL_LAGTRAPD


def upload(spool, server):
    done = subprocess.run(
        [UPLOADER, "--spool", spool, "--url", server.url, "--once"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, f"uploader: {done.stdout}{done.stderr}")


def causes(server, bundles):
    """The server's causes of event "work", once it has parsed this many bundles."""
    rows = server.parsed_bundles(bundles)
    check(len(rows) == bundles, f"{len(rows)} bundles, {bundles} were sent")
    check(not any(row["bad_reason"] for row in rows), f"a bundle is bad: {rows}")
    check({row["host"] for row in rows} == set(HOSTS), f"hosts {[row['host'] for row in rows]}")
    return server.get(f"/api/v1/events/{EVENT}/causes")


def record(server, host, events, rounds):
    """On one host, for each round a recording of programs that run one after another; uploads
    them, and returns their number."""
    with HostDaemon(host, events) as daemon:
        for done, plans in enumerate(rounds, 1):
            with contextlib.ExitStack() as stack:
                for program in [
                    stack.enter_context(Watched(PLANTED, *plan, "--wait")) for plan in plans
                ]:
                    program.go().result()
            daemon.wait_for_bundles(done)
        bundles = len(daemon.bundles())
        upload(daemon.spool, server)
        return bundles


@contextlib.contextmanager
def recorded(threshold, trace_length, rounds_of):
    """A server with the recordings of all hosts; returns its causes of event "work"."""
    with Server() as server:
        events = library_event(EVENT, PLANTED, threshold, trace_length, STAGES)
        told = causes(server, sum(record(server, host, events, rounds_of(host)) for host in HOSTS))
        shares = [cause["share"] for cause in told["causes"]]
        check(
            abs(sum(shares) + told["unexplained_share"] - 1) < 1e-6,
            f"shares {shares} and {told['unexplained_share']} unexplained",
        )
        yield told


def slow(kind):
    return [("--kind", kind, "--fast", 20, "--gap-us", 2000, "--slow-ms", 100)]


def planted_function_is_the_first_cause():
    with recorded("20ms", "400ms", lambda _: [slow("lock"), slow("cpu"), slow("lock")]) as told:
        check(
            told["delayed_runs"] >= 12 and told["normal_runs"] >= 100,
            f"{told['delayed_runs']}, {told['normal_runs']} runs",
        )
        check(told["silent_because"] is None and told["causes"], f"no cause: {told}")
        first = told["causes"][0]
        check(
            "planted_lock_holder" in first["title"] and first["reason"] == "lock (futex)",
            f"first is {first['title']}",
        )
        check(
            first["hosts"] == 4 and not first["single_host"] and first["affected_runs"] >= 6,
            f"{first['affected_runs']} runs on {first['hosts']} hosts",
        )
        # It has nearly all the extra time of the delays it affects. If a switch was lost (a kernel
        # that runs no programs for threads of process 1), the holder's time is unknown, and that
        # delay is attributed to nothing.
        check(
            first["share"] > 0.75 * first["affected_runs"] / told["delayed_runs"],
            f"its share is {first['share']} by {first['affected_runs']}",
        )
        check(first["q_value"] < 0.001 and first["example"], f"{first}")
        functions = [frame["function"] for frame in first["frames"]]
        check(
            any("planted_lock_wait" in function for function in functions),
            f"the waiting function is not among {functions}",
        )
        others = [cause for cause in told["causes"] if "planted_cpu_burn" in cause["title"]]
        check(
            others and others[0]["state"] == "on CPU" and not others[0]["single_host"],
            "the second cause is not among "
            f"{[(cause['title'], cause['hosts']) for cause in told['causes']]}",
        )


def a_wait_that_normal_runs_have_too_is_explained_by_how_much_longer_it_is():
    """All runs sleep nearly all the time, those above the threshold for longer; some delays wait
    for a lock instead."""
    lengths_ms = (70, 30, 65, 35, 80, 25, 75, 40, 90, 32)
    sleeps = [("--kind", "sleep", "--fast", 0, "--slow-ms", length) for length in lengths_ms]
    with recorded("50ms", "1500ms", lambda _: [sleeps, slow("lock")]) as told:
        check(
            told["delayed_runs"] >= 16 and told["normal_runs"] >= 12,
            f"{told['delayed_runs']}, {told['normal_runs']} runs",
        )
        found = {
            name: cause
            for cause in told["causes"]
            for name in ("planted_sleep", "planted_lock_holder")
            if name in cause["title"]
        }
        check(
            len(found) == 2,
            f"{[(cause['title'], cause['q_value']) for cause in told['causes']]}, "
            f"{told['silent_because']}",
        )
        sleep = found["planted_sleep"]
        check(
            sleep["state"] == "blocked" and sleep["affected_runs"] >= 8 and sleep["hosts"] == 4,
            f"{sleep}",
        )
        check(
            0 < sleep["normal_ns"] < 50e6 < sleep["normal_ns"] + sleep["excess_ns"],
            f"{sleep['excess_ns']} on {sleep['normal_ns']}",
        )
        check(found["planted_lock_holder"]["affected_runs"] >= 3, f"{found['planted_lock_holder']}")
        check(told["unexplained_share"] < 0.25, f"{told['unexplained_share']} is unexplained")


def what_is_rare_is_no_cause():
    """Each delay has a reason of its own, or shares it with one other."""
    kinds = {
        "oak": ("lock", "cpu"),
        "elm": ("sleep", "fsync"),
        "ash": ("fault", "cpu"),
        "yew": ("sleep", "fsync"),
    }
    with recorded("20ms", "400ms", lambda host: [slow(kind) for kind in kinds[host]]) as told:
        check(
            told["delayed_runs"] >= 6 and told["normal_runs"] >= 50,
            f"{told['delayed_runs']}, {told['normal_runs']} runs",
        )
        # A machine busy with other work is a true cause of all of them.
        busy = [cause for cause in told["causes"] if cause["title"] == "Waits for a CPU"]
        named = [cause["title"] for cause in told["causes"] if cause not in busy]
        check(not named, f"{named}")
        unnamed_share = told["unexplained_share"] + sum(cause["share"] for cause in busy)
        check(unnamed_share > 0.5, f"{told['unexplained_share']} is unexplained, busy: {busy}")


if __name__ == "__main__":
    run(
        planted_function_is_the_first_cause,
        a_wait_that_normal_runs_have_too_is_explained_by_how_much_longer_it_is,
        what_is_rare_is_no_cause,
    )
