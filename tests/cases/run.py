"""Runs the cases and checks their reports: ./dev cases [NAME...] [--busy] [--write] [--keep
FOLDER]

Each case has its own daemon, and the verdict depends only on what `lagtrap report` prints.
--busy keeps all CPUs busy with other work. --write writes docs/cases.md from the last idle and
the last busy run. Exits with 0 if all chosen cases passed, otherwise with 1.
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import pathlib
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
from case import World  # noqa: E402  (the path is set above)
from innocents import Innocents  # noqa: E402
from judge import Verdict, judge  # noqa: E402
from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    Daemon,
    TestFailure,
    check,
    report,
    require_bpf,
    wait_for,
)  # noqa: E402
from reading import read  # noqa: E402
from table import print_verdict, save, write_document  # noqa: E402


def load_cases():
    cases = {}
    for path in sorted([*HERE.glob("planted/*.py"), *HERE.glob("debian/*.py")]):
        spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.CASE.name, module.CASE.from_debian = path.stem, path.parent.name == "debian"
        cases[path.stem] = module.CASE
    return cases


def cpu_times():
    """Totals of all CPUs since boot: user, nice, system, idle, waiting for disks, and others."""
    return [
        int(word)
        for word in pathlib.Path("/proc/stat")
        .read_text(encoding="ascii")
        .split("\n", 1)[0]
        .split()[1:]
    ]


def idle_share(before, after):
    spent = [late - early for early, late in zip(before, after)]
    return (spent[3] + spent[4]) / max(1, sum(spent))


def the_event(daemon):
    (event,) = daemon.status()["events"]
    return event


def await_recording(daemon):
    """Waits until the delay is recorded, if it is noticed. Its merge does not need busy CPUs,
    which would only make it slow."""
    with contextlib.suppress(TestFailure):
        wait_for(lambda: the_event(daemon)["delays"] > 0, "the delay to be noticed", 10)
        daemon.wait_until_recorded()


def slow_run(daemon, world, case):
    """Bundle, number and JSON of the planted delay once its recording is merged; nothing if it
    was not noticed."""

    def settled():
        status = daemon.status()
        check(status["captures"]["failed"] == 0, f"a capture failed: {daemon.log()}")
        return (
            status["state"] in ("waiting", "cooling-down")
            and status["captures"]["waiting"] == 0
            and status["captures"]["done"] > 0
        )

    if the_event(daemon)["delays"] == 0:
        return None
    wait_for(settled, "the recordings to be merged", 90)
    found = [
        (delay["duration_ns"], bundle, delay["number"], delay)
        for bundle in daemon.bundles()
        for delay in report(bundle)["delays"]
        if case.slow(world, delay)
    ]
    found = [entry for entry in found if entry[0] >= case.least_ms * 1e6]
    return max(found, key=lambda entry: entry[0])[1:] if found else None


def run_case(case, busy, keep):
    with World() as world:
        case.prepare(world)
        with Daemon(case.event(world)) as daemon:
            world.daemon = daemon
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] == 0,
                "the unwind tables to be made",
            )
            with Innocents() if busy else contextlib.nullcontext():
                before = cpu_times()
                case.provoke(world)
                # "Idle" is only the intention; others may use the machine too.
                crowded = busy or idle_share(before, cpu_times()) < 0.2
                await_recording(daemon)
            found = slow_run(daemon, world, case)
            if not found:
                return Verdict(
                    why=[f"no recording has a run of {case.least_ms} ms: {the_event(daemon)}"]
                )
            bundle, number, delay = found
            done = subprocess.run(
                [LAGTRAP, "report", "--delay", str(number), bundle],
                capture_output=True,
                text=True,
                check=True,
            )
            reading = read(done.stdout, delay)
            expected = case.expected
            if callable(expected.holder):
                expected = dataclasses.replace(expected, holder=expected.holder(world))
            verdict = judge(expected, reading, crowded)
            if keep:
                pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
                (pathlib.Path(keep) / f"{case.name}.txt").write_text(done.stdout, encoding="utf-8")
                (pathlib.Path(keep) / f"{case.name}.lagtrap.tar.zst").write_bytes(
                    bundle.read_bytes()
                )
            return verdict


def main():
    parser = argparse.ArgumentParser(prog="./dev cases", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run; all by default")
    parser.add_argument("--busy", action="store_true", help="with other work on all CPUs")
    parser.add_argument("--write", action="store_true", help="write docs/cases.md")
    parser.add_argument("--keep", metavar="FOLDER", help="keep reports and bundles there")
    options = parser.parse_args()
    require_bpf()
    cases = load_cases()
    for name in options.names:
        if name not in cases:
            parser.error(f"unknown case \"{name}\"; known: {', '.join(cases)}")
    chosen = [cases[name] for name in options.names] or list(cases.values())
    verdicts = {}
    for case in chosen:
        begun = time.monotonic()
        try:
            verdict = run_case(case, options.busy, options.keep)
        except Exception as failure:  # a case may fail in any way, but the others must run
            traceback.print_exc()
            verdict = Verdict(why=[f"the case itself failed: {failure}"])
        verdicts[case.name] = verdict
        save(BUILD_DIR / "cases", {case.name: dataclasses.asdict(verdict)}, options.busy)
        print_verdict(case, verdict, time.monotonic() - begun)
    passed = sum(verdict.passed for verdict in verdicts.values())
    print(f"{passed} of {len(verdicts)} right, {'all CPUs busy' if options.busy else 'idle'}")
    if options.write:
        write_document(HERE.parents[1] / "docs" / "cases.md", BUILD_DIR / "cases", cases)
    sys.exit(0 if passed == len(verdicts) else 1)


if __name__ == "__main__":
    main()
