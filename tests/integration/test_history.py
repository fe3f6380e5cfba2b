"""The machine's last seconds before a breach: what had the CPUs, what waited for disks, and what
runs waited for, if no recording had begun early."""

import os
import signal
import subprocess

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)

SCHEDULE = PROGRAMS / "schedule"
LATE = '<history length="5s" early-share="0%"/>'


class Burner(OwnedProcess):
    """A program with an unusual name that computes."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", "printf burner-of-cpus > /proc/$$/comm; while :; do :; done"]
        )


def delayed_run(daemon):
    with Watched(PLANTED, "--kind", "sleep", "--fast", 0, "--slow-ms", 150, "--wait") as program:
        program.go().result()
    return report(daemon.wait_for_bundles(1)[0])["delays"][0]


def who_had_the_cpus_is_known_though_he_is_gone():
    with Daemon(library_event("work", PLANTED, "100ms", "200ms"), more=LATE) as daemon:
        with Burner() as burner:

            def cpu_s():
                fields = open(f"/proc/{burner.process.pid}/stat").read().rsplit(")", 1)[1].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

            wait_for(lambda: cpu_s() > 1.5, "the other program to compute")
        told = delayed_run(daemon)
    before = told["before"]
    check(before and before["length_ns"] > 1e9, f"{before}")
    burners = [process for process in before["processes"] if process["name"] == "burner-of-cpus"]
    check(burners, f"it is not among {[process['name'] for process in before['processes']]}")
    # It had a CPU for 1.5 of at most 5 seconds; other programs' CPU time is not attributed to it.
    cpu_s = burners[0]["share"] * before["length_ns"] / 1e9 * os.cpu_count()
    check(1.0 < cpu_s < 5.1, f"it had {cpu_s} s: {before}")
    check(before["busy_share"] <= 1, f"{before}")


def idle_cpus_are_left_asleep_and_the_window_stays_small():
    with Daemon(library_event("work", PLANTED, "100ms", "200ms"), more=LATE) as daemon:
        window = daemon.status()["history"]["window"]
        check(
            window["size_bytes"] < 1 << 20 and window["lost"] == 0 and window["cut"] == 0,
            f"{window}",
        )
        status = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path], capture_output=True, text=True
        ).stdout
        check("keeps the last 5.00 s before a breach" in status, status)


def waits_of_runs_have_their_stacks_from_before():
    """Nothing was recorded before the end of the run: its waits are known from the window."""
    event = library_event("schedule", SCHEDULE, "50ms", "100ms", attributes='breach="end"')
    for seed in range(3):
        with Daemon(event, more=LATE) as daemon:
            with Watched(SCHEDULE, seed) as program:
                program.go()
                delay = report(daemon.wait_for_bundles(1)[0])["delays"][0]
                program.result()
        split = delay["split"]
        parts = (
            split["on_cpu_ns"]
            + split["runnable_ns"]
            + split["blocked_ns"]
            + split["not_recorded_ns"]
        )
        check(parts == split["wall_ns"] and split["not_recorded_ns"] == 0, f"seed {seed}: {split}")
        check(
            split["without_stacks"]["blocked_ns"] < 0.1 * split["blocked_ns"],
            f"seed {seed}: no stacks: {split}",
        )
        functions = {function["name"] for function in delay["functions"]}
        check(functions - {"[unknown]"}, f"seed {seed}: {functions}")


def nothing_is_kept_where_the_settings_say_so():
    for more in ('<history length="0s"/>', '<history length="0s" early-share="0%"/>'):
        with Daemon(library_event("work", PLANTED, "100ms", "200ms"), more=more) as daemon:
            check(
                daemon.status()["history"]["window"] is None,
                f"{more}: {daemon.status()['history']}",
            )
            check(delayed_run(daemon)["before"] is None, f"{more}: it was kept")


class ForkStorm(OwnedProcess):
    """Processes that fork others as fast as they can, each ending at once."""

    def __init__(self):
        self.process = subprocess.Popen(["/bin/sh", "-c", "while :; do (:); done"])


def forks_a_second():
    fields = dict(line.split(maxsplit=1) for line in open("/proc/stat"))
    return int(fields["processes"])


def a_fork_storm_is_survived():
    """While the history is kept, before and during a recording; the delay is completely known."""
    with Daemon(library_event("work", PLANTED, "100ms", "300ms")) as daemon:
        with ForkStorm(), ForkStorm(), ForkStorm():
            forked = forks_a_second()
            wait_for(lambda: forks_a_second() > forked + 3000, "3,000 processes")
            told = delayed_run(daemon)
        window = daemon.status()["history"]["window"]
        check(window["size_bytes"] < 16 << 20 and window["lost"] == 0, f"{window}")
    split = told["split"]
    parts = split["on_cpu_ns"] + split["runnable_ns"] + split["blocked_ns"]
    check(split["not_recorded_ns"] == 0 and parts == split["wall_ns"], f"{split}")
    check(
        told["before"] and any(process["name"] == "sh" for process in told["before"]["processes"]),
        f"{told['before']}",
    )


def new_settings_begin_it_anew():
    """The history kept under the old settings is discarded; what follows is kept."""
    event = library_event("work", PLANTED, "100ms", "200ms")
    with Daemon(event, more=LATE) as daemon:

        def window():
            return daemon.status()["history"]["window"]

        def reload(more, length_ns):
            daemon.more = more
            daemon.write_settings(event)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(
                lambda: (window() or {}).get("length_ns") == length_ns
                and daemon.status()["arming"] is None,
                "the new settings",
            )

        with Burner():
            wait_for(lambda: window()["size_bytes"] > 4096, "something to be kept")
        reload('<history length="10s" early-share="0%"/>', 10_000_000_000)
        with ForkStorm():
            wait_for(lambda: window()["size_bytes"] > 4096, "something to be kept again")
            told = delayed_run(daemon)
        names = {process["name"] for process in told["before"]["processes"]}
        check("sh" in names and "burner-of-cpus" not in names, f"{told['before']}")
        reload('<history length="0s" early-share="0%"/>', None)


if __name__ == "__main__":
    run(
        who_had_the_cpus_is_known_though_he_is_gone,
        idle_cpus_are_left_asleep_and_the_window_stays_small,
        waits_of_runs_have_their_stacks_from_before,
        a_fork_storm_is_survived,
        new_settings_begin_it_anew,
        nothing_is_kept_where_the_settings_say_so,
    )
