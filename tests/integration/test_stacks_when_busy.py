"""Stacks of a program that was started half a second before its delay, while compilers keep
every CPU busy: its tables and those of the compilers are built meanwhile, in time for the kernel
side or not. Stacks that are too early are copied, and walked by the merge; the copies never
leave the machine."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    PROGRAMS,
    SOURCE_DIR,
    Daemon,
    check,
    library_event,
    report,
    run,
    wait_for,
)
from recorded_stacks import STACK_COPY, records

MERGE = (BUILD_DIR / "trace" / "lagtrap-merge").resolve()
# Real sources, of several kinds.
SOURCES = (
    "trace/merge/kernel_record_writer.cpp",
    "binaries/unwind/unwind_table.cpp",
    "settings/build.cpp",
    "core/files.cpp",
)


class Compilers:
    """As many compilers as `ninja -j4` has, each compiling one source after the other until the
    end."""

    def __init__(self, folder):
        commands = json.loads((BUILD_DIR / "compile_commands.json").read_text())
        # The build may compile several files at a time; this compiles single ones, with the flags
        # of one of the build's files.
        entry = next(one for one in commands if "lagtrap_daemon_" in one["command"])
        words = entry["command"].split()
        words = words[next(i for i, word in enumerate(words) if "++" in word) : words.index("-o")]
        self.loops = []
        for number, source in enumerate(SOURCES):
            check((SOURCE_DIR / source).exists(), f"{source} no longer exists")
            compile_one = [*words, "-o", f"{folder}/{number}.o", "-c", str(SOURCE_DIR / source)]
            self.loops.append(
                ("while :; do " + " ".join(compile_one) + " || exit; done", entry["directory"])
            )

    def __enter__(self):
        self.running = [
            subprocess.Popen(
                ["sh", "-c", loop],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "CCACHE_DISABLE": "1"},
            )
            for loop, folder in self.loops
        ]
        return self

    def signal(self, number):
        for loop in self.running:
            os.killpg(loop.pid, number)

    def __exit__(self, kind, *_):
        ended = [loop for loop in self.running if loop.poll() is not None]
        for loop in self.running:
            if loop not in ended:
                os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()
        check(
            kind is not None or not ended,
            "a compiler found an error, and the machine was not as busy as it is meant to be",
        )


class Installed:
    """The program and its library as files that no process has mapped before, and an empty cache
    of tables."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="lagtrap-test-")
        self.folder = pathlib.Path(self.temporary.name)
        self.folder.chmod(0o755)
        self.program = self.folder / "just_started"
        shutil.copy(PROGRAMS / "just_started", self.program)
        shutil.copy(PROGRAMS / "libjust_started_work.so", self.folder)
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def daemon(self, event="", recording="", memory="64MiB"):
        made = Daemon(
            event or library_event("first", self.program, "50ms", "1s"),
            f'cool-down="100ms" captures-per-hour="1000" {recording}',
            f'<unwinding memory="{memory}" cache="{self.folder}/cache"/>',
        )
        self.kept = made.folder / "kept"
        self.kept.mkdir()
        script = made.folder / "merge"
        script.write_text(f'#!/bin/sh\ncp -r "$1" "{self.kept}/" && exec "{MERGE}" "$@"\n')
        script.chmod(0o755)
        made.options = ("--merge-program", script)
        return made

    def start(self, *words, **more):
        done = subprocess.run(
            [self.program, *words], stdout=subprocess.DEVNULL, timeout=120, **more
        )
        check(done.returncode == 0, "the program failed")

    def log(self):
        return next(self.kept.iterdir()) / "user.log"

    def copies(self):
        return [body for kind, _, body in records(self.log()) if kind == STACK_COPY]


def system_file(bundle):
    return subprocess.run(
        ["tar", "--zstd", "-xOf", bundle, "system.xml"], capture_output=True, text=True, check=True
    ).stdout


def numbers(text, element):
    """The numeric attributes of the first element with this name."""
    words = text[text.index("<" + element + " ") :].split(">")[0].split()
    return {
        name: int(value.strip('"/'))
        for name, value in (word.split("=") for word in words[1:])
        if value.strip('"/').isdigit()
    }


def check_shares(bundle, what, least_of_delayed=0.98):
    """At least 98 % of the delayed process's stacks are complete, and 95 % of the others'."""
    stacks = numbers(system_file(bundle), "stacks")
    delayed, delayed_whole = stacks["delayed"], stacks["delayed-complete"]
    others = stacks["on-cpu"] + stacks["off-cpu"] - delayed
    others_whole = stacks["on-cpu-complete"] + stacks["off-cpu-complete"] - delayed_whole
    late = stacks["on-cpu-late"] + stacks["off-cpu-late"]
    print(
        f"{what}: whole are {delayed_whole} of {delayed} of what was slow, {others_whole} of "
        f"{others} others; {late} of all came late, {stacks['delayed-late']} of what was slow",
        flush=True,
    )
    quality = report(bundle)["quality"]
    check(
        delayed >= 20 and delayed_whole >= least_of_delayed * delayed,
        f"{what}: {delayed_whole} of {delayed} are whole: {quality}",
    )
    check(
        others >= 500 and others_whole >= 0.95 * others,
        f"{what}: {others_whole} of {others} others are whole: {quality}",
    )
    return late


def a_program_that_has_just_started():
    """Half a second old, and new: then the run begins with the program, and some stacks are the
    loader's."""
    for age_ms, least in ((500, 0.98), (0, 0.95)):
        with Installed() as installed, installed.daemon() as daemon, Compilers(
            installed.folder
        ) as compilers:
            installed.start(str(age_ms), "150")
            daemon.wait_until_recorded()
            compilers.signal(signal.SIGSTOP)  # merging has low priority
            check_shares(daemon.wait_for_bundles(1)[0], f"{age_ms} ms after its start", least)


def programs_that_nothing_is_known_of():
    """Everything is new to a daemon that starts together with them: there are no tables of the
    compilers."""
    with Installed() as installed, Compilers(
        installed.folder
    ) as compilers, installed.daemon() as daemon:
        installed.start("0", "150")
        daemon.wait_until_recorded()
        compilers.signal(signal.SIGSTOP)
        check_shares(daemon.wait_for_bundles(1)[0], "with a new daemon", 0.95)


def tables_of_what_is_watched_are_there_before_it_runs():
    with Installed() as installed:
        with installed.daemon() as daemon:
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_kept"] >= 4,
                "tables of a program that never ran",
            )
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the tables to be made"
            )
            made = daemon.status()["unwinder"]["made"]
            check(made >= 4, f"{made} tables were made")
        with installed.daemon() as daemon:
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_kept"] >= 4, "the same after a restart"
            )
            wait_for(lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the tables")
            unwinder = daemon.status()["unwinder"]
            check(unwinder["cached"] >= 4, f"they were made anew: {unwinder}")


def copies_stay_on_the_machine():
    """A secret of programs that start meanwhile, each from a new file: their environment is at
    the begin of their stacks. It is in the copies, and nowhere else."""
    secret = os.urandom(16).hex()
    with Installed() as installed, installed.daemon() as daemon:
        for count in range(1, 11):  # recordings, until the secret was copied
            check(daemon.ask("trigger", event="first")["ok"], "no recording began")
            number = 0
            while daemon.status()["state"] == "recording":
                number += 1
                other = installed.folder / f"other_{number}"
                shutil.copy(installed.program, other)
                subprocess.run(
                    [other, "0", "5"], stdout=subprocess.DEVNULL, env={"SECRET": secret}, check=True
                )
                other.unlink()
            bundle = daemon.wait_for_newest_bundle(count)
            copied = any(secret.encode() in body for body in installed.copies())
            if copied:
                break
            shutil.rmtree(installed.log().parent)
            wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait")
        check(copied, "no stack with the secret was copied")
        check(
            installed.log().stat().st_mode & 0o777 == 0o600,
            "others than root may read copies of stacks",
        )
        check(not any(daemon.spool.glob("captures/*")), "the capture is still there")
        outputs = [subprocess.run(["zstd", "-dc", bundle], capture_output=True, check=True).stdout]
        for words in (
            ["report"],
            ["report", "--json"],
            ["export", "--format", "folded"],
            ["export", "--format", "json"],
        ):
            outputs.append(subprocess.run([LAGTRAP, *words, bundle], capture_output=True).stdout)
        outputs += [path.read_bytes() for path in daemon.spool.rglob("*") if path.is_file()]
        outputs.append(json.dumps(daemon.status()).encode())
        outputs.append(daemon.log().encode())
        check(len(outputs[0]) > 100_000, "the bundle is empty")
        for text in (secret.encode(), secret.encode()[:8], bytes.fromhex(secret)):
            check(all(text not in output for output in outputs), "the secret left the capture")


def nothing_is_copied_where_that_is_forbidden():
    with Installed() as installed, Compilers(installed.folder) as compilers:
        with installed.daemon(recording='stack-copies="0B"') as daemon:
            installed.start("0", "150")
            daemon.wait_until_recorded()
            compilers.signal(signal.SIGSTOP)
            bundle = daemon.wait_for_bundles(1)[0]
            check(not installed.copies(), "stacks were copied")
            stacks = numbers(system_file(bundle), "stacks")
            check(stacks["on-cpu-late"] == stacks["off-cpu-late"] == 0, f"{stacks}")


if __name__ == "__main__":
    run(
        a_program_that_has_just_started,
        programs_that_nothing_is_known_of,
        tables_of_what_is_watched_are_there_before_it_runs,
        copies_stay_on_the_machine,
        nothing_is_copied_where_that_is_forbidden,
    )
