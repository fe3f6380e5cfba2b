"""Runs that end without their end: functions left by exceptions. They are no delays, and begin no recording."""

from lagtrap_test import PROGRAMS, Daemon, Watched, check, run, wait_for

LEAVES = (PROGRAMS / "leaves").resolve()
THRESHOLD_NS = 30_000_000


def check_left(*arguments):
    event = (f'<event name="request" threshold="{THRESHOLD_NS}ns" trace-length="100ms" copies="none">'
             f'<function name="handle_request" binary="{LEAVES}"/></event>')
    with Daemon(event) as daemon, Watched(LEAVES, *arguments) as program:
        program.go()
        # The last one's thread goes on to wait, and begins no other.
        wait_for(lambda: daemon.event("request")["left_by_exception"] == 20, "the calls that were left to be known as such")
        counted = daemon.event("request")
        # A busy machine makes a call slow, too.
        slow = sum(bucket["count"] for bucket in counted["histogram"] if bucket["to_ns"] > THRESHOLD_NS)
        check(counted["delays"] <= slow, f"{counted['delays']} delays, {slow} slow calls")
        check(slow > 0 or not daemon.bundles(), "calls that were left made a recording")
        for name, count in {"runs": 80, "abandoned": 20, "open": 0, "unmatched_ends": 0, "unmatched_begins": 0}.items():
            check(counted[name] == count, f"{name}: {counted[name]}, not {count}")
        told = program.go().result()
        check(told == {"returned": 80, "thrown": 20}, f"{told}")


def functions_left_by_exceptions():
    check_left()


def the_same_on_a_threads_own_stack():
    check_left("thread")


if __name__ == "__main__":
    run(functions_left_by_exceptions, the_same_on_a_threads_own_stack)
