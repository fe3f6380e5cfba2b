"""Shared by tests of `lagtrap calls`, `functions` and `objects`: the daemon, and a client of it
once the probes are attached."""

import contextlib
import json
import signal
import subprocess

from lagtrap_test import LAGTRAP, Daemon, at_end, check

# These commands work on any process; the event in the settings is not used.
SETTINGS = (
    '<event name="idle" threshold="1h" trace-length="1s">'
    '<begin tracepoint="syscalls:sys_enter_fsync"/>'
    '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
)

kept = []  # the daemon that idle_daemon() returns


def kept_daemon_ends():
    while kept:
        kept.pop().__exit__(None)


at_end.append(kept_daemon_ends)


@contextlib.contextmanager
def idle_daemon():
    """One for all cases of a test, as one serves all clients of a machine: it runs until a case
    ends it, or fails."""
    if kept and kept[0].process.poll() is not None:
        kept_daemon_ends()
    if not kept:
        kept.append(Daemon(SETTINGS).__enter__())
    try:
        yield kept[0]
    except BaseException as failure:
        kept.pop().__exit__(type(failure))
        raise


class TraceClient:
    """`lagtrap KIND --json` of a process; its first line is `started`."""

    def __init__(self, kind, daemon, pid, *options):
        self.kind = kind
        self.client = subprocess.Popen(
            [
                LAGTRAP,
                kind,
                "--socket",
                daemon.socket_path,
                "--process",
                str(pid),
                "--json",
                "--for",
                "10min",
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.client.stdout.readline()
        check(line, f"lagtrap {kind} ended: {self.client.stderr.read() if not line else ''}")
        self.started = next(
            value for key, value in json.loads(line).items() if key.startswith("started")
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.kill()
        self.client.communicate()

    def interrupt(self):
        """Sends Ctrl-C; returns all its lines."""
        self.client.send_signal(signal.SIGINT)
        lines = [json.loads(line) for line in self.client.stdout]
        problem = self.client.stderr.read()
        check(self.client.wait(timeout=120) == 0, f"lagtrap {self.kind}: {problem}")
        return lines
