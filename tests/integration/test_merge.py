"""A merge that never ends: as far as the daemon can tell, it waits for a file system that does
not answer. It is killed, and the capture is merged without opening programs. If that does not
end either, the capture is set aside and the next ones continue."""

import contextlib
import os
import shutil
import signal
import subprocess
import unittest.mock

from dead_mount import DeadMount
from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    Daemon,
    Watched,
    check,
    check_trace,
    library_event,
    report,
    run,
    skip,
    wait_for,
)

MERGE = (BUILD_DIR / "trace" / "lagtrap-merge").resolve()
HOT = PROGRAMS / "hot"
EVENT = library_event("work", PLANTED, "60ms", trace_length="100ms")
REASON = "program functions have no names: the merge that looked them up took too long"


class HangingMerge(Daemon):
    """A daemon whose merge helper runs a script before it becomes the real one."""

    def __init__(self, commands):
        super().__init__(
            EVENT, recording='cool-down="100ms" captures-per-hour="1000" merge-limit="8s"'
        )
        script = self.folder / "merge"
        script.write_text(f'#!/bin/sh\ncd {self.folder}\n{commands}\nexec {MERGE} "$@"\n')
        script.chmod(0o755)
        self.options = ("--merge-program", script)

    def captures(self):
        return self.status()["captures"]

    def log_lines(self, text):
        return [line for line in self.log().splitlines() if text in line]

    def __exit__(self, *arguments):
        for pid in (
            (self.folder / "hanging").read_text().split()
            if (self.folder / "hanging").exists()
            else ()
        ):
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        super().__exit__(*arguments)


def slow_run():
    with Watched(PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 400, "--wait") as program:
        program.go().result()


def status_text(daemon):
    return subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def explained_without_names(daemon, bundle):
    check_trace(bundle)
    told = report(bundle)
    check(len(told["delays"]) == 1 and REASON in told["quality"]["omitted"], f"{told['quality']}")
    split = told["delays"][0]["split"]
    check("sleep" in [part["reason"] for part in split["blocked"]], f"{split}")
    captures = daemon.captures()
    check(
        captures["without_names"] == 1
        and captures["merges_over_limit"] == 1
        and captures["set_aside"] == 0,
        f"{captures}",
    )
    check("1 without function names" in status_text(daemon), status_text(daemon))
    check(
        len(daemon.log_lines("is merged without function names: lagtrap-merge took longer than 8"))
        == 1,
        daemon.log(),
    )
    left = sorted(path.name for path in (daemon.spool / "captures").iterdir())
    check(not left, f"captures are left: {left}")


def one_that_hangs_is_merged_without_names():
    with HangingMerge('[ "$1" = --without-names ] || exec sleep 1000') as daemon:
        slow_run()
        explained_without_names(daemon, daemon.wait_for_bundles(1)[0])


def one_that_nothing_ends_keeps_no_capture():
    """A process that hangs in the kernel holds the capture's lock whatever signal it got; here,
    a process that no signal reaches."""
    hold = (
        '[ "$1" = --without-names ] || { setsid flock "$1" sleep 1000 & echo $! >> hanging; '
        "exec sleep 1000; }"
    )
    with HangingMerge(hold) as daemon:
        slow_run()
        explained_without_names(daemon, daemon.wait_for_bundles(1)[0])


def a_daemon_that_dies_as_it_takes_a_capture_back_loses_nothing():
    """The folders have been exchanged, and the old one still exists."""
    daemon = HangingMerge('unset LAGTRAP_FAULT\n[ "$1" = --without-names ] || exec sleep 1000')
    with unittest.mock.patch.dict(os.environ, {"LAGTRAP_FAULT": "renewal.exchanged:kill"}):
        daemon.start()
    with contextlib.ExitStack() as stack:
        stack.push(daemon.__exit__)
        slow_run()
        wait_for(lambda: daemon.process.poll() is not None, "the daemon to die")
        left = sorted(path.name for path in (daemon.spool / "captures").iterdir())
        check(len(left) == 2 and left[0] == f".{left[1]}.renewed", f"{left}")
        daemon.start()
        explained_without_names(daemon, daemon.wait_for_bundles(1)[0])


def one_that_never_ends_is_set_aside():
    with HangingMerge("[ -e merges_end ] || exec sleep 1000") as daemon:
        slow_run()
        wait_for(lambda: daemon.captures()["set_aside"] == 1, "the capture to be set aside")
        capture = next((daemon.spool / "captures").iterdir())
        reason = (capture / "set-aside.txt").read_text()
        check(reason.startswith("lagtrap-merge took longer than 8"), reason)
        check("1 set aside" in status_text(daemon), status_text(daemon))
        (daemon.folder / "merges_end").touch()
        slow_run()
        check(
            report(daemon.wait_for_bundles(1)[0])["delays"], "the next recording is not explained"
        )
        check(daemon.captures()["set_aside"] == 1, f"{daemon.captures()}")
        daemon.stop()
        daemon.start()
        wait_for(
            lambda: daemon.log_lines("is set aside: lagtrap-merge took longer"),
            "the next daemon to say it",
        )
        check(
            daemon.captures()["set_aside"] == 1 and capture.exists() and len(daemon.bundles()) == 1,
            f"{daemon.captures()}",
        )
        daemon.stop()
        (capture / "set-aside.txt").unlink()
        shutil.copytree(
            capture, daemon.spool / "captures" / f".{capture.name}.renewed"
        )  # from a daemon that was killed
        daemon.start()
        check(len(daemon.wait_for_bundles(1)) == 2, "who removes the file has it tried again")
        check(not list((daemon.spool / "captures").iterdir()), "something is left")


def one_that_takes_long_gains_priority():
    """On a busy machine the lowest priority would delay a report for minutes; the process may
    belong to another user by then."""
    powerless = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    raised = 'until niceness=$(nice); [ "$niceness" -ge 0 ] && [ "$niceness" -lt 10 ]; do :; done'
    with HangingMerge(
        f"{powerless} sh -c '{raised}'"
    ) as daemon:  # its own is -20, the daemon's, before it is lowered
        slow_run()
        daemon.wait_for_bundles(1)
        check(daemon.captures()["merges_over_limit"] == 0, f"{daemon.captures()}")


def a_dead_mount_keeps_nobody_from_a_report():
    """Another user's program is on a mount that stops answering before the merge looks for
    names."""
    # The neighbour is stopped meanwhile, because a merge begins at the lowest priority.
    with HangingMerge("kill -USR1 $(cat mount); kill -STOP $(cat neighbour)") as daemon, DeadMount(
        daemon.folder / "mounted", HOT
    ) as mount:
        (daemon.folder / "mount").write_text(str(mount.process.pid))
        with Watched(mount.program, user=65534, group=65534, extra_groups=[]) as neighbour:
            (daemon.folder / "neighbour").write_text(str(neighbour.process.pid))
            neighbour.go()
            wait_for(
                lambda: not daemon.status()["unwinder"]["tables_waiting"], "the tables to be made"
            )
            slow_run()
            bundle = daemon.wait_for_bundles(1)[0]
            hanging = [line for line in daemon.log_lines("is merged without function names")]
            check(
                len(hanging) == 1 and "hangs in the kernel and cannot be killed" in hanging[0],
                daemon.log(),
            )
            explained_without_names(daemon, bundle)
            path = f"/proc/{neighbour.process.pid}/root{mount.program}"
            check(f"; it waited for {path} of user 65534" in hanging[0], daemon.log())
            held_up = daemon.status()["merge_held_up"]
            check((held_up["path"], held_up["user"]) == (path, 65534), f"{held_up}")
            check(
                "a merge timed out waiting for a file of user nobody (65534)"
                in status_text(daemon),
                status_text(daemon),
            )
            slow_run()
            check(
                report(daemon.wait_for_newest_bundle(2))["delays"],
                "the next recording is not explained",
            )


if __name__ == "__main__":
    if not os.path.exists("/dev/fuse"):
        skip("there is no /dev/fuse, and so no file system that stops answering")
    run(
        one_that_hangs_is_merged_without_names,
        one_that_nothing_ends_keeps_no_capture,
        a_daemon_that_dies_as_it_takes_a_capture_back_loses_nothing,
        one_that_never_ends_is_set_aside,
        one_that_takes_long_gains_priority,
        a_dead_mount_keeps_nobody_from_a_report,
    )
