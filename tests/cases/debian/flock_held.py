import subprocess

from case import Case, Expected, marker_event
from servers import PYTHON

HOLDER = """
import fcntl, hashlib, sys, time
file = open(sys.argv[1], 'w')
fcntl.flock(file, fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.readline()
end = time.thread_time() + 0.4
while time.thread_time() < end:
    hashlib.sha256(b'thread' * 2000).digest()
fcntl.flock(file, fcntl.LOCK_UN)
"""


def prepare(world):
    # A copy, so that calls of other processes are not runs of the event.
    world.program = world.folder / "flock"
    world.run("cp", "/usr/bin/flock", world.program)
    world.file = world.folder / "lock"
    world.holder = world.start(
        PYTHON, "-c", HOLDER, world.file, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    world.holder.stdout.readline()


def provoke(world):
    waiter = world.start(world.program, world.file, "true")
    world.holder.communicate("go\n", timeout=120)
    waiter.wait(timeout=120)


CASE = Case(
    "a file lock (flock), held by another process that computes",
    "flock of util-linux 2.38",
    lambda world: marker_event(
        'tracepoint="syscalls:sys_enter_flock"',
        'tracepoint="syscalls:sys_exit_flock"',
        more=f'<scope binary="{world.program}"/>',
    ),
    provoke,
    Expected(
        cause=r"for a lock on /\S+/lock\b",
        guilty=r"\b(EVP_\w+|SHA256\w*|_PyEval_\w+|PyObject_\w+|sha256\w*)\b",
        holder=lambda world: rf", {world.holder.pid}/",
    ),
    200,
    prepare,
)
