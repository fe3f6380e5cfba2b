"""Records a scenario and makes the small recording of it, on this machine or in an emulated one
(old_kernel.py)."""

import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
# Everything recorded is here, so that no path of the work tree gets into a recording.
NEUTRAL = pathlib.Path("/tmp/lagtrap-golden")
BUILD = NEUTRAL / "build"
SMALL = NEUTRAL / "small"
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


def copy_build(build):
    shutil.rmtree(NEUTRAL, ignore_errors=True)
    for part in COPIED:
        target = BUILD / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (build / part).is_dir():
            shutil.copytree(build / part, target, ignore=LEFT_OUT)
        elif (build / part).exists():
            shutil.copy2(build / part, target)


def use_copy():
    """Must be called before the tests' modules are imported."""
    os.environ.update(
        LAGTRAP_BUILD_DIR=str(BUILD), TMPDIR=str(NEUTRAL), TZ="UTC", COLUMNS="100", LC_ALL="C.UTF-8"
    )
    os.environ.pop("LAGTRAP_UPDATE_EXPECTED", None)
    sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "cases")]


def hidden():
    """Texts that no recording has, with their replacements."""
    return {str(SOURCE): "/src"} | ({sys.prefix: "/usr"} if sys.prefix != "/usr" else {})


def keeping_merge(kept):
    """A merge program that copies the capture first."""
    script = NEUTRAL / "merge"
    script.write_text(
        '#!/bin/sh\nfor capture; do :; done\n[ "$1" = --without-names ] && shift\n'
        f'cp -a "$1" {kept}/ || exit 1\n'
        f'exec {BUILD}/trace/lagtrap-merge "$@"\n',
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


def small_recording(name):
    """Records the scenario and writes the small recording into the folder SMALL; returns the
    whole bundle."""
    from scenarios import SCENARIOS
    from small_capture import SmallCapture

    scenario = SCENARIOS[name]
    capture, bundle = record(name)
    SmallCapture(
        capture,
        [NEUTRAL] if scenario.with_lines else [],
        hidden(),
        scenario.programs,
        [BUILD / "daemon", BUILD / "binaries"],
        scenario.by_priority,
    ).write_to(SMALL)
    return bundle
