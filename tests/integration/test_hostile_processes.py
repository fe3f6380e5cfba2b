"""Users whose processes are made to harm the daemon, beside a watched program of another user:
its delay is still recorded and explained with complete stacks, the daemon stays within its
memory, and status names the limited user."""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import tempfile

from dead_mount import DeadMount
from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)
from recorded_stacks import ElfFile
from test_memory import Group

HOSTILE = PROGRAMS / "hostile_neighbour" / "hostile_neighbour"
HOSTILE_USER, WATCHED_USER = 65534, 12345
MOST_BYTES = 256 << 20  # what the daemon's unit may use here


class Neighbour(OwnedProcess):
    """The hostile program in one mode, by default of an unprivileged user; it is ended with its
    children."""

    def __init__(self, mode, *arguments, program=HOSTILE, user=HOSTILE_USER):
        self.process = subprocess.Popen(
            [program, mode, *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            user=user,
            group=user,
            extra_groups=[],
            start_new_session=True,
        )
        check(self.process.stdout.readline() == "ready\n", f"{mode} did not say that it is ready")

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def folder_for(user=HOSTILE_USER):
    with tempfile.TemporaryDirectory(prefix="lagtrap-hostile-") as name:
        os.chown(name, user, user)
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@contextlib.contextmanager
def limited_daemon(binary=PLANTED):
    """A daemon that may use MOST_BYTES, with its own tables, so that tables of hostile files are
    built here."""
    with Group(MOST_BYTES) as group, tempfile.TemporaryDirectory(
        prefix="lagtrap-test-cache-"
    ) as cache:
        daemon = Daemon(
            library_event("work", binary, "100ms", "1s"), more=f'<unwinding cache="{cache}"/>'
        )
        with group.inside():
            daemon.start()
        with contextlib.ExitStack() as stack:
            stack.push(daemon.__exit__)
            yield daemon
            check(daemon.process.poll() is None, "the daemon is gone")
            check(not group.killed(), "the kernel ended something of the daemon's unit")


def stacks_of_a_delay(daemon, binary=PLANTED):
    """The on-CPU stacks of the watched program, run by a separate user, in its only run."""
    before = set(daemon.bundles())
    with Watched(
        binary,
        "--kind",
        "cpu",
        "--fast",
        0,
        "--slow-ms",
        400,
        "--wait",
        user=WATCHED_USER,
        group=WATCHED_USER,
        extra_groups=[],
    ) as program:
        program.go().result()
    (bundle,) = set(daemon.wait_for_bundles(len(before) + 1)) - before
    delays = report(bundle)["delays"]
    check(
        len(delays) == 1 and delays[0]["begin_pid"] == program.process.pid,
        f"not the one delay was caught: {delays}",
    )
    return delays[0]["stacks"]


def check_delay_is_explained(daemon, binary=PLANTED):
    """Its tables are built at the first delay at the latest; in the second, the stacks reach
    from the slow function to the program's start."""
    stacks_of_a_delay(daemon, binary)
    stacks = stacks_of_a_delay(daemon, binary)
    whole = sum(
        stack["share"]
        for stack in stacks
        if stack["frames"][:1] == ["_start"] and "planted_cpu_burn" in stack["frames"]
    )
    check(
        whole > 0.5,
        f"whole stacks of {whole:.0%} of the delay: "
        f"{[stack['frames'][:12] for stack in stacks[:4]]}",
    )


def limited(daemon, uid=HOSTILE_USER):
    """The status of the user."""
    return next(
        (user for user in daemon.status().get("limited_users", []) if user.get("uid") == uid), {}
    )


def check_is_named(daemon, key, words):
    """Status names the user and what was limited, in numbers and in words."""
    wait_for(lambda: limited(daemon).get(key), f"the status to name the user for {key}")
    shown = subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    line = next((line for line in shown.splitlines() if f"({HOSTILE_USER}): " in line), "")
    check(words in line, f"lagtrap status does not say {words!r} of user {HOSTILE_USER}:\n{shown}")


def code_made_and_dropped():
    """The kernel reports code that is mapped, never what is unmapped."""
    with limited_daemon() as daemon, Neighbour("churn-code", 6000):
        wait_for(lambda: daemon.status()["unwinder"]["read_anew"] > 0, "the code to be read anew")
        check_delay_is_explained(daemon)
        check_is_named(daemon, "mappings_left_out", "over the limit")
        unwinder = daemon.status()["unwinder"]
        # 4,096 pieces of 256 bytes are kept of a process.
        check(
            unwinder["mapping_bytes"] < 4 << 20,
            f"{unwinder['mapping_bytes']} bytes are kept of mappings",
        )


def long_names():
    """300 MB of names, at the start and in the capture."""
    with folder_for() as folder, Neighbour(
        "long-names", 12, 7000, folder
    ), limited_daemon() as daemon:
        check_delay_is_explained(daemon)
        check_is_named(daemon, "mappings_left_out", "over the limit")


@contextlib.contextmanager
def file_server(folder):
    """FOLDER/program is on a file system served by another process, like another machine's
    files."""
    mount = folder / "remote"
    mount.mkdir()
    with Neighbour("file-server", mount, HOSTILE, user=0) as server:
        try:
            yield mount, server
        finally:
            server.process.send_signal(signal.SIGCONT)
            subprocess.run(["umount", "--lazy", mount], check=True)


def files_that_never_come():
    """Code is on a file system that no longer answers: nothing opens it."""
    with folder_for(0) as folder, file_server(folder) as (mount, server), Neighbour(
        "map-files", mount / "program"
    ):
        server.process.send_signal(signal.SIGSTOP)
        with limited_daemon() as daemon:
            check_delay_is_explained(daemon)
            check_is_named(daemon, "files_unreadable", "not read (not a local file system")


def files_that_seem_to_be_local():
    """The same below an overlay that does not tell what it is on: opening the file would wait
    forever."""
    with folder_for(0) as folder, file_server(folder) as (mount, server):
        for name in ("upper", "work", "merged"):
            (folder / name).mkdir()
        merged = folder / "merged"
        subprocess.run(
            [
                "mount",
                "-t",
                "overlay",
                "overlay",
                merged,
                "-o",
                f"lowerdir={mount},upperdir={folder}/upper,workdir={folder}/work",
            ],
            check=True,
        )
        try:
            with Neighbour("map-files", merged / "program"):
                subprocess.run(["mount", "-t", "tmpfs", "cover", mount], check=True)
                server.process.send_signal(signal.SIGSTOP)
                with limited_daemon() as daemon:
                    check_delay_is_explained(daemon)
                    check_is_named(daemon, "looks_held_up", "timed out")
                    server.process.send_signal(signal.SIGCONT)
                    wait_for(
                        lambda: not daemon.status()["inspections"]["stuck"], "what was stuck to end"
                    )
        finally:
            server.process.send_signal(signal.SIGCONT)
            subprocess.run(["umount", "--lazy", mount], check=False)
            subprocess.run(["umount", "--lazy", merged], check=True)


def a_user_holds_up_their_own_looks_alone():
    """The same on four file systems whose servers receive requests and never answer, so that not
    even a signal ends the wait: at most two inspections of the user's processes are lost, and
    others continue."""
    with contextlib.ExitStack() as stack:
        mounts = []
        for _ in range(4):
            folder = stack.enter_context(folder_for(0))
            mount = stack.enter_context(DeadMount(folder / "remote", HOSTILE))
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
            stack.callback(subprocess.run, ["umount", "--lazy", folder / "merged"], check=True)
            stack.enter_context(Neighbour("map-files", folder / "merged" / "program"))
            subprocess.run(["mount", "-t", "tmpfs", "cover", mount.folder], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", mount.folder], check=False)
            mounts.append(mount)
        for mount in mounts:
            mount.die()
            stack.callback(mount.process.kill)
        with limited_daemon() as daemon:
            wait_for(lambda: daemon.status()["inspections"]["stuck"], "a look to be held up")
            check_delay_is_explained(daemon)
            check_is_named(daemon, "looks_held_up", "timed out")
            wait_for(lambda: daemon.status()["inspections"]["refused"], "a look that is not tried")
            inspections = daemon.status()["inspections"]
            check(
                0 < inspections["stuck"] <= 2,
                f"one user's processes hold up more than two helpers, or none: {inspections}",
            )
            for mount in mounts:
                mount.process.kill()
            wait_for(lambda: not daemon.status()["inspections"]["stuck"], "what was stuck to end")


def poisoned(content):
    """The same program with invalid unwind information: every return address is at a wrong
    place."""
    honest, wrong = (
        b"\x0c\x07\x08\x90\x01",
        b"\x0c\x07\x08\x90\x02",
    )  # return address at CFA - 8; CFA - 16
    check(honest in content, "the program has no unwind information of the usual kind")
    return content.replace(honest, wrong)


def tables_of_another_file():
    """A file that claims to be the watched one, by its build id, and comes first."""
    with folder_for(0) as folder:
        build_id = bytes.fromhex(ElfFile(PLANTED).build_id)
        content = PLANTED.read_bytes().replace(build_id, os.urandom(len(build_id)))
        watched, false = folder / "watched", folder / "false"
        for path, bytes_of_it in ((watched, content), (false, poisoned(content))):
            path.write_bytes(bytes_of_it)
            path.chmod(0o755)
        os.chown(false, HOSTILE_USER, HOSTILE_USER)
        with Neighbour("map-files", false), limited_daemon(watched) as daemon:
            wait_for(
                lambda: daemon.status()["unwinder"]["made"] > 0
                and not daemon.status()["unwinder"]["tables_waiting"],
                "the tables",
            )
            check_delay_is_explained(daemon, watched)


def files_that_take_long():
    """Many files whose tables take long to build, before the watched program's."""
    with folder_for() as folder, Neighbour(
        "slow-files", 200, 68, folder
    ), limited_daemon() as daemon:
        wait_for(lambda: limited(daemon).get("tables_slow"), "the first of them")
        check_delay_is_explained(daemon)
        check(
            daemon.status()["unwinder"]["tables_waiting"] > 0,
            "nothing was waiting: the test shows nothing",
        )
        check_is_named(daemon, "tables_slow", "slow table")


class StoppedThread:
    """One thread of a process is stopped, like one that waits for something that never comes;
    the others run (ptrace(2))."""

    SEIZE, INTERRUPT, DETACH, ALL_KINDS = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, pid, name):
        tasks = pathlib.Path(f"/proc/{pid}/task")
        self.thread = next(
            int(task.name)
            for task in tasks.iterdir()
            if (task / "comm").read_text().strip() == name
        )
        self.libc = ctypes.CDLL(None, use_errno=True)
        # Asleep between two checks it holds nothing that others wait for.
        wait_for(
            lambda: self.stop() or self.release(),
            f"the thread {name} to be stopped between two looks",
        )

    def ptrace(self, request):
        check(
            self.libc.ptrace(request, self.thread, None, None) == 0,
            f"ptrace: {os.strerror(ctypes.get_errno())}",
        )

    def stop(self):
        self.ptrace(self.SEIZE)
        self.ptrace(self.INTERRUPT)
        os.waitpid(self.thread, self.ALL_KINDS)
        number, *arguments = pathlib.Path(f"/proc/{self.thread}/syscall").read_text().split()
        return number == "7" and len(arguments) > 2 and arguments[2] != "0x0"  # poll with a timeout

    def release(self):
        self.ptrace(self.DETACH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


def a_follower_that_stands_still():
    """The service manager gets watchdog messages only while the thread that follows processes
    works."""
    daemon = Daemon(library_event("work", PLANTED, "100ms"))
    os.environ["WATCHDOG_USEC"] = "20000000"
    try:
        daemon.start()
    finally:
        del os.environ["WATCHDOG_USEC"]
    with contextlib.ExitStack() as stack, socket.socket(
        socket.AF_UNIX, socket.SOCK_DGRAM
    ) as notices:
        stack.push(daemon.__exit__)
        address = daemon.folder / "notify.sock"
        address.unlink()
        notices.bind(str(address))
        notices.settimeout(60)
        check(
            notices.recv(4096) == b"WATCHDOG=1", "the service manager is not told that all is well"
        )
        with StoppedThread(daemon.process.pid, "follower"):
            wait_for(lambda: "watchdog" in daemon.log(), "the daemon to notice")
            notices.setblocking(False)
            with contextlib.suppress(BlockingIOError):  # messages from before it was noticed
                while notices.recv(4096):
                    pass
            check(daemon.status()["ok"], "the daemon does not answer")
        notices.settimeout(60)
        check(
            notices.recv(4096) == b"WATCHDOG=1",
            "the service manager is not told that all is well again",
        )


if __name__ == "__main__":
    run(
        code_made_and_dropped,
        long_names,
        files_that_never_come,
        files_that_seem_to_be_local,
        a_user_holds_up_their_own_looks_alone,
        tables_of_another_file,
        files_that_take_long,
        a_follower_that_stands_still,
    )
