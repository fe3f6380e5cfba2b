"""The cost of a recording: why threads blocked is known whatever is disabled, and what existed at
its begin is known at once."""

import os
import signal
import subprocess
import sys

from lagtrap_test import Daemon, check, report, run

# Two processes that pass a byte back and forth, so that stacks at switches cost most.
PING_PONG = """
import os
there, back = os.pipe(), os.pipe()
if os.fork() == 0:
    while os.read(there[0], 1): os.write(back[1], b"x")
print("ready", flush=True)
while True:
    os.write(there[1], b"x")
    os.read(back[0], 1)
"""
# Waits for a lock that is never free, 60 ms each time.
WAITER = """
import threading
lock = threading.Lock()
lock.acquire()
print("ready", flush=True)
while True: lock.acquire(timeout=0.06)
"""
WAIT = (
    '<event name="wait" threshold="50ms" trace-length="1500ms" breach="end"><scope pid="{pid}"/>'
    '<begin tracepoint="syscalls:sys_enter_futex"/>'
    '<end tracepoint="syscalls:sys_exit_futex"/></event>'
)


class Program:
    def __init__(self, script):
        self.process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        check(self.process.stdout.readline() == "ready\n", "the program does not begin")

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def reasons_survive_omissions():
    with Program(PING_PONG), Program(WAITER) as waiter, Daemon(
        WAIT.format(pid=waiter.pid),
        'cool-down="1h"',
        budget='recording-share="0.1%" disable="switches"',
    ) as daemon:
        bundle = daemon.wait_for_bundles(1)[0]
        told = report(bundle)
        check(
            any(
                "no user-space stacks of blocking threads" in sentence
                for sentence in told["quality"]["omitted"]
            ),
            f"nothing was disabled: {told['quality']['omitted']}",
        )
        waits = [
            delay
            for delay in told["delays"]
            if not delay["open"] and delay["split"]["outside_recording_ns"] == 0
        ]
        check(len(waits) >= 2, f"{len(waits)} waits of the program in {len(told['delays'])} delays")
        for wait in waits:
            reasons = [part["reason"] for part in wait["split"]["blocked"]]
            check(reasons == ["lock (futex)"], f"blocked by {reasons}")
        without = [wait for wait in waits if not wait["functions"]]
        check(without, "every wait has the program's functions: no stack was given up")


if __name__ == "__main__":
    run(reasons_survive_omissions)
