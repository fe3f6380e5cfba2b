"""The output of `lagtrap metrics` for a real daemon passes Prometheus' own checker, and its
figures are those of the runs."""

import contextlib
import re
import subprocess

from control_groups import command_in, group
from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    SOURCE_DIR,
    Daemon,
    Watched,
    check,
    library_event,
    run,
    wait_for,
)

FAST = 40  # before the slow run, and the same number after it


def lint(text):
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True
    )
    check(
        done.returncode == 0 and not done.stderr.strip(),
        f"promtool: {done.returncode} {done.stdout}{done.stderr}",
    )


def metrics(daemon):
    done = subprocess.run(
        [LAGTRAP, "metrics", "--socket", daemon.socket_path], capture_output=True, text=True
    )
    check(done.returncode == 0, done.stderr)
    return done.stdout


def samples_of(text):
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }


def command_of_unit():
    """The command and the file of the packaged service."""
    unit = (SOURCE_DIR / "packaging/systemd/lagtrap-metrics.service").read_text()
    variable, default = re.search(r"^Environment=(\w+)=(\S+)$", unit, re.M).groups()
    command = re.search(r"^ExecStart=/usr/bin/lagtrap (.*)$", unit, re.M)[1]
    check(default.endswith(".prom"), f"node_exporter reads no {default}")
    return command.split(), "${" + variable + "}"


def figures_reach_prometheus():
    # High enough that no fast run is a delay, however busy the machine is.
    events = library_event("work", PLANTED, "3s", "500ms", ("prepare", "execute", "finish"))
    with Daemon(events) as daemon:
        lint(metrics(daemon))
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", FAST, "--slow-ms", 5000, "--wait"
        ) as program:
            program.go().result()
        text = metrics(daemon)
        lint(text)
        samples = samples_of(text)
        buckets = [
            (float(re.search(r'le="([^"]+)"', name)[1]), count)
            for name, count in samples.items()
            if name.startswith('lagtrap_event_duration_seconds_bucket{event="work"')
        ]
        counts = [count for _, count in buckets]
        check(counts == sorted(counts) and counts[-1] == 2 * FAST + 1, f"{buckets}")
        check(
            [count for bound, count in buckets if bound < 4.3][-1] == 2 * FAST,
            f"the slow run is among the fast ones: {buckets}",
        )
        check(samples['lagtrap_event_delays_total{event="work"}'] == 1, text)
        check(4 < samples['lagtrap_event_duration_seconds_sum{event="work"}'] < 10, text)
        blocked, on_cpu = (
            samples[f'lagtrap_event_time_seconds_total{{event="work",state="{state}"}}']
            for state in ("blocked", "on_cpu")
        )
        check(blocked > 4.9 and on_cpu > 0, f"{blocked} s blocked, {on_cpu} s on a CPU")

        target = daemon.folder / "lagtrap.prom"
        words, variable = command_of_unit()
        command = [str(target) if word == variable else word for word in words]
        for _ in range(2):  # the second replaces the first
            done = subprocess.run(
                [LAGTRAP, *command, "--socket", daemon.socket_path],
                capture_output=True,
                text=True,
                umask=0o077,
            )
            check(done.returncode == 0 and not done.stdout, f"{done.stdout}{done.stderr}")
            lint(target.read_text())
            check(target.stat().st_mode & 0o777 == 0o644, "node_exporter cannot read the file")
        check(
            [path.name for path in daemon.folder.glob("*.prom*")] == ["lagtrap.prom"],
            "something is left beside it",
        )
        missing = subprocess.run(
            [LAGTRAP, "metrics", "-o", "/no/such/folder/x.prom", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
        )
        check(missing.returncode == 1 and "/no/such/folder" in missing.stderr, missing.stderr)


def processes_are_told_by_unit():
    with Daemon(
        library_event("work", PLANTED, "10s", "500ms").replace(' copies="none"', "")
    ) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", FAST, "--slow-ms", 200, "--wait"
        ) as program:
            wait_for(lambda: daemon.event("work")["processes"] == 1, "the program to be seen")
            text = metrics(daemon)
            lint(text)
            (processes,) = [
                count
                for name, count in samples_of(text).items()
                if name.startswith('lagtrap_event_processes{event="work",unit="')
            ]
            check(processes == 1, text)
            program.go().result()
        wait_for(
            lambda: "lagtrap_event_processes{" not in metrics(daemon), "the program to be forgotten"
        )


def labels_are_bounded():
    """However many units run a program: the 20 with the most processes have their own series,
    and one series has the rest."""
    units = 23
    with Daemon(
        library_event("work", PLANTED, "10s", "500ms").replace(' copies="none"', "")
    ) as daemon, contextlib.ExitStack() as stack:
        for number in range(units):
            folder = stack.enter_context(group("app.slice", f"shop-{number:02}.service"))
            for _ in range(2 if number < 3 else 1):
                stack.enter_context(
                    Watched(
                        *command_in(
                            folder,
                            PLANTED,
                            "--kind",
                            "sleep",
                            "--fast",
                            1,
                            "--slow-ms",
                            1,
                            "--wait",
                        )
                    )
                )
        wait_for(lambda: daemon.event("work")["processes"] == units + 3, "all programs to be seen")
        text = metrics(daemon)
        lint(text)
        counts = {
            re.search(r'unit="([^"]*)"', name)[1]: count
            for name, count in samples_of(text).items()
            if name.startswith('lagtrap_event_processes{event="work"')
        }
        check(len(counts) == 21 and sum(counts.values()) == units + 3, f"{counts}")
        check(
            counts["other"] == 3
            and all(counts[f"shop-{number:02}.service"] == 2 for number in range(3)),
            f"{counts}",
        )


if __name__ == "__main__":
    run(figures_reach_prometheus, processes_are_told_by_unit, labels_are_bounded)
