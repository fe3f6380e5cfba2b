"""Records golden recordings again and writes their reports: record_golden.py NAME...
(README.md). Needs root, an idle machine and a build in LAGTRAP_BUILD_DIR with the programs that
the scenarios use."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", SOURCE / "build/test")).resolve()
# Everything recorded is here, so that no path of the work tree gets into a recording.
NEUTRAL = pathlib.Path("/tmp/lagtrap-golden")
ATTEMPTS = 6
COPIED = (
    "daemon/lagtrapd",
    "trace/lagtrap-merge",
    "binaries/lagtrap-reader",
    "cli/lagtrap",
    "examples",
    "tests/cases/programs",
    "tests/integration/programs",
)
LEFT_OUT = shutil.ignore_patterns(
    "CMakeFiles", "*.cmake", "*.a", "go*", "deep_stacks*", "*.cpp", "*.txt"
)


def take_the_cpus(wanted):
    """Keeps other load from taking the CPUs from the recorded programs. The recording does not
    show it."""
    policy, priority = (os.SCHED_RR, 1) if wanted else (os.SCHED_OTHER, 0)
    os.sched_setscheduler(0, policy, os.sched_param(priority))


def copy_build():
    shutil.rmtree(NEUTRAL, ignore_errors=True)
    for part in COPIED:
        target = NEUTRAL / "build" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (BUILD / part).is_dir():
            shutil.copytree(BUILD / part, target, ignore=LEFT_OUT)
        elif (BUILD / part).exists():
            shutil.copy2(BUILD / part, target)
    os.environ.update(
        LAGTRAP_BUILD_DIR=str(NEUTRAL / "build"),
        TMPDIR=str(NEUTRAL),
        TZ="UTC",
        COLUMNS="100",
        LC_ALL="C.UTF-8",
    )
    os.environ.pop("LAGTRAP_UPDATE_EXPECTED", None)


def keeping_merge(kept):
    """A merge program that copies the capture first."""
    script = NEUTRAL / "merge"
    script.write_text(
        '#!/bin/sh\nfor capture; do :; done\n[ "$1" = --without-names ] && shift\n'
        f'cp -a "$1" {kept}/ || exit 1\n'
        f'exec {NEUTRAL}/build/trace/lagtrap-merge "$@"\n',
        encoding="ascii",
    )
    script.chmod(0o755)
    return script


def record(name):
    """Runs the scenario; returns the capture's folder and the bundle that the real merge made of
    it."""
    from case import World
    from lagtrap_test import Daemon, check, wait_for
    from scenarios import SCENARIOS

    scenario, kept = SCENARIOS[name], NEUTRAL / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    with World() as world:
        scenario.prepare(world)
        with Daemon(
            scenario.event(world),
            more=scenario.more,
            options=("--merge-program", keeping_merge(kept)),
        ) as daemon:
            world.daemon = daemon
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] == 0,
                "the unwind tables to be made",
            )
            scenario.provoke(world)
            bundles = daemon.wait_for_bundles(1)
            check(len(bundles) == 1, f"{len(bundles)} recordings, 1 is wanted")
            shutil.copy(bundles[0], NEUTRAL / f"{name}.lagtrap.tar.zst")
    (capture,) = kept.iterdir()
    return capture, NEUTRAL / f"{name}.lagtrap.tar.zst"


def write_reports(name):
    done = subprocess.run(
        [BUILD / "tests/replay/replay_tests", "--gtest_brief=1", f"--gtest_filter=*/{name}"],
        env={**os.environ, "LAGTRAP_UPDATE_EXPECTED": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def compare(name, bundle):
    """The report of the small recording must equal that of the whole one, except for the
    machine's name."""
    whole = subprocess.run(
        [NEUTRAL / "build/cli/lagtrap", "report", bundle],
        capture_output=True,
        text=True,
        check=True,
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


def golden(name):
    from scenarios import SCENARIOS
    from small_capture import SmallCapture, pack

    scenario, archive = SCENARIOS[name], HERE / f"{name}.capture.tar.zst"
    hidden = {str(SOURCE): "/src", sys.prefix: "/usr"}
    nameless = [NEUTRAL / "build/daemon", NEUTRAL / "build/binaries"]
    for _ in range(ATTEMPTS):
        take_the_cpus(not scenario.by_priority)
        capture, bundle = record(name)
        small = SmallCapture(
            capture,
            [NEUTRAL] if scenario.with_lines else [],
            hidden,
            scenario.programs,
            nameless,
            scenario.by_priority,
        )
        small.write_to(NEUTRAL / "small")
        pack(NEUTRAL / "small", archive, hidden)
        write_reports(name)
        why = flaw(scenario, name)
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


def attempted(name):
    try:
        return golden(name)
    except Exception:  # the others must be recorded
        traceback.print_exc()
        print(f"{name}: not recorded", flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(prog="./dev record-golden", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    options = parser.parse_args()
    copy_build()
    sys.path[:0] = [str(HERE), str(HERE.parent / "integration"), str(HERE.parent / "cases")]
    from lagtrap_test import require_bpf
    from scenarios import SCENARIOS

    require_bpf()
    unknown = set(options.names) - set(SCENARIOS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    sys.exit(0 if all([attempted(name) for name in options.names]) else 1)


if __name__ == "__main__":
    main()
