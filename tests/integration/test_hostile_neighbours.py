"""Neighbours that harm processes that inspect them: file systems that never answer, root and
many users in containers, containers and mounts that come and go. Beside each, the delay of
another user's program is recorded and explained, status answers, the daemon ends when told to,
and leaves nothing behind that cannot be killed."""

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
import time

from containers import Container, Image
from dead_mount import DeadMount
from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    Daemon,
    OwnedProcess,
    check,
    library_event,
    run,
    skip,
    wait_for,
)
from test_containers_come_and_go import run_container
from test_hostile_processes import (
    HOSTILE,
    HOSTILE_USER,
    MOST_BYTES,
    Neighbour,
    check_delay_is_explained,
    folder_for,
)
from test_memory import Group

ANSWER_SECONDS = 60  # what a test waits for, on any machine; people wait for a second
SUBORDINATE_USERS = 100_000


def states_of(pid):
    """Name and state of each thread, as in proc(5)."""
    states = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            text = (task / "stat").read_text()
            states.append(
                (text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2])
            )
    return states


class WatchedBeside:
    """A daemon whose processes cannot get lost: it, its helpers and readers are in one group.
    With `beside`, which is entered while it runs, the other user's delay is recorded and
    explained; then it ends."""

    def __init__(self, more=""):
        self.group = Group(MOST_BYTES)
        self.daemon = Daemon(library_event("work", PLANTED, "100ms", "1s"), more=more)

    def processes(self):
        return [int(pid) for pid in self.group.processes.read_text().split()]

    def held(self):
        """Names of the threads that no signal can end at the moment."""
        return [name for pid in self.processes() for name, state in states_of(pid) if state == "D"]

    def check_it_answers(self):
        told = subprocess.run(
            [LAGTRAP, "status", "--socket", self.daemon.socket_path],
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
        check(told.returncode == 0 and "work" in told.stdout, f"lagtrap status: {told}")

    def end(self):
        began = time.monotonic()
        self.check_it_answers()
        answered = time.monotonic()
        self.daemon.process.send_signal(signal.SIGTERM)
        check(
            self.daemon.process.wait(timeout=ANSWER_SECONDS) == 0,
            f"it ended with {self.daemon.process.returncode}",
        )
        print(
            f"        answered in {answered - began:.2f} s, ended in "
            f"{time.monotonic() - answered:.2f} s",
            flush=True,
        )

    def __enter__(self):
        with self.group.inside():
            self.daemon.start()
        return self

    def __exit__(self, kind, *arguments):
        try:
            self.daemon.__exit__(kind, *arguments)
            check(
                kind is not None or not self.group.killed(),
                "the kernel ended something of the daemon's unit",
            )
        finally:
            if self.daemon.process.poll() is None:
                self.daemon.kill()
            self.group.__exit__()


def check_beside(*neighbours, settled=lambda daemon: True, held=0, daemon_first=True):
    """`held`: the maximum number of helpers that a neighbour's files may hold up until it is
    gone. A daemon that runs already may inspect these files before they stop answering."""
    with contextlib.ExitStack() as stack:
        with contextlib.ExitStack() as beside:
            if daemon_first:
                watched = stack.enter_context(WatchedBeside())
            for neighbour in neighbours:
                neighbour(beside)
            if not daemon_first:
                watched = stack.enter_context(WatchedBeside())
            wait_for(lambda: settled(watched.daemon), "the neighbour to be met")
            check_delay_is_explained(watched.daemon)
            watched.end()
            names = wait_for(
                lambda: [watched.held()] if len(watched.held()) <= held else None,
                lambda: f"at most {held} processes that no signal ends: {watched.held()}",
            )[0]
            check(
                all(name in ("lagtrap-inspect", "lagtrapd") for name in names),
                f"not only helpers are held: {names}",
            )
            check(
                watched.daemon.process.pid not in watched.processes(),
                "the daemon itself is still there",
            )
        wait_for(
            lambda: not watched.processes(), lambda: f"what is left to end: {watched.processes()}"
        )


def enter(beside, neighbour):
    """The neighbour must run until everything is checked; otherwise the test shows nothing."""
    beside.enter_context(neighbour)
    beside.callback(
        lambda: check(neighbour.process.poll() is None, "a neighbour ended before the daemon did")
    )
    return neighbour


def dead_file(beside):
    """Its user has it mapped, and then its server stops answering."""
    folder = beside.enter_context(folder_for(0))
    mount = beside.enter_context(DeadMount(folder / "remote", HOSTILE))
    enter(beside, Neighbour("map-files", mount.program))
    mount.die()


def dead_overlay(
    hidden, map_it=lambda beside, program: enter(beside, Neighbour("map-files", program))
):
    """The same below an overlay; hidden: nothing tells what it is on."""

    def make(beside):
        folder = beside.enter_context(folder_for(0))
        mount = beside.enter_context(DeadMount(folder / "remote", HOSTILE))
        for name in ("upper", "work", "merged"):
            (folder / name).mkdir()
        subprocess.run(
            [
                "mount",
                "-t",
                "overlay",
                "overlay",
                folder / "merged",
                "-o",
                f"lowerdir={mount.folder},upperdir={folder}/upper,workdir={folder}/work",
            ],
            check=True,
        )
        beside.callback(subprocess.run, ["umount", "--lazy", folder / "merged"], check=True)
        map_it(beside, folder / "merged" / "program")
        if hidden:
            subprocess.run(["mount", "-t", "tmpfs", "cover", mount.folder], check=True)
            beside.callback(subprocess.run, ["umount", "--lazy", mount.folder], check=False)
        mount.die()
        beside.callback(mount.process.kill)

    return make


def a_file_server_that_never_answers():
    check_beside(dead_file, dead_file)


def an_overlay_on_one():
    check_beside(dead_overlay(hidden=False))


def an_overlay_that_hides_one():
    check_beside(
        *[dead_overlay(hidden=True)] * 3,
        held=2,
        daemon_first=False,
        settled=lambda daemon: daemon.status()["inspections"]["stuck"],
    )


def the_root_of_a_container():
    """Creates and drops code all the time, and has a program on a file system that does not
    answer."""
    with Image({"/opt/hostile": HOSTILE}) as image:

        def container(beside):
            enter(beside, Container(image, "/opt/hostile", "churn-code", 6000))

        def of_root(beside, program):
            enter(beside, Neighbour("map-files", program, user=0))

        check_beside(
            container,
            dead_overlay(hidden=True, map_it=of_root),
            held=2,
            daemon_first=False,
            settled=lambda daemon: daemon.status()["unwinder"]["read_anew"]
            and daemon.status()["inspections"]["stuck"],
        )


class ManyUsers(OwnedProcess):
    """An unprivileged user's programs under many users that root delegated to them, as
    newuidmap(1) does."""

    def __init__(self, users, *command):
        self.process = subprocess.Popen(
            [HOSTILE, "many-users", str(users), *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=HOSTILE_USER,
            group=HOSTILE_USER,
            extra_groups=[],
            start_new_session=True,
        )
        if self.process.stdout.readline() != "unshared\n":
            skip(
                "a user may have no namespace of users here: "
                f"{self.process.communicate()[1].strip()}"
            )
        for name in ("uid_map", "gid_map"):
            pathlib.Path(f"/proc/{self.process.pid}/{name}").write_text(
                f"0 {HOSTILE_USER} 1\n1 {SUBORDINATE_USERS} {users}\n"
            )
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        check(
            self.process.stdout.readline() == "ready\n",
            "the programs of the subordinate users did not start",
        )

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def a_user_with_many_subordinate_ones():
    """Each of them holds up inspections; together they have the share of one."""

    def users(beside, program):
        enter(beside, ManyUsers(12, HOSTILE, "map-files", program))

    check_beside(
        *[dead_overlay(hidden=True, map_it=users)] * 2,
        held=2,
        daemon_first=False,
        settled=lambda daemon: daemon.status()["inspections"]["stuck"],
    )


@contextlib.contextmanager
def going_on(action):
    """Repeats the action meanwhile, at least once."""
    over, done, failed = threading.Event(), threading.Event(), []

    def work():
        while not over.is_set():
            try:
                action()
            except Exception as error:  # reported by the test
                failed.append(error)
                over.set()
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        done.wait()
        yield
    finally:
        over.set()
        thread.join()
    check(not failed, f"it did not go on: {failed}")


def containers_that_come_and_go():
    check_beside(lambda beside: beside.enter_context(going_on(run_container)))


def a_storm_of_mounts():
    with folder_for() as folder:
        check_beside(lambda beside: enter(beside, Neighbour("mount-storm", folder)))


if __name__ == "__main__":
    run(
        a_file_server_that_never_answers,
        an_overlay_on_one,
        an_overlay_that_hides_one,
        the_root_of_a_container,
        a_user_with_many_subordinate_ones,
        containers_that_come_and_go,
        a_storm_of_mounts,
    )
