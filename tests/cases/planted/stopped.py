import dataclasses
import os
import signal
import time

from case import Expected, planted
from lagtrap_test import wait_for

STOPPED_S = 0.6  # planted: how long the program is stopped


def stop_and_continue(world):
    process = world.program.process
    world.program.go()
    wait_for(lambda: world.daemon.status()["state"] == "recording", "the slow run to be recorded")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=120)


# This script sends the signals.
CASE = dataclasses.replace(
    planted(
        "compute",
        "compress_block",
        "SIGSTOP during the run, SIGCONT later",
        Expected(
            cause=r"stopped",
            guilty=r"\b(compress_block|transform)\b",
            holder=r"^python3 of python3\b",
        ),
        least_ms=600,
        arguments=lambda world: (250,),
    ),
    provoke=stop_and_continue,
)
