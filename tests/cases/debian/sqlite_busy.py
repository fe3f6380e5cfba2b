import os
import sqlite3
import subprocess
import time

from case import Case, Expected, call_event
from lagtrap_test import wait_for

HELD_S = 0.4  # planted: how much longer the database stays locked once its user is waiting


def prepare(world):
    world.database = sqlite3.connect(world.folder / "data", isolation_level=None)
    world.database.execute("create table account (id int)")
    world.at_end(world.database.close)


def provoke(world):
    world.database.execute("begin immediate")
    waiter = world.start(
        "sqlite3",
        "-cmd",
        ".timeout 20000",
        world.folder / "data",
        "insert into account values (1);",
    )
    wait_for(lambda: world.daemon.status()["state"] == "recording", "the wait to be recorded")
    time.sleep(HELD_S)
    world.database.execute("commit")
    if waiter.wait(timeout=120) != 0:
        raise subprocess.CalledProcessError(waiter.returncode, "sqlite3")


CASE = Case(
    "a database locked by another process: it sleeps and tries again",
    "sqlite3 3.40",
    lambda world: call_event(
        "sqlite3_step",
        "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
        more='<scope binary="/usr/bin/sqlite3"/>',
    ),
    provoke,
    Expected(
        cause=(
            r"^Waited .*for a lock of the database.*refused a lock on /\S+/data, which python3 "
            r"\(\d+\) held"
        ),
        guilty=r"\b(sqlite3_step|usleep|sqlite3\w*[Bb]usy\w*)\b",
        holder=lambda world: rf", {os.getpid()}/",
        others=r"^(kworker|jbd2)/",
    ),
    400,
    prepare,
)
