"""A delay names the request that held it up, and nobody innocent."""

from lagtrap_test import BUILD_DIR, Daemon, Watched, check, report, run

PROGRAM = (BUILD_DIR / "tests/integration/programs/held_requests").resolve()
CHECKOUT, REPORT = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"


def events():
    def event(name, threshold, begin):
        return (
            f'<event name="{name}" threshold="{threshold}" trace-length="3s" binary="{PROGRAM}" '
            f'copies="none"><begin function="serve_{name}"{begin}/>'
            f'<end function="serve_{name}" side="return"/></event>'
        )

    traced = ' trace-id="arg1"'
    return (
        event("checkout", "60ms", traced)
        + event("report", "60ms", traced)
        + event("ping", "1h", "")
    )


def edges_of(delays):
    """For each delay that another request held up: its event, and those of the other one."""
    return {
        (
            delay["event"],
            edge["request"]["event"],
            edge["request"]["trace_id"],
            edge["how"],
            edge["place"],
        )
        for delay in delays
        for edge in delay["cause"].get("held_up_by", [])
    }


def two_requests_hold_each_other_up():
    with Daemon(events()) as daemon, Watched(PROGRAM, CHECKOUT, REPORT, "--wait") as program:
        program.go()
        check(program.process.stdout.readline() == "{}\n", "the program did not end its requests")
        # On a busy machine, the second pair of requests may have a recording of its own.
        delays = [
            delay for bundle in daemon.wait_for_bundles(1) for delay in report(bundle)["delays"]
        ]
        sentences = [sentence for delay in delays for sentence in delay["cause"]["sentences"]]
        check(
            edges_of(delays)
            == {
                ("checkout", "report", REPORT, "lock", "compute_ms"),
                ("report", "checkout", CHECKOUT, "lock", "compute_ms"),
            },
            f"{edges_of(delays)} in {sentences}",
        )
        for words in (
            f'in a run of "report" (trace {REPORT[:8]}…) that',
            f'in a run of "checkout" (trace {CHECKOUT[:8]}…) that',
        ):
            check(any(words in sentence for sentence in sentences), f"{words}: {sentences}")
        check(not any("ping" in sentence for sentence in sentences), f"innocent: {sentences}")


if __name__ == "__main__":
    run(two_requests_hold_each_other_up)
