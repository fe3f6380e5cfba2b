"""Planted delays of known size: the report names the planted function and its share."""

from lagtrap_test import PLANTED, Daemon, Watched, check, check_trace, library_event, report, run

STAGES = ("prepare", "execute", "finish")
SLOW_MS = 300
THRESHOLD = "200ms"  # a fast run may have to wait for a CPU for long


def planted(kind, *options):
    """A capture of the slow run of this kind; returns its report's first delay, and the
    program's output."""
    with Daemon(library_event("work", PLANTED, THRESHOLD, "600ms", STAGES)) as daemon:
        with Watched(
            PLANTED,
            "--kind",
            kind,
            "--fast",
            50,
            "--slow-ms",
            SLOW_MS,
            "--wait",
            "--directory",
            daemon.folder,
            *options,
        ) as program:
            told = program.go().result()
        bundles = daemon.wait_for_bundles(1)
        check(len(bundles) == 1, f"{len(bundles)} bundles for one delay")
        counted = daemon.event("work")
        check(
            counted["runs"] == told["runs"], f"{counted['runs']} runs counted, {told['runs']} made"
        )
        check(counted["delays"] == 1, f"{counted['delays']} delays counted")
        check_trace(bundles[0])
        delays = report(bundles[0])["delays"]
        check(len(delays) == 1, f"{len(delays)} delays reported")
        return delays[0], told


def check_delay(delay, told):
    check(delay["first"] and delay["begin_tid"] == told["tid"], f"the wrong run: {delay}")
    check(
        told["slow_inner_ns"] <= delay["duration_ns"] <= told["slow_outer_ns"],
        f"{delay['duration_ns']} ns, {told}",
    )
    check(
        [stage["name"] for stage in delay["stages"] if stage["name"]] == list(STAGES),
        f"stages {delay['stages']}",
    )
    parts = delay["split"]
    total = sum(
        parts[part] for part in ("on_cpu_ns", "runnable_ns", "blocked_ns", "not_recorded_ns")
    )
    check(
        total == parts["wall_ns"] == delay["duration_ns"],
        f"the parts add up to {total} of {parts['wall_ns']}",
    )


def share_of(functions, name, split):
    """As a share of the recorded time in which the thread ran or was blocked; waiting for a CPU
    does not count as any function's."""
    times = [
        function["on_cpu_ns"] + function["blocked_ns"]
        for function in functions
        if function["name"].startswith(name)
    ]
    check(times, f"{name} is not among {[function['name'] for function in functions]}")
    before = split["without_stacks"]  # in which no function is known
    return times[0] / (
        split["on_cpu_ns"] + split["blocked_ns"] - before["on_cpu_ns"] - before["blocked_ns"]
    )


def check_share(share, wanted, what):
    check(abs(share - wanted) <= 0.1, f"share of {what} is {share:.2f}, planted {wanted:.2f}")


def check_planted(kind, *options):
    delay, told = planted(kind, *options)
    check_delay(delay, told)
    share = share_of(delay["functions"], told["planted_function"], delay["split"])
    check_share(share, told["planted_ns"] / told["slow_outer_ns"], told["planted_function"])
    return delay


def cpu():
    delay = check_planted("cpu")
    check(
        delay["split"]["blocked_ns"] < 0.1 * delay["split"]["wall_ns"],
        f"a CPU-bound delay is split as {delay['split']}",
    )


def sleep():
    delay = check_planted("sleep")
    check(
        delay["split"]["blocked"][0]["reason"] == "sleep", f"blocked by {delay['split']['blocked']}"
    )


def fsync():
    delay = check_planted("fsync")
    check(
        any(entry["reason"] == "disk" for entry in delay["split"]["blocked"]),
        f"blocked by {delay['split']['blocked']}",
    )


def page_faults():
    check_planted("fault")


def lock():
    """The event's thread waits for a lock; the holder, another thread, is named with what it
    did."""
    delay, told = planted("lock")
    check_delay(delay, told)
    check(
        delay["split"]["blocked"][0]["reason"] == "lock (futex)",
        f"blocked by {delay['split']['blocked']}",
    )
    holder = delay["wakers"][0]
    check(holder["thread"] == "lock-holder", f"woken by {holder}")
    check_share(
        share_of(holder["functions"], told["planted_function"], holder["split"]),
        1.0,
        told["planted_function"],
    )


if __name__ == "__main__":
    run(cpu, sleep, fsync, page_faults, lock)
