"""Daemon, merge helper, uploader and server at work, while one of them is killed at any time,
again and again.

LAGTRAP_RANDOM_KILLS is the number of kills (20), LAGTRAP_RANDOM_SEED determines their times and
victims.
"""

import collections
import contextlib
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

from fault_world import (
    PLANTED,
    UPLOADER,
    RecordingDaemon,
    check,
    children_of,
    check_all_arrived_once,
    in_spool,
    is_partial,
    temporary_folder,
    wait_for,
)
from lagtrap_server import Server
from lagtrap_test import run

KILLS = int(os.environ.get("LAGTRAP_RANDOM_KILLS", "20"))
SEED = int(os.environ.get("LAGTRAP_RANDOM_SEED", str(time.time_ns() % 1_000_000)))
VICTIMS = ("daemon", "daemon", "merge", "uploader", "server")


# The load pauses while more captures than this wait: it should keep all programs at work without
# filling the disk.
CAPTURES_WAITING = 6


class Load:
    """Slow runs without a break while it exists."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.ending = False
        self.runs = 0
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while not self.ending:
            if len(self.daemon.captures_left()) > CAPTURES_WAITING:
                time.sleep(0.02)
                continue
            subprocess.run(
                [PLANTED, "--kind", "sleep", "--fast", "0", "--slow-ms", "70"],
                stdout=subprocess.DEVNULL,
                check=True,
            )
            self.runs += 1

    def end(self):
        self.ending = True
        self.thread.join()


class System:
    def __init__(self, daemon, server, folder):
        self.daemon, self.server, self.folder = daemon, server, folder
        self.uploader = None
        self.killed = collections.Counter()

    def start_what_is_dead(self):
        if self.server.process.poll() is not None:
            self.server.start()
        if self.daemon.process is None or self.daemon.process.poll() is not None:
            check(self.daemon.start_with(), "the daemon did not start")
        if self.uploader is None or self.uploader.poll() is not None:
            with open(self.folder / "uploader.log", "ab") as log:
                self.uploader = subprocess.Popen(
                    [UPLOADER, "--spool", self.daemon.spool, "--url", self.server.url], stderr=log
                )

    def merge_helper(self):
        """Finds the merge helper among the daemon's children; the daemon also reads others'
        files in child processes."""
        for child in children_of(self.daemon.process.pid):
            with contextlib.suppress(OSError):
                name, state = pathlib.Path(f"/proc/{child}/stat").read_text().split()[1:3]
                if name == "(lagtrap-merge)" and state != "Z":
                    return child
        return None

    def kill(self, victim):
        self.daemon.note_begun()
        if victim == "merge":
            helper = wait_for(self.merge_helper, "a merge to be killed")
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper, 9)
        else:
            process = self.uploader if victim == "uploader" else getattr(self, victim).process
            process.kill()
            process.wait()
        self.killed[victim] += 1
        self.daemon.note_begun()
        if victim == "daemon":
            self.daemon.note_cut_short()

    def stop(self):
        if self.uploader and self.uploader.poll() is None:
            self.uploader.terminate()
            self.uploader.wait(60)
        self.server.stop()


def random_kills():
    random.seed(SEED)
    victims = [VICTIMS[index % len(VICTIMS)] for index in range(KILLS)]
    random.shuffle(victims)
    print(f"{KILLS} kills, LAGTRAP_RANDOM_SEED={SEED}")
    with temporary_folder() as folder, RecordingDaemon() as daemon, Server(
        data=folder / "server"
    ) as server:
        system = System(daemon, server, folder)
        system.start_what_is_dead()
        load = Load(daemon)
        try:
            for victim in victims:
                # Any time: that is the point of this test.
                time.sleep(random.uniform(0, 0.7))
                system.kill(victim)
                system.start_what_is_dead()
            load.end()
            daemon.settle()
            wait_for(
                lambda: not in_spool(daemon.spool, "ready", "sending"),
                "the uploader to send all",
                180,
            )
        finally:
            load.end()
            system.stop()
        daemon.note_begun()
        counts = daemon.status()["captures"]
        daemon.stop()
        server.start()
        rows = check_all_arrived_once(daemon, server)
        partial = sum(is_partial(server, row) for row in rows)
        server.check_store()
    killed = ", ".join(f"{victim} {count}" for victim, count in sorted(system.killed.items()))
    print(
        f"{KILLS} random kills ({killed}): {load.runs} slow runs, {len(daemon.begun)} captures "
        f"begun, {len(rows)} bundles at the server, once each, {partial} of them partial "
        f"({len(daemon.cut_short)} cut short by a death); the last daemon: {counts}"
    )


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run(random_kills)
