"""kill -9 and I/O errors at every step of the uploader and of the server: each bundle and batch
arrives exactly once.

The programs provide the steps, as in test_captures.py; here the bundles are made by hand.
"""

import collections
import hashlib
import itertools
import os
import signal
import subprocess
import sys
import uuid

from fault_world import (
    ERRORS,
    UPLOADER,
    add_bundle,
    can_fail,
    check,
    in_spool,
    make_spool,
    passes_in,
    points_of,
    temporary_folder,
    times_passed,
    upload,
    uploader,
    wait_for,
)
from lagtrap_server import Server
from lagtrap_test import SERVER, make_runs, run

RUNS = 20
# Situations that an uploader may meet: a running server, no server, or a half-sent upload of an
# earlier uploader.
SCENES = ("delivery", "no server", "left behind")


class Cargo:
    """A spool, and what was put into it."""

    def __init__(self, folder):
        self.folder = folder
        self.spool = make_spool(folder)
        self.sessions = set()
        self.batches = []  # digests
        self.damaged = 0
        self.seed = itertools.count()

    def load(self):
        """A bundle, a batch of runs, and a bundle that was damaged on disk."""
        self.sessions.add(add_bundle(self.spool, next(self.seed)))
        path = self.folder / "batch"
        make_runs(path, next(self.seed), count=RUNS)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        path.rename(self.spool / "ready" / f"{uuid.uuid4()}-{digest[:16]}.runs.zst")
        self.batches.append(digest)
        (self.spool / "ready" / f"{uuid.uuid4()}-{'0' * 16}.lagtrap.tar.zst").write_bytes(
            b"damaged"
        )
        self.damaged += 1

    def load_for(self, scene, server):
        self.load()
        if scene == "no server":
            server.stop()
        if scene == "left behind":
            for name in in_spool(self.spool, "ready"):
                (self.spool / "ready" / name).rename(self.spool / "sending" / name)

    def left(self):
        return in_spool(self.spool, "ready", "sending")

    def check_arrived_once(self, server):
        check(not self.left(), f"left: {self.left()}")
        rows = server.parsed_bundles(len(self.sessions))
        check(
            sorted(row["session"] for row in rows) == sorted(self.sessions),
            f"{len(rows)} bundles of {len(self.sessions)} are at the server",
        )
        check(not any(row["bad_reason"] for row in rows), f"{rows}")
        missing = [digest for digest in self.batches if not has_batch(server, digest)]
        check(not missing, f"batches that are not at the server: {missing}")
        # Each batch has one run that was suspended, which is not counted with the others.
        runs = runs_of(server, "query")
        check(
            runs == len(self.batches) * (RUNS - 1),
            f"{runs} runs of {len(self.batches)} batches of {RUNS}, one of them dirty",
        )
        check(
            len(in_spool(self.spool, "rejected")) == self.damaged,
            f"rejected: {in_spool(self.spool, 'rejected')}",
        )
        reasons = list((self.spool / "rejected").glob("*.zst.reason"))
        check(
            len(reasons) == self.damaged,
            f"{len(reasons)} reasons of {self.damaged} rejected bundles",
        )


def has_batch(server, digest):
    return server.request("HEAD", f"/api/v1/batches/{digest}")[0].status == 200


def runs_of(server, event):
    return sum(
        row["runs"] for row in server.get("/api/v1/events")["events"] if row["event"] == event
    )


def steps_of(passes, limit=2):
    counts = sum(passes.values(), collections.Counter())
    return [
        (name, nth) for name in sorted(counts) for nth in range(1, min(counts[name], limit) + 1)
    ]


def check_none_forgotten(program, names, starts):
    forgotten = sorted(
        point.name
        for point in points_of(program)
        if point.name.startswith(starts) and not any(point.is_pass(name) for name in names)
    )
    check(not forgotten, f"no transfer passes the fault points {forgotten} of {program.name}")


def uploader_steps(folder, server):
    """(scene, step, number of the pass), from one undisturbed uploader in each scene."""
    cargo = Cargo(folder)
    steps = []
    for scene in SCENES:
        log = folder / f"passes {scene}"
        cargo.load_for(scene, server)
        upload(cargo.spool, server.url, log=log)
        steps += [(scene, name, nth) for name, nth in steps_of(passes_in(log))]
        if scene == "no server":
            server.start()
            upload(cargo.spool, server.url)
        check(not cargo.left(), f"left without any fault: {cargo.left()}")
    check_none_forgotten(UPLOADER, {name for _, name, _ in steps}, ("spool.", "transfer."))
    return cargo, steps


def uploader_killed():
    with temporary_folder() as folder, Server(data=folder / "server") as server:
        cargo, steps = uploader_steps(folder, server)
        for scene, name, nth in steps:
            cargo.load_for(scene, server)
            code, said = upload(cargo.spool, server.url, f"{name}@{nth}:kill")
            check(
                code == -signal.SIGKILL,
                f"{scene}: no death at {name}, pass {nth}, but {code}: {said}",
            )
            if scene == "no server":
                server.start()
            code, said = upload(cargo.spool, server.url)
            check(not cargo.left(), f"{scene}, after a death at {name}: {said}")
        cargo.check_arrived_once(server)
        server.check_store()
    print(
        f"the uploader killed {len(steps)} times, {len(cargo.sessions)} bundles and "
        f"{len(cargo.batches)} batches at the server once each"
    )


def uploader_errors():
    """As a service: an error at a step delays what it was about, and ends nothing."""
    with temporary_folder() as folder, Server(data=folder / "server") as server:
        cargo, steps = uploader_steps(folder, server)
        points = points_of(UPLOADER)
        injected = 0
        for scene, name, nth in steps:
            if not can_fail(name, points):
                continue
            cargo.load_for(scene, server)
            error = ERRORS[injected % len(ERRORS)]
            passes = folder / f"passes {injected}"
            with open(folder / "uploader.log", "ab") as log:
                process = subprocess.Popen(
                    uploader(cargo.spool, server.url),
                    stderr=log,
                    env={
                        **os.environ,
                        "LAGTRAP_FAULT": f"{name}@{nth}:error:{error}",
                        "LAGTRAP_FAULT_LOG": str(passes),
                    },
                )
            try:
                wait_for(
                    lambda: process.poll() is not None or times_passed(passes, name) >= nth,
                    f"{error} at {name}, pass {nth} ({scene})",
                    120,
                )
                if scene == "no server":
                    server.start()
                wait_for(
                    lambda: process.poll() is not None or not cargo.left(),
                    f"all to be sent in spite of {error} at {name}, pass {nth} ({scene})",
                    120,
                )
                check(process.poll() is None, f"{error} at {name} ended the uploader ({scene})")
            finally:
                process.terminate()
                process.wait(60)
            injected += 1
        cargo.check_arrived_once(server)
        server.check_store()
    print(
        f"{injected} errors in the uploader, {len(cargo.sessions)} bundles and "
        f"{len(cargo.batches)} batches at the server once each"
    )


def server_steps(folder, server):
    """(step, number of the pass), from one undisturbed server that already has its store; it is
    then stopped."""
    cargo = Cargo(folder)
    log = folder / "passes"
    server.stop()
    server.start(fault_log=log)
    cargo.load()
    upload(cargo.spool, server.url)
    server.parsed_bundles()
    server.stop()
    steps = steps_of(passes_in(log), 1)
    check_none_forgotten(SERVER, {name for name, _ in steps}, ("server.",))
    return cargo, steps


def server_killed():
    with temporary_folder() as folder, Server(data=folder / "server") as server:
        cargo, steps = server_steps(folder, server)
        for name, nth in steps:
            cargo.load()
            server.start(f"{name}@{nth}:kill")
            # A bundle and a batch of runs: the kill happens at one of them.
            upload(cargo.spool, server.url)
            wait_for(
                lambda: server.process.poll() == -signal.SIGKILL, f"the server's death at {name}"
            )
            server.start()
            code, said = upload(cargo.spool, server.url)
            check(not cargo.left(), f"after the server's death at {name}: {said}")
            server.stop()
        server.start()
        cargo.check_arrived_once(server)
        server.check_store()
    print(
        f"the server killed {len(steps)} times, {len(cargo.sessions)} bundles and "
        f"{len(cargo.batches)} batches there once each"
    )


def server_errors():
    with temporary_folder() as folder, Server(data=folder / "server") as server:
        cargo, steps = server_steps(folder, server)
        points = points_of(SERVER)
        injected = 0
        for name, nth in steps:
            if not can_fail(name, points):
                continue
            cargo.load()
            passes = folder / f"passes {injected}"
            server.start(f"{name}@{nth}:error:{ERRORS[injected % len(ERRORS)]}", passes)
            code, said = upload(cargo.spool, server.url)
            check(times_passed(passes, name) >= nth, f"the error at {name} did not come about")
            check(server.answers(), f"the server ended by an error at {name}")
            code, said = upload(cargo.spool, server.url)
            check(not cargo.left(), f"after an error of the server at {name}: {said}")
            server.stop()
            injected += 1
        server.start()
        cargo.check_arrived_once(server)
        server.check_store()
    print(
        f"{injected} errors in the server, {len(cargo.sessions)} bundles and {len(cargo.batches)} "
        "batches there once each"
    )


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run(uploader_killed, uploader_errors, server_killed, server_errors)
