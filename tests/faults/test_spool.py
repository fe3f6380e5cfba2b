"""A spool that is full, read-only or over its limit: the daemon stays up, reports it, and
records again when it can."""

import contextlib
import os
import re
import subprocess
import sys
import time
import uuid

from fault_world import RecordingDaemon, check, in_spool, temporary_folder, wait_for
from lagtrap_test import report, run, skip

MIB = 1 << 20
CHUNK = 64 * 1024


@contextlib.contextmanager
def small_disk(megabytes):
    """A separate file system."""
    with temporary_folder() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", folder],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            skip(f"no file system can be mounted: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    """Writes until nothing more fits."""
    with open(folder / "filler", "ab", buffering=0) as filler:
        for size in (MIB, CHUNK, 4096, 512):
            with contextlib.suppress(OSError):
                while filler.write(bytes(size)) == size:
                    pass


def record(daemon):
    """Makes a slow run; returns its bundle."""
    wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait for breaches")
    done = daemon.status()["captures"]["done"]
    daemon.slow_run()
    wait_for(lambda: daemon.status()["captures"]["done"] > done, "the bundle", 300)
    daemon.settle()


def fail_to_record(daemon):
    def failures():
        counts = daemon.status()["captures"]
        return counts["failed"] + counts["merges_failed"]

    before = failures()
    wait_for(lambda: daemon.status()["state"] == "waiting", "the daemon to wait for breaches")
    daemon.slow_run()
    wait_for(lambda: failures() > before, "the failure to be counted")


def disk_full():
    with small_disk(32) as disk, RecordingDaemon(spool=disk / "spool") as daemon:
        record(daemon)
        record(daemon)
        ready = in_spool(daemon.spool, "ready")
        check(len(ready) == 2, f"{ready}")
        # As the uploader does once the server has it.
        (daemon.spool / "ready" / ready[0]).rename(daemon.spool / "sent" / ready[0])
        fill(disk)
        fail_to_record(daemon)
        wait_for(
            lambda: daemon.status()["spool"]["removed_sent"] == 1,
            "the bundle that the server has to make room",
        )
        check("1 sent" in daemon.log() and "No space left" in daemon.log(), "the log does not tell")
        fill(disk)
        fail_to_record(daemon)
        check(
            ready[1] in in_spool(daemon.spool, "ready"),
            "a bundle that nobody has yet was removed for room",
        )
        check(daemon.status()["spool"]["removed_unsent"] == 0, f"{daemon.status()['spool']}")
        (disk / "filler").unlink()
        record(daemon)
        # Files started on the full disk are now either complete or were never begun.
        counts = daemon.status()["captures"]
        check(counts["waiting"] == 0, f"{counts}")
        for name in in_spool(daemon.spool, "ready"):
            report(daemon.spool / "ready" / name)


def disk_read_only():
    with small_disk(32) as disk, RecordingDaemon(spool=disk / "spool") as daemon:
        record(daemon)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        fail_to_record(daemon)
        fail_to_record(daemon)
        check("Read-only file system" in daemon.log(), "the log does not tell")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        record(daemon)
        # A daemon that starts on a full disk waits too.
        daemon.stop()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        check(daemon.start_with(), "the daemon did not start")
        fail_to_record(daemon)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        record(daemon)


def spool_limit():
    """The daemon alone enforces it: removes first what the server has, then the oldest."""

    def put(folder, age_s):
        path = daemon.spool / folder / f"{uuid.uuid4()}-{'0' * 16}.lagtrap.tar.zst"
        path.write_bytes(bytes(8 * MIB))
        os.utime(path, (time.time() - age_s, time.time() - age_s))
        return path.name

    with RecordingDaemon(spool_attributes='size-limit="16MiB"') as daemon:
        put("sent", 0)
        put("ready", 3600)
        newer = put("ready", 1800)
        record(daemon)
        wait_for(lambda: daemon.status()["spool"]["removed_unsent"], "the oldest bundle to go")
        kept = daemon.status()["spool"]
        check((kept["removed_sent"], kept["removed_unsent"]) == (1, 1), f"{kept}")
        left = in_spool(daemon.spool, "ready", "sent")
        check(newer in left and len(left) == 2, f"{left}")
        # Together, or the first one before the recording.
        check(
            re.search(r"removed bundles .*: 1 sent", daemon.log())
            and "1 never sent" in daemon.log(),
            "the log does not tell",
        )
        check(
            (daemon.spool / "ready" / ".removed").read_text() == "1\n",
            "what was never sent is not counted",
        )
        record(daemon)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run(disk_full, disk_read_only, spool_limit)
