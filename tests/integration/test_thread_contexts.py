"""Requests are known by the contexts that their threads publish in memory (OpenTelemetry's thread
context): of the delayed one and of the one that held it up, whatever way the program has to its
thread-local variable."""

import json

from lagtrap_test import BUILD_DIR, PROGRAMS, Daemon, Watched, check, report, run

REQUESTS = PROGRAMS / "requests"
LIBRARIES = BUILD_DIR / "tests/integration/programs"
REPORT, ORDER = "aa010203" + 24 * "0", "bb010203" + 24 * "0"


def settings(context='<context attributes="http.route tenant"/>'):
    return (
        f'{context}<event name="order" threshold="200ms" trace-length="2s" binary="{REQUESTS}" '
        'copies="none"><function name="serve_order"/></event>'
    )


def recorded(*arguments, context='<context attributes="http.route tenant"/>'):
    """The first delay of the program, and the quality of the recording."""
    with Daemon(settings(context)) as daemon, Watched(REQUESTS, 1200, *arguments) as program:
        program.go()
        (bundle,) = daemon.wait_for_bundles(1)
        found = report(bundle)
        return found["delays"][0], found


def check_requests(delay, found):
    check(delay["trace_id"] == ORDER, f"the delay's own trace: {delay['trace_id']}")
    # The holder may also have had the CPU for some microseconds.
    edges = [edge for edge in delay["cause"].get("held_up_by", []) if edge["how"] == "lock"]
    check(len(edges) == 1, f"one request held it up: {json.dumps(delay['cause'], indent=1)}")
    request = edges[0]["request"]
    expected = {
        "event": "",
        "trace_id": REPORT,
        "span_id": "a101" + 12 * "0",
        "route": "POST /report",
        "attributes": [{"name": "tenant", "value": "B"}],
    }
    told = {name: request[name] for name in expected}
    check(told == expected, f"{edges}")
    sentences = " ".join(delay["cause"]["sentences"])
    check("in POST /report (trace aa010203…, tenant=B)" in sentences, sentences)
    check("hidden-value" not in json.dumps(found), "an attribute that nobody asked for")


def requests_of_a_program():
    check_requests(*recorded())


def requests_of_a_library():
    check_requests(*recorded(LIBRARIES / "libcontexts_publisher.so"))


def requests_of_a_library_with_descriptors():
    check_requests(*recorded(LIBRARIES / "libcontexts_descriptors.so"))


def garbage_is_counted():
    delay, found = recorded("--garbage")
    check_requests(delay, found)
    lost = found["quality"]["lost"]
    check(lost.get("unreadable contexts of threads", 0) > 0, f"{lost}")


def nothing_is_read_if_the_settings_say_so():
    delay, _ = recorded(context='<context read="no"/>')
    check(delay["trace_id"] == "" and "held_up_by" not in delay["cause"], f"{delay}")


if __name__ == "__main__":
    run(
        requests_of_a_program,
        requests_of_a_library,
        requests_of_a_library_with_descriptors,
        garbage_is_counted,
        nothing_is_read_if_the_settings_say_so,
    )
