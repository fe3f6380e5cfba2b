"""Programs of users who have their own user namespaces."""

import contextlib
import ctypes
import os
import signal
import subprocess
from pathlib import Path

from lagtrap_test import OwnedProcess, wait_for


class Process(OwnedProcess):
    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )


class UserNamespace(OwnedProcess):
    """Of a user, with subordinate users."""

    FIRST = 700_000

    def __init__(self, owner):
        machines = os.readlink("/proc/self/ns/user")
        self.process = subprocess.Popen(
            ["unshare", "--user", "cat"],
            stdin=subprocess.PIPE,
            user=owner,
            group=owner,
            extra_groups=[],
        )
        folder = Path(f"/proc/{self.process.pid}")
        wait_for(lambda: os.readlink(folder / "ns/user") != machines, "the namespace")
        for kind in ("uid", "gid"):
            (folder / f"{kind}_map").write_text(f"0 {self.FIRST} 65536")

    def start(self, user, *command):
        """As a subordinate user."""
        return Process(
            "nsenter",
            "--user",
            f"--target={self.process.pid}",
            f"--setuid={user}",
            f"--setgid={user}",
            *command,
        )

    @contextlib.contextmanager
    def running(self, user, work):
        """Runs work() in a fork of this process as a subordinate user; kills the fork
        afterwards."""
        pid = os.fork()
        if pid == 0:
            try:
                namespace = os.open(f"/proc/{self.process.pid}/ns/user", os.O_RDONLY)
                if ctypes.CDLL(None, use_errno=True).setns(namespace, 0) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                work()
                signal.pause()
            finally:
                os._exit(1)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
