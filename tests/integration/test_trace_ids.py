"""Delays belong to the traces that their programs name, by a function's argument or a USDT
probe's, up to the spans."""

import subprocess

from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, Watched, check, report, run
from run_batches import fields

PROGRAM = (BUILD_DIR / "tests/integration/programs/traced_requests").resolve()
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
LONG = "a text that is far longer than an id of a trace, " * 2


def events(attributes='trace-length="3s"'):
    common = f'threshold="30ms" {attributes} binary="{PROGRAM}" copies="none"'
    return (
        f'<event name="by-function" {common}><begin function="serve_request" trace-id="arg1"/>'
        '<end function="serve_request" side="return"/></event>'
        f'<event name="by-probe" {common}><begin usdt="requests:begin" trace-id="arg1"/>'
        '<end usdt="requests:end"/></event>'
    )


def spans_of(bundle):
    """Name, trace, span and parent of each span of `lagtrap export --format otlp`."""
    done = subprocess.run(
        [LAGTRAP, "export", "--format", "otlp", bundle], capture_output=True, timeout=120
    )
    check(done.returncode == 0, f"lagtrap export: {done.stderr}")

    def parts(message, number):
        return [value for field, value in fields(message) if field == number]

    spans = []
    for group in parts(done.stdout, 1):
        for scope in parts(group, 2):
            for span in parts(scope, 2):
                found = dict(fields(span))
                spans.append(
                    (found[5].decode(), found[1].hex(), found[2].hex(), found.get(4, b"").hex())
                )
    return spans


def text_report(bundle, number):
    done = subprocess.run(
        [LAGTRAP, "report", "--delay", str(number), bundle],
        capture_output=True,
        text=True,
        timeout=120,
    )
    check(done.returncode == 0, f"lagtrap report: {done.stderr}")
    return done.stdout


def told_of(delay):
    return delay["trace_id"], delay["parent_span_id"], delay["no_trace_id"]


def requests_name_their_traces():
    expected = [
        (TRACEPARENT, (TRACE, PARENT, "")),
        (TRACE.upper(), (TRACE, "", "")),
        ("order <7>", ("", "", "order <7>")),
        (LONG, ("", "", LONG[:63])),
        ("-", ("", "", "")),
        ("!", ("", "", "")),
    ]
    with Daemon(events()) as daemon, Watched(
        PROGRAM, 100, *(text for text, _ in expected), "--wait"
    ) as program:
        program.go()
        (bundle,) = daemon.wait_for_bundles(1)
        lost = [daemon.event(name)["trace_texts_lost"] for name in ("by-function", "by-probe")]
        check(lost == [1, 1], f"one address of each event is where nothing is, counted: {lost}")
        status = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        check("1 trace id lost or unreadable" in status, status)
        delays = report(bundle)["delays"]
        spans = spans_of(bundle)
        for event in ("by-function", "by-probe"):
            of_event = sorted(
                (delay for delay in delays if delay["event"] == event),
                key=lambda delay: delay["begin_boottime_ns"],
            )
            check(
                [told_of(delay) for delay in of_event] == [told for _, told in expected],
                f"{event}: {[told_of(delay) for delay in of_event]}",
            )
            traces = [(trace, parent) for name, trace, _, parent in spans if name == event]
            check((TRACE, PARENT) in traces and (TRACE, "") in traces, f"{event}: {traces}")
            made = [trace for trace, parent in traces if trace != TRACE]
            check(
                len(traces) == 6
                and len(set(made)) == 4
                and all(len(trace) == 32 for trace in made),
                f"{event}: {traces}",
            )
        first = next(delay["number"] for delay in delays if delay["trace_id"])
        check(f"trace     {TRACE}" in text_report(bundle, first), text_report(bundle, first))
        wrong = next(delay["number"] for delay in delays if delay["no_trace_id"] == "order <7>")
        check(
            '"order <7>" is not a trace ID' in text_report(bundle, wrong),
            text_report(bundle, wrong),
        )


def one_that_is_noticed_at_its_end_too():
    with Daemon(events('trace-length="200ms" breach="end"')) as daemon, Watched(
        PROGRAM, 100, TRACEPARENT, "--wait"
    ) as program:
        program.go()
        bundle = daemon.wait_for_bundles(1)[0]
        (first,) = [delay for delay in report(bundle)["delays"] if delay["first"]]
        check(told_of(first) == (TRACE, PARENT, "") and not first["open"], f"{first}")


def one_that_is_open_at_the_end_of_the_recording_too():
    with (
        Daemon(events('trace-length="200ms..200ms"')) as daemon,
        Watched(PROGRAM, 600_000, TRACEPARENT, "--wait") as program,
    ):
        program.go()
        (bundle,) = daemon.wait_for_bundles(1)
        (delay,) = report(bundle)["delays"]
        check(told_of(delay) == (TRACE, PARENT, "") and delay["open"], f"{delay}")


if __name__ == "__main__":
    run(
        requests_name_their_traces,
        one_that_is_noticed_at_its_end_too,
        one_that_is_open_at_the_end_of_the_recording_too,
    )
