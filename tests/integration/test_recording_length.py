"""A recording lasts until the run that started it has ended, so that it contains what ended the
run's waits."""

import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree as xml

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


def recorded(trace_length, kind, slow_ms=0, attributes="", meanwhile=lambda daemon, program: None):
    """Report and text of the only recording of a slow run of planted_delays, the recording's
    data in the system file, and the program's output."""
    with Daemon(
        library_event("work", PLANTED, "50ms", trace_length, attributes=attributes)
    ) as daemon:
        with Watched(
            PLANTED, "--kind", kind, "--fast", 20, "--slow-ms", slow_ms, "--wait"
        ) as program:
            program.go()
            meanwhile(daemon, program.process)
            told = program.result() if kind != "never" else None
            bundle = daemon.wait_for_bundles(1)[0]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "--zstd", "-xf", bundle, "-C", folder], check=True)
            system = xml.parse(pathlib.Path(folder) / "system.xml").find("recording").attrib
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        return report(bundle), text, system, told


def holder_of_a_long_wait():
    """The wait is several times as long as the trace length; its end shows what held the lock."""
    told_of, _, system, told = recorded("100ms..10min", "lock", slow_ms=1500)
    delay = told_of["delays"][0]
    check(
        delay["first"] and not delay["open"], f"the recording does not have the run's end: {delay}"
    )
    check(delay["duration_ns"] >= told["slow_inner_ns"], f"{delay['duration_ns']} ns, {told}")
    check(
        delay["wakers"] and delay["wakers"][0]["thread"] == "lock-holder",
        f"woken by {delay['wakers']}",
    )
    check(system["end"] == "run-end", f"ended by {system['end']}")
    check(int(system["trace-length-ns"]) == 100_000_000, system["trace-length-ns"])
    check(int(system["trace-length-limit-ns"]) == 600_000_000_000, system["trace-length-limit-ns"])
    check(int(system["length-ns"]) > 100_000_000, f"recorded {system['length-ns']} ns")


def four_lengths_by_default():
    told_of, text, system, _ = recorded("200ms", "never")
    check(system["end"] == "limit", f"ended by {system['end']}")
    check(int(system["trace-length-limit-ns"]) == 800_000_000, system["trace-length-limit-ns"])
    check(int(system["length-ns"]) >= 800_000_000, f"recorded {system['length-ns']} ns")
    check(told_of["delays"][0]["open"], f"a run without an end has one: {told_of['delays'][0]}")
    advice = 'trace-length="200ms..3200ms" may show its end'
    check(advice in told_of["delays"][0]["open_note"], told_of["delays"][0]["open_note"])
    check("the run had not ended when the recording stopped after" in text and advice in text, text)


def run_that_will_never_end():
    """Its process is killed while the recording waits for it."""

    def kill(daemon, process):
        wait_for(
            lambda: "recording until it ends" in daemon.log(),
            "the recording to wait for the run's end",
        )
        process.kill()

    _, _, system, _ = recorded("100ms..10min", "never", meanwhile=kill)
    check(system["end"] == "run-gone", f"ended by {system['end']}")


def as_long_as_set():
    """If both lengths are equal, or the run ended before it was noticed, nothing is waited for."""
    _, _, system, _ = recorded("100ms..100ms", "never")
    check(system["end"] == "length", f"ended by {system['end']}")
    check(int(system["trace-length-limit-ns"]) == 100_000_000, system["trace-length-limit-ns"])
    _, _, system, _ = recorded("100ms", "sleep", slow_ms=200, attributes='breach="end"')
    check(system["end"] == "length", f"ended by {system['end']}")


if __name__ == "__main__":
    run(holder_of_a_long_wait, four_lengths_by_default, run_that_will_never_end, as_long_as_set)
