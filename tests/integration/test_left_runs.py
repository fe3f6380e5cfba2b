"""Runs that end without their usual end: functions left by exceptions, queries that fail. They
are not delays, and start no recording."""

import subprocess

from lagtrap_test import PROGRAMS, Daemon, Watched, check, run, wait_for
from test_postgresql import BIN, Postgres

LEAVES = (PROGRAMS / "leaves").resolve()
THRESHOLD_NS = 30_000_000


def check_left(*arguments):
    event = (
        f'<event name="request" threshold="{THRESHOLD_NS}ns" trace-length="100ms" copies="none">'
        f'<function name="handle_request" binary="{LEAVES}"/></event>'
    )
    with Daemon(event) as daemon, Watched(LEAVES, *arguments) as program:
        program.go()
        # The last one's thread then waits, and begins no other.
        wait_for(
            lambda: daemon.event("request")["left_by_exception"] == 20,
            "the calls that were left to be known as such",
        )
        counted = daemon.event("request")
        # On a busy machine a call can be slow, too.
        slow = sum(
            bucket["count"] for bucket in counted["histogram"] if bucket["to_ns"] > THRESHOLD_NS
        )
        check(counted["delays"] <= slow, f"{counted['delays']} delays, {slow} slow calls")
        check(slow > 0 or not daemon.bundles(), "calls that were left made a recording")
        for name, count in {
            "runs": 80,
            "abandoned": 20,
            "open": 0,
            "unmatched_ends": 0,
            "unmatched_begins": 0,
        }.items():
            check(counted[name] == count, f"{name}: {counted[name]}, not {count}")
        told = program.go().result()
        check(told == {"returned": 80, "thrown": 20}, f"{told}")


def functions_left_by_exceptions():
    check_left()


def the_same_on_a_threads_own_stack():
    check_left("thread")


def queries_that_fail():
    """A session whose statements fail, and which is then idle: its server process waits for it,
    and no query is slow."""
    count, threshold_ns = 5, 200_000_000
    with Postgres() as postgres, Daemon(
        '<use preset="postgresql" events="postgresql-query postgresql-execute"/>'
    ) as daemon:
        session = subprocess.Popen(
            postgres.command(BIN / "psql", "-h", postgres.folder, "-q", "postgres"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
        )

        def ask(statement):
            session.stdin.write(statement + ";\n")
            session.stdin.flush()

        try:
            wait_for(
                lambda: daemon.event("postgresql-query")["processes"] > 0,
                "PostgreSQL to be watched",
            )
            ask("select 1")
            wait_for(lambda: daemon.event("postgresql-query")["runs"] > 0, "a query to be seen")
            for _ in range(count):
                ask("select 1 / (i - 1) from generate_series(1, 2) as i")  # fails during execution
            wait_for(
                lambda: daemon.event("postgresql-query")["failed"] == count, "the queries to fail"
            )
            # The last one is recognised by what its process does at the deadline.
            wait_for(
                lambda: daemon.event("postgresql-execute")["left_by_exception"] == count,
                "their executions to be given up",
            )
            for name in ("postgresql-query", "postgresql-execute"):
                event = daemon.event(name)
                slow = sum(
                    bucket["count"]
                    for bucket in event["histogram"]
                    if bucket["to_ns"] > threshold_ns
                )
                check(event["delays"] <= slow, f"{event['delays']} delays, {slow} slow runs")
                check(
                    event["open"] == event["unmatched_begins"] == event["unmatched_ends"] == 0,
                    f"{event}",
                )
                check(event["pairing"] == [], f"{event['pairing']}")
        finally:
            session.kill()
            session.wait()


if __name__ == "__main__":
    run(functions_left_by_exceptions, the_same_on_a_threads_own_stack, queries_that_fail)
