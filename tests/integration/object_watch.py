"""Follows objects of a process as lagtrap objects does, for tests."""

import json
import signal
import subprocess

from lagtrap_test import LAGTRAP, check

SETTINGS = '<event name="idle" threshold="1h" trace-length="1s"><begin tracepoint="syscalls:sys_enter_fsync"/>' \
           '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
# Tests look at calls, not at what they cost on a busy machine.
UNTHINNED = ("--budget", "10000", "--rate", "1000000")
PLENTY = (*UNTHINNED, "--patience", "10min")


class Watch:
    """lagtrap objects --json of a process, from when the probes are in."""

    def __init__(self, daemon, pid, *options):
        self.client = subprocess.Popen(
            [LAGTRAP, "objects", "--socket", daemon.socket_path, "--process", str(pid), "--json", "--for", "10min", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.client.stdout.readline()
        check(line, f"lagtrap objects ended: {self.client.stderr.read() if not line else ''}")
        self.started = json.loads(line)["started_objects"]
        self.names = [function[0] for function in self.started["functions"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.kill()
        self.client.communicate()

    def end(self):
        """As Ctrl-C does."""
        self.client.send_signal(signal.SIGINT)
        self.lines = [json.loads(line) for line in self.client.stdout]
        problem = self.client.stderr.read()
        check(self.client.wait(timeout=120) == 0, f"lagtrap objects: {problem}")
        self.ended = self.lines[-1]["ended_objects"]
        return self

    def calls(self, function=None):
        keys = ("function", "tid", "begin_ns", "end_ns", "probes_ns", "off_cpu_ns", "object", "result", "taken", "given",
                "resident", "allocations", "errno", "state", "failed", "left", "depth", "thread", "title", "error")
        calls = []
        for line in self.lines:
            for row in line.get("object_calls", []):
                call = dict(zip(keys, row))
                call["name"] = self.names[call["function"]]
                calls.append(call)
            for _, tid, _, text in line.get("messages", []):
                # Of a failure that was told before.
                next(call for call in reversed(calls) if call["tid"] == tid and call["failed"])["error"] = text
        return [call for call in calls if function in (None, call["name"])]

    def counts(self, name):
        keys = ("created", "alive", "released", "failures", "released_twice", "used_after", "unknown", "replaced",
                "not_followed")
        return dict(zip(keys, self.ended["classes"][self.started["classes"].index(name)]))

    def totals(self):
        return {self.names[row[0]]: row[1] for row in self.ended["totals"]}
