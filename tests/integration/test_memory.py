"""A daemon with limited memory, as in its unit: it records, disables what it can when memory gets
short, reports that, and resumes. The kernel kills nothing."""

import contextlib
import os
import pathlib
import subprocess
import sys

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    Daemon,
    Watched,
    check,
    check_trace,
    library_event,
    report,
    run,
    skip,
    wait_for,
)

LIMIT_MIB = 256


class Group:
    """A control group with limited memory, in version 1 or 2 of the interface, whichever has the
    memory controller."""

    VERSIONS = (
        (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "memory.oom_control",
            "total_",
        ),
        ("/sys/fs/cgroup", "memory.max", "memory.current", "memory.events", ""),
    )

    def __init__(self, limit_bytes):
        refused = []
        for root, limit, usage, events, prefix in self.VERSIONS:
            self.folder = pathlib.Path(root) / f"lagtrap-test-{os.getpid()}"
            self.usage, self.events, self.prefix = usage, events, prefix
            try:
                self.folder.mkdir()
            except OSError as error:
                refused.append(str(error))
                continue
            try:
                (self.folder / limit).write_text(str(limit_bytes))
                return
            except OSError as error:
                refused.append(str(error))
                self.folder.rmdir()
        skip("no group with limited memory can be made: " + "; ".join(refused))

    @property
    def processes(self):
        return self.folder / "cgroup.procs"

    @contextlib.contextmanager
    def inside(self):
        """Processes started within the block are in the group from their first page on."""
        self.processes.write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self.folder.parent / "cgroup.procs").write_text(str(os.getpid()))

    def used_mib(self):
        """Without pages of files."""
        facts = dict(
            line.split() for line in (self.folder / "memory.stat").read_text().splitlines()
        )
        files = sum(int(facts[f"{self.prefix}{kind}_file"]) for kind in ("active", "inactive"))
        return (int((self.folder / self.usage).read_text()) - files) >> 20

    def killed(self):
        facts = dict(line.split() for line in (self.folder / self.events).read_text().splitlines())
        return int(facts["oom_kill"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        wait_for(lambda: not self.processes.read_text(), "the group to be empty")
        self.folder.rmdir()


class Hog:
    """A process of the group that holds memory."""

    PROGRAM = (
        "import sys; held = bytearray(int(sys.argv[1]) << 20); "
        "held[::4096] = b'x' * len(held[::4096]); print('held', flush=True); sys.stdin.read()"
    )

    def __init__(self, group, mib):
        with group.inside():
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.PROGRAM, str(mib)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        check(self.process.stdout.readline() == "held\n", "the memory could not be held")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


def slow_run():
    with Watched(PLANTED, "--kind", "sleep", "--fast", 10, "--slow-ms", 400, "--wait") as program:
        program.go().result()


@contextlib.contextmanager
def daemon_in(group):
    daemon = Daemon(library_event("work", PLANTED, "100ms", "1s"))
    with group.inside():
        daemon.start()
    with contextlib.ExitStack() as stack:
        stack.push(daemon.__exit__)
        yield daemon


def memory_of(daemon):
    return daemon.status()["memory"]


def unwinding_budget(daemon):
    """The last report of the thread that builds tables."""
    unwinder = daemon.status()["unwinder"]
    return "held" if unwinder["budget_bytes"] == unwinder["taken_bytes"] else "free"


def enough_is_enough():
    """Recorded and merged within the limit; nothing is disabled."""
    with Group(LIMIT_MIB << 20) as group, daemon_in(group) as daemon:
        slow_run()
        check_trace(daemon.wait_for_bundles(1)[0])
        memory = memory_of(daemon)
        check(memory["limit_bytes"] == LIMIT_MIB << 20, f"{memory}")
        check(
            not memory["disabled_count"] and not memory["killed"] and not group.killed(),
            f"{memory}",
        )
        # The two values are not read at the same time.
        wait_for(
            lambda: abs((memory_of(daemon)["used_bytes"] >> 20) - group.used_mib()) < 32,
            "the daemon's figure to be the group's",
        )


def readers_go_first():
    """The kernel would kill readers of files before the daemon; a reader arranges that when it
    starts."""

    def score_of(pid):
        return int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text())

    with Group(LIMIT_MIB << 20) as group, daemon_in(group) as daemon:

        def readers_score():
            try:
                return [
                    score_of(pid)
                    for pid in map(int, group.processes.read_text().split())
                    if pid != daemon.process.pid
                ]
            except FileNotFoundError:  # it has ended meanwhile
                return []

        wait_for(lambda: set(readers_score()) == {1000}, "readers that would be ended first")
        check(score_of(daemon.process.pid) < 1000, f"the daemon has {score_of(daemon.process.pid)}")


def room_gets_short():
    with Group(LIMIT_MIB << 20) as group, daemon_in(group) as daemon:
        wait_for(lambda: not daemon.status()["unwinder"]["tables_waiting"], "the tables to be made")
        with Hog(group, LIMIT_MIB - 24 - group.used_mib()):
            memory = wait_for(
                lambda: memory_of(daemon)["merges_held"] and memory_of(daemon),
                "the daemon to notice",
            )
            check(memory["tables_held"], f"{memory}")
            wait_for(lambda: unwinding_budget(daemon) == "held", "the tables to be held")
            slow_run()
            wait_for(lambda: daemon.status()["state"] == "waiting", "the recording to end")
            captures = daemon.status()["captures"]
            check(
                captures["waiting"] == 1 and captures["done"] == 0 and not daemon.bundles(),
                f"{captures}",
            )
            check("recordings wait to be merged" in daemon.log(), daemon.log())
            shown = subprocess.run(
                [LAGTRAP, "status", "--socket", daemon.socket_path],
                capture_output=True,
                text=True,
                check=True,
            )
            check("recordings wait to be merged" in shown.stdout, shown.stdout)
        bundle = daemon.wait_for_bundles(1)[0]
        check_trace(bundle)
        disabled = report(bundle)["quality"]["omitted"]
        check(
            any("unwind tables" in sentence for sentence in disabled), f"the report says {disabled}"
        )
        wait_for(lambda: not memory_of(daemon)["tables_held"], "the tables to get memory again")
        wait_for(lambda: unwinding_budget(daemon) == "free", "the tables to be free to grow")
        check("for merges again" in daemon.log(), daemon.log())
        check(not group.killed() and not memory_of(daemon)["killed"], "the kernel ended something")


if __name__ == "__main__":
    run(enough_is_enough, readers_go_first, room_gets_short)
