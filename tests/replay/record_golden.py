"""Records golden recordings again and writes their reports: record_golden.py [--kernel RELEASE]
NAME... (README.md). Needs root, an idle machine and a build in LAGTRAP_BUILD_DIR with the programs
that the scenarios use."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import traceback

import old_kernel
from recorder import BUILD, HERE, NEUTRAL, SMALL, SOURCE, copy_build, hidden
from recorder import small_recording, use_copy

BUILT = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", SOURCE / "build/test")).resolve()
ATTEMPTS = 6


def take_the_cpus(wanted):
    """Keeps other load from taking the CPUs from the recorded programs. The recording does not
    show it."""
    policy, priority = (os.SCHED_RR, 1) if wanted else (os.SCHED_OTHER, 0)
    os.sched_setscheduler(0, policy, os.sched_param(priority))


def write_reports(name):
    done = subprocess.run(
        [BUILT / "tests/replay/replay_tests", "--gtest_brief=1", f"--gtest_filter=*/{name}"],
        env={**os.environ, "LAGTRAP_UPDATE_EXPECTED": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def compare(name, bundle):
    """The report of the small recording must equal that of the whole one, except for the
    machine's name."""
    whole = subprocess.run(
        [BUILD / "cli/lagtrap", "report", bundle], capture_output=True, text=True, check=True
    ).stdout
    whole = whole.replace(f" on {os.uname().nodename}\n", " on golden\n")
    (NEUTRAL / "whole.txt").write_text(whole, encoding="utf-8")
    subprocess.run(["diff", "-u", NEUTRAL / "whole.txt", HERE / f"{name}.report.txt"])


def flaw(scenario, name):
    """Why a recording cannot be used: the machine was too busy, or something was lost."""
    told = json.loads((HERE / f"{name}.report.json").read_text(encoding="utf-8"))
    delay = max(told["delays"], key=lambda one: one["duration_ns"], default=None)
    if delay is None:
        return "it has no delay"
    waited = delay["split"]["runnable_ns"] / delay["split"]["wall_ns"]
    if waited > scenario.most_waiting:
        return f"{waited:.0%} of the run waited for a CPU"
    return "; ".join(f"{count} {what} lost" for what, count in told["quality"]["lost"].items())


def golden(scenario_name, kernel):
    from scenarios import SCENARIOS
    from small_capture import pack

    name = f"{kernel}_{scenario_name}" if kernel else scenario_name
    archive = HERE / f"{name}.capture.tar.zst"
    for _ in range(ATTEMPTS):
        if kernel:
            bundle = old_kernel.small_recording(kernel, scenario_name)
        else:
            take_the_cpus(not SCENARIOS[scenario_name].by_priority)
            bundle = small_recording(scenario_name)
        pack(SMALL, archive, hidden())
        write_reports(name)
        why = flaw(SCENARIOS[scenario_name], name)
        if not why:
            compare(name, bundle)
            print(
                f"{name}: {archive.stat().st_size / 1024:.0f} KiB, read {name}.report.txt",
                flush=True,
            )
            return True
        print(f"{name}: once more: {why}", flush=True)
    for path in HERE.glob(f"{name}.*"):
        path.unlink()
    print(f"{name}: not recorded", flush=True)
    return False


def attempted(name, kernel):
    try:
        return golden(name, kernel)
    except Exception:  # the others must be recorded
        traceback.print_exc()
        print(f"{name}: not recorded", flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(prog="./dev record-golden", description=__doc__)
    parser.add_argument(
        "--kernel",
        choices=old_kernel.RELEASES,
        help="record on the kernel of this release, in an emulated machine",
    )
    parser.add_argument("names", nargs="+", metavar="NAME")
    options = parser.parse_args()
    copy_build(BUILT)
    use_copy()
    from lagtrap_test import require_bpf
    from scenarios import SCENARIOS

    require_bpf()
    unknown = set(options.names) - set(SCENARIOS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    sys.exit(0 if all([attempted(name, options.kernel) for name in options.names]) else 1)


if __name__ == "__main__":
    main()
