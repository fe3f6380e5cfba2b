"""The program of the tests of objects, and what they watch of it."""

import os
import subprocess

from lagtrap_test import PROGRAMS, OwnedProcess, check

PROGRAM = PROGRAMS / "objects"
HANDLES = (
    "--name",
    "handle",
    "--create",
    "handle_open:arg1* handle_open_quickly:arg1*",
    "--use",
    "handle_use:arg0",
    "--release",
    "handle_close:arg0",
    "--message",
    "handle_error:result",
    "--error",
    "nonzero",
)
CLASSES = ("--class", "Item|Gadget")
MAKER = "(anonymous namespace)::make_and_release"
CREATED, RELEASED, TWICE = 2, 3, 5


class Program(OwnedProcess):
    def __init__(self, path=PROGRAM, preload=""):
        self.process = subprocess.Popen(
            [path],
            env=dict(os.environ, LD_PRELOAD=preload),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(
            self.process.stdout.readline() == "ready\n", "the program did not say that it is ready"
        )

    def run(self, mode, count=1):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == mode + "\n", f"{mode} did not end")
