"""Each preset on the real program: a planted slow operation becomes a delay of the preset's
event, and the report has the planted function or reason."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from case import World  # noqa: E402  (the path is set above)
from lagtrap_test import SOURCE_DIR, Daemon, TestFailure, check, report, run, wait_for  # noqa: E402
from preset_programs import TRIALS  # noqa: E402

OF_THE_MACHINE = ("block", "fsync", "run-queue", "systemd")
PRESETS = SOURCE_DIR / "settings" / "presets"


def planted_delay(daemon, trial):
    """The delay of the trial's event that took the planted time, from all recordings."""
    status = daemon.status()
    check(status["captures"]["failed"] == 0, f"a capture failed: {daemon.log()}")
    if status["state"] not in ("waiting", "cooling-down") or status["captures"]["done"] == 0:
        return None
    delays = [
        delay
        for bundle in daemon.bundles()
        for delay in report(bundle)["delays"]
        if delay["event"] == trial.event and delay["duration_ns"] >= trial.least_ms * 1e6
    ]
    return max(delays, key=lambda delay: delay["duration_ns"], default=None)


def attempt(trial):
    with World() as world:
        world.daemon = None
        trial.prepare(world)
        scope = trial.scope(world)
        events = f'<use preset="{trial.preset}" {trial.attributes}>{scope}</use>'
        more_unpaired = trial.count_unpaired()
        with Daemon(events, prefix=trial.prefix(world)) as daemon:
            world.daemon = daemon
            if trial.awaits_program:
                wait_for(
                    lambda: daemon.event(trial.event)["processes"] > 0,
                    f"the program of {trial.event} to be watched",
                )
            trial.provoke(world)
            try:
                delay = wait_for(
                    lambda: planted_delay(daemon, trial), f"a delay of {trial.event}", 90
                )
            except TestFailure as failure:
                raise TestFailure(f"{failure}: {daemon.status()}") from None
            counted = daemon.event(trial.event)
            # Begins and ends match, except for what was in progress when the daemon started or the
            # program ended.
            allowed = 2 + counted["runs"] * trial.unpaired_percent // 100 + more_unpaired()
            check(
                counted["unmatched_begins"] + counted["unmatched_ends"] <= allowed,
                f"not paired, {allowed} are allowed: {counted}",
            )
            text = " ".join(
                [function["name"] for function in delay["functions"]] + [str(delay.get("cause"))]
            )
            check(re.search(trial.guilty, text), f"{trial.guilty} is not in {text}")


def every_preset_has_a_trial():
    presets = {path.stem for path in PRESETS.glob("*.xml")}
    tried = {trial.preset for trial in TRIALS}
    check(
        presets - tried in ({"node"}, {"libnode"}), f"not tried: {presets - tried}"
    )  # a machine has one Node.js
    page = (SOURCE_DIR / "docs" / "presets.md").read_text(encoding="utf-8")
    for path in PRESETS.glob("*.xml"):
        for event in re.findall(r'<event name="([^"]+)"', path.read_text(encoding="utf-8")):
            check(f"`{event}`" in page, f"docs/presets.md does not have {event}")
    check(not tried - presets, f"no presets: {tried - presets}")


def test_of(trial):
    def test():
        attempt(trial)

    test.__name__ = trial.event.replace("-", "_")
    return test


def trials(of_the_machine):
    """The trials whose events are of one program, or those whose events cover the whole machine."""
    return [
        test_of(trial) for trial in TRIALS if (trial.preset in OF_THE_MACHINE) == of_the_machine
    ]


if __name__ == "__main__":
    run(every_preset_has_a_trial, *trials(of_the_machine=False))
