"""The processes of lagtrapd have only the privileges that they need: readers of hostile files and
the merge have none, and a reader may vanish."""

import math
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAPD,
    PLANTED,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)
from privilege_checks import (
    EVENT,
    READER,
    check_powerless,
    children,
    doctor_about_readers,
    mapper,
    process_status,
    status_text,
    with_another_build_id,
)

MERGE = BUILD_DIR / "trace" / "lagtrap-merge"


def readers_have_no_privileges():
    with Daemon(EVENT) as daemon:
        readers = wait_for(lambda: children(daemon.process.pid, "lagtrap-reader"), "a reader")
        for pid in readers:
            wait_for(
                lambda: process_status(pid)["Seccomp"] == "2", "the reader to be confined"
            )  # it may have just been started
            check_powerless(pid, "the reader of files")
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                target = os.readlink(entry)
                check(
                    target.startswith("socket:") or target == "/dev/null" or target.startswith("/"),
                    f"the reader has {target}",
                )
        wait_for(
            lambda: daemon.status()["file_reader"]["started"] >= len(readers),
            "the readers to be counted",
        )
        told = daemon.status()["file_reader"]
        user = int(process_status(readers[0])["Uid"].split()[0])
        check(told["user"] == user and not told["as_root"] and not told["problem"], f"{told}")
        check(f" of user {user};" in status_text(daemon), status_text(daemon))
        check(doctor_about_readers(daemon)["state"] == "ok", f"{doctor_about_readers(daemon)}")


def helpers_may_only_look():
    """Helpers that inspect processes keep three of the daemon's capabilities, and may open files
    for reading, nothing else."""
    kept = {2: "CAP_DAC_READ_SEARCH", 19: "CAP_SYS_PTRACE", 40: "CAP_CHECKPOINT_RESTORE"}
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        own = int(process_status(daemon.process.pid)["CapEff"], 16)
        expected = sum(1 << number for number in kept)
        check(own & expected == expected, f"the daemon has not what this is about: {own:x}")
        for pid in wait_for(lambda: children(daemon.process.pid, "lagtrap-inspect"), "a helper"):
            status = wait_for(
                lambda pid=pid: (status := process_status(pid))["Seccomp"] == "2" and status,
                "its filter",
            )
            for line in ("CapPrm", "CapEff"):
                check(int(status[line], 16) == expected, f"a helper has {line} {status[line]}")
            check(status["NoNewPrivs"] == "1", f"a helper has NoNewPrivs {status['NoNewPrivs']}")


def readers_that_stay_root_are_told_of():
    """If the service manager removes the right to change the user."""
    with Daemon(EVENT, prefix=("setpriv", "--bounding-set=-setuid,-setgid")) as daemon:
        reader = wait_for(lambda: children(daemon.process.pid, "lagtrap-reader"), "a reader")[0]
        status = process_status(reader)
        check(
            status["Uid"].split()[0] == "0",
            f"the reader has Uid {status['Uid']}: nothing is to be told",
        )
        check(int(status["CapEff"], 16) == 0 and status["Seccomp"] == "2", f"{status}")
        told = daemon.status()["file_reader"]
        check(told["as_root"] and told["user"] == 0, f"{told}")
        check("root without capabilities" in status_text(daemon), status_text(daemon))
        finding = doctor_about_readers(daemon)
        check(
            finding["state"] == "works with a fallback" and "CAP_SETUID" in finding["advice"],
            f"{finding}",
        )


def a_daemon_without_its_reader_says_so_and_ends():
    with Daemon(EVENT) as daemon:
        daemon.stop()
        folder = daemon.folder
        plain, other = folder / "plain", folder / "other"
        plain.write_text("#!/bin/sh\n")
        other.write_text("#!/bin/sh\nexit 5\n")
        os.chmod(other, 0o755)
        for program, cause, code in (
            (folder / "nothing", "No such file", 2),
            (plain, "Permission denied", 2),
            (other, "ended with status 5", 1),
        ):
            for option in ("--settings", "--check-settings"):
                done = subprocess.run(
                    [LAGTRAPD, option, daemon.settings_path, "--reader-program", program],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                said = done.stdout + done.stderr
                check(
                    done.returncode == code,
                    f"{program} {option}: ended with {done.returncode}: {said}",
                )
                for word in (str(program), cause, "--reader-program"):
                    check(
                        said.count(word) == 1, f"{word} stands {said.count(word)} times in: {said}"
                    )


def a_reader_that_vanishes_and_comes_back():
    """While it is away nothing is read and it is checked for rarely; what waits is read when it
    is back."""
    # Another daemon of this machine may build the tables of the same files, so the cache is
    # private.
    with tempfile.TemporaryDirectory(prefix="lagtrap-cache-") as cache, Daemon(
        EVENT, more=f'<unwinding cache="{cache}"/>'
    ) as daemon:
        daemon.stop()
        program = daemon.folder / "lagtrap-reader"
        shutil.copy(READER, program)
        daemon.options = ("--reader-program", program)
        daemon.start()
        wait_for(
            lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the tables of this machine"
        )
        os.rename(program, daemon.folder / "away")
        for pid in children(daemon.process.pid, "lagtrap-reader"):
            os.kill(pid, signal.SIGKILL)
        files = [
            with_another_build_id("/bin/true", daemon.folder / f"file_{number}")
            for number in range(30)
        ]
        begun = time.monotonic()
        with mapper(files):
            told = wait_for(
                lambda: daemon.status()["file_reader"]["problem"], "the reader to be missed"
            )
            check(str(program) in told and "No such file" in told, told)
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] >= len(files),
                "files that wait",
            )
            # Each of them asks for a reader, and so does a reload of the settings.
            daemon.process.send_signal(signal.SIGHUP)
            refused = wait_for(
                lambda: daemon.status()["settings"]["reload_error"], "the settings to be refused"
            )
            check(str(program) in refused, refused)
            check(daemon.event("work")["armed"], "the event is not armed any more")
            check(
                str(program) in status_text(daemon) and "failed attempt" in status_text(daemon),
                status_text(daemon),
            )
            finding = doctor_about_readers(daemon)
            check(finding["state"] == "missing" and str(program) in finding["reason"], f"{finding}")
            attempts, seconds = (
                daemon.status()["file_reader"]["not_started"],
                time.monotonic() - begun,
            )
            # After 1 s, 2 s more, 4 s more, ...
            check(
                1 <= attempts <= 2 + math.ceil(seconds + 1).bit_length(),
                f"{attempts} attempts in {seconds} s",
            )
            os.rename(daemon.folder / "away", program)
            wait_for(
                lambda: not daemon.status()["file_reader"]["problem"], "the reader to be found", 120
            )
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the files that waited"
            )
            own = [
                one
                for one in daemon.status()["file_reader"]["unreadable"]
                if str(daemon.folder) in one["path"]
            ]
            check(not own, f"{own}")
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(
                lambda: not daemon.status()["settings"]["reload_error"], "the settings to be taken"
            )


def the_merge_has_no_privileges():
    with Daemon(EVENT) as daemon:
        kept = daemon.folder / "kept"
        script = daemon.folder / "merge"
        script.write_text(f'#!/bin/sh\ncp -a "$1" {kept}\nexec {MERGE.resolve()} "$@"\n')
        os.chmod(script, 0o755)
        daemon.stop()
        daemon.options = ("--merge-program", script)
        daemon.start()
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
        ) as program:
            program.go().result()
        daemon.wait_for_bundles(1)
        output = daemon.folder / "output"
        output.mkdir()
        # It waits at its end until its output is read; until then it can be inspected.
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        for piece in (b"x" * 4096, b"x"):
            try:
                while True:
                    os.write(writing, piece)
            except BlockingIOError:
                pass
        os.set_blocking(writing, True)
        merge = subprocess.Popen([MERGE, kept, output], stdout=writing)
        os.close(writing)
        try:
            # It runs at the lowest priority, so a busy machine may make it wait for long.
            wait_for(
                lambda: list(output.glob("*.lagtrap.tar.zst")) or merge.poll() is not None,
                "the bundle",
                seconds=600,
            )
            workers = children(merge.pid, "lagtrap-merge")
            check(len(workers) == 1, f"the merge has {len(workers)} children")
            check_powerless(workers[0], "the merge")
            opener = process_status(merge.pid)
            net_admin_and_module = 1 << 12 | 1 << 16
            check(
                int(opener["CapEff"], 16) & net_admin_and_module == 0,
                f"the opener has {opener['CapEff']}",
            )
            check(
                opener["NoNewPrivs"] == "1" and opener["Seccomp"] == "2", f"the opener has {opener}"
            )
        finally:
            with os.fdopen(reading, "rb") as pipe:
                printed = pipe.read()
        check(merge.wait(timeout=60) == 0, "the merge failed")
        check(b'"bundle"' in printed, "the merge said nothing")
        check(report(next(output.glob("*.lagtrap.tar.zst")))["delays"], "the bundle has no delay")


if __name__ == "__main__":
    run(
        readers_have_no_privileges,
        helpers_may_only_look,
        readers_that_stay_root_are_told_of,
        a_daemon_without_its_reader_says_so_and_ends,
        a_reader_that_vanishes_and_comes_back,
        the_merge_has_no_privileges,
    )
