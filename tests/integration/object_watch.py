"""Follows objects of a process like lagtrap objects does, for tests."""

from trace_client import TraceClient

# These tests are about calls, not about their cost on a busy machine.
UNTHINNED = ("--budget", "10000", "--rate", "1000000")
PLENTY = (*UNTHINNED, "--timeout", "10min")


class Watch(TraceClient):
    """lagtrap objects --json of a process, once the probes are attached."""

    def __init__(self, daemon, pid, *options):
        super().__init__("objects", daemon, pid, *options)
        self.names = [function[0] for function in self.started["functions"]]

    def end(self):
        self.lines = self.interrupt()
        self.ended = self.lines[-1]["ended_objects"]
        return self

    def calls(self, function=None):
        keys = (
            "function",
            "tid",
            "begin_ns",
            "end_ns",
            "probes_ns",
            "off_cpu_ns",
            "object",
            "result",
            "taken",
            "given",
            "resident",
            "allocations",
            "errno",
            "state",
            "failed",
            "left",
            "depth",
            "thread",
            "title",
            "error",
        )
        calls = []
        for line in self.lines:
            for row in line.get("object_calls", []):
                call = dict(zip(keys, row))
                call["name"] = self.names[call["function"]]
                calls.append(call)
            for _, tid, _, text in line.get("messages", []):
                # Of a failure reported earlier.
                next(call for call in reversed(calls) if call["tid"] == tid and call["failed"])[
                    "error"
                ] = text
        return [call for call in calls if function in (None, call["name"])]

    def counts(self, name):
        keys = (
            "created",
            "alive",
            "released",
            "failures",
            "released_twice",
            "used_after",
            "unknown",
            "replaced",
            "not_followed",
        )
        return dict(zip(keys, self.ended["classes"][self.started["classes"].index(name)]))

    def totals(self):
        return {self.names[row[0]]: row[1] for row in self.ended["totals"]}
