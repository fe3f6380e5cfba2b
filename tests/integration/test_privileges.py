"""Who is not trusted: files of watched programs, callers of the control socket, users who look for others' data.

What reads hostile files has no privileges and breaks alone; callers get what the settings allow their user.
"""

import grp
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

from lagtrap_test import (BUILD_DIR, PLANTED, SOURCE_DIR, Daemon, Watched, check, library_event, report, run,
                          wait_for)

READER = BUILD_DIR / "binaries" / "lagtrap-reader"
MERGE = BUILD_DIR / "trace" / "lagtrap-merge"
NOBODY = 65534
SOMEBODY = 54321
GROUP = "daemon"  # a group of every system
MOST_OF_ONE_USER = 8


def process_status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def children(pid, name):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = process_status(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if status["PPid"] == str(pid) and status["Name"] == name[:15]:
            found.append(int(folder.name))
    return found


def check_powerless(pid, who):
    status = process_status(pid)
    for line in ("Uid", "Gid"):
        check("0" not in status[line].split(), f"{who} has {line} {status[line]}")
    check(status["Groups"].strip() == "", f"{who} has the groups {status['Groups']}")
    for line in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        check(int(status[line], 16) == 0, f"{who} has {line} {status[line]}")
    check(status["Seccomp"] == "2", f"{who} has Seccomp {status['Seccomp']}")
    check(status["NoNewPrivs"] == "1", f"{who} has NoNewPrivs {status['NoNewPrivs']}")
    limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
    for name in ("Max address space", "Max file size", "Max core file size"):
        check(re.search(rf"^{name}\s+\d", limits, re.MULTILINE), f"{who} has no limit \"{name}\"")


def as_user(uid, groups, work):
    """What work() gives, a text, as done by another user in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            text = work()
        except Exception as error:  # the parent shall see it
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode()[:65536])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


class Rules(Daemon):
    """A daemon with attributes for <control>."""

    def __init__(self, events, control="", **arguments):
        self.control = control
        super().__init__(events, **arguments)

    def write_settings(self, events):
        super().write_settings(events)
        text = self.settings_path.read_text()
        self.settings_path.write_text(text.replace("<control socket=", f"<control {self.control} socket="))


EVENT = library_event("work", PLANTED, "50ms", "300ms")


def readers_have_no_privileges():
    with Daemon(EVENT) as daemon:
        readers = wait_for(lambda: children(daemon.process.pid, "lagtrap-reader"), "a reader")
        for pid in readers:
            check_powerless(pid, "the reader of files")
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                target = os.readlink(entry)
                check(target.startswith("socket:") or target == "/dev/null" or target.startswith("/"),
                      f"the reader has {target}")
        check(daemon.status()["file_reader"]["started"] >= len(readers), "readers are not counted")


# Maps a file as code and waits, as a user of no rights.
MAPPER = """
import ctypes, mmap, os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    size = max(os.fstat(fd).st_size, 1)
    libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0)
    os.close(fd)
print("ready", flush=True)
sys.stdin.readline()
"""


def mapper(files):
    return Watched(sys.executable, "-c", MAPPER, *files)


def a_hostile_file_costs_itself():
    with Daemon(EVENT) as daemon:
        folder = daemon.folder / "theirs"
        folder.mkdir()
        os.chmod(folder, 0o755)
        # While the flag is there, every reader that is started breaks as one does that a hostile file got hold of.
        flag = daemon.folder / "break"
        script = daemon.folder / "reader"
        script.write_text(f'#!/bin/sh\n[ -e {flag} ] && kill -SEGV $$\nexec {READER.resolve()} "$@"\n')
        os.chmod(script, 0o755)
        daemon.stop()
        daemon.options = ("--reader-program", script)
        daemon.start()
        wait_for(lambda: daemon.status()["unwinder"]["tables"] > 0, "the first tables")
        hostile = folder / "hostile.so"
        shutil.copy("/bin/true", hostile)
        with open(hostile, "r+b") as file:  # another build id, so that nobody knows its table
            content = bytearray(file.read())
            note = content.find(b"GNU\x00", content.find(b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00"))
            check(note > 0, "/bin/true has no build id")
            file.seek(note + 4)
            file.write(os.urandom(20))
        flag.touch()
        for pid in children(daemon.process.pid, "lagtrap-reader"):
            os.kill(pid, signal.SIGKILL)

        def unreadable():
            listed = daemon.status()["file_reader"]["unreadable"]
            return next((file["problem"] for file in listed if file["path"] == str(hostile)), None)

        with mapper([hostile]):
            problem = wait_for(unreadable, "the hostile file to be told of")
            check("broke its reader" in problem, f"the reason is: {problem}")
            check(daemon.status()["file_reader"]["ended"] >= 1, "the broken reader is not counted")
            flag.unlink()
            with Watched(PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 900, "--wait") as program:
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
        text = json.dumps(report(bundle))
        for function in ("slow_run", "run_work", "main"):
            check(function in text, f"the good program's stacks lack {function}")


def hostile_files_of_the_corpus():
    with Daemon(EVENT) as daemon:
        files = []
        for kind in ("program_file", "unwind_table", "source_lines"):
            for number, path in enumerate(sorted((SOURCE_DIR / "tests/fuzz/corpus" / kind).iterdir())[:40]):
                copy = daemon.folder / f"{kind}_{number}"
                copy.write_bytes(path.read_bytes() or b"\0")
                os.chmod(copy, 0o644)
                files.append(copy)
        with mapper(files):
            with Watched(PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait") as program:
                program.go().result()
            daemon.wait_for_bundles(1)
            wait_for(lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "all tables")
        check(daemon.process.poll() is None, "the daemon ended")


def the_merge_has_no_privileges():
    with Daemon(EVENT) as daemon:
        kept = daemon.folder / "kept"
        script = daemon.folder / "merge"
        script.write_text(f'#!/bin/sh\ncp -a "$1" {kept}\nexec {MERGE.resolve()} "$@"\n')
        os.chmod(script, 0o755)
        daemon.stop()
        daemon.options = ("--merge-program", script)
        daemon.start()
        with Watched(PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait") as program:
            program.go().result()
        daemon.wait_for_bundles(1)
        output = daemon.folder / "output"
        output.mkdir()
        # It waits at its end until somebody reads what it prints: until then it can be looked at.
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        for piece in (b"x" * 4096, b"x"):
            try:
                while True:
                    os.write(writing, piece)
            except BlockingIOError:
                pass
        os.set_blocking(writing, True)
        merge = subprocess.Popen([MERGE, kept, output], stdout=writing)
        os.close(writing)
        try:
            wait_for(lambda: list(output.glob("*.lagtrap.tar.zst")), "the bundle")
            workers = children(merge.pid, "lagtrap-merge")
            check(len(workers) == 1, f"the merge has {len(workers)} children")
            check_powerless(workers[0], "the merge")
            opener = process_status(merge.pid)
            net_admin_and_module = 1 << 12 | 1 << 16
            check(int(opener["CapEff"], 16) & net_admin_and_module == 0, f"the opener has {opener['CapEff']}")
            check(opener["NoNewPrivs"] == "1", "the opener may gain privileges")
        finally:
            with os.fdopen(reading, "rb") as pipe:
                printed = pipe.read()
        check(merge.wait(timeout=60) == 0, "the merge failed")
        check(b'"bundle"' in printed, "the merge said nothing")
        check(report(next(output.glob("*.lagtrap.tar.zst")))["delays"], "the bundle has no delay")


def ask_as(daemon, uid, groups, request):
    def ask():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(60)
            connection.connect(str(daemon.socket_path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = connection.recv(65536)
                if not part:
                    break
                answer += part
            return json.dumps({key: value for key, value in json.loads(answer).items() if key in ("ok", "error")})

    return as_user(uid, groups, ask)


STATUS = {"command": "status"}
TRIGGER = {"command": "trigger", "event": "work"}


def root_alone_by_default():
    with Daemon(EVENT) as daemon:
        check("PermissionError" in ask_as(daemon, NOBODY, [], STATUS), "another user came in")
        check(json.loads(ask_as(daemon, 0, [], STATUS))["ok"], "root did not")


def callers_get_what_the_settings_allow():
    members = [grp.getgrnam(GROUP).gr_gid]
    with Rules(EVENT, f'group="{GROUP}" read="anyone" change="root"') as daemon:
        check(json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"], "anyone may read, but could not")
        for uid, groups in ((NOBODY, []), (SOMEBODY, members)):
            denied = json.loads(ask_as(daemon, uid, groups, TRIGGER))
            check(not denied["ok"] and str(uid) in denied["error"] and "root" in denied["error"], f"got {denied}")
        check(daemon.status()["control"]["denied"] == 2, f"counted {daemon.status()['control']}")
        check(not daemon.bundles() and daemon.status()["state"] == "waiting", "a denied request was carried out")
    with Rules(EVENT, f'group="{GROUP}" read="anyone" change="group"') as daemon:
        check(not json.loads(ask_as(daemon, NOBODY, [], TRIGGER))["ok"], "one who is not in the group may change")
        check(json.loads(ask_as(daemon, SOMEBODY, members, TRIGGER))["ok"], "a member may not change")
        daemon.wait_for_bundles(1)


def a_flood_harms_nobody():
    with Rules(EVENT, 'read="anyone"') as daemon:
        def flood():
            held, turned_away = [], 0
            for _ in range(3 * MOST_OF_ONE_USER):
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.connect(str(daemon.socket_path))
                held.append(connection)
            for connection in held[MOST_OF_ONE_USER:]:
                connection.settimeout(60)
                turned_away += b"too many" in connection.recv(4096)
            # While these stall, another user and root are answered.
            others = json.loads(root_asks())["ok"]
            return f"{turned_away} {others}"

        listening = socket.socketpair()

        def root_asks():
            listening[0].sendall(b"?")
            return listening[0].recv(65536).decode()

        pid = os.fork()
        if pid == 0:
            listening[1].recv(1)
            answer = ask_as(daemon, SOMEBODY, [], STATUS)
            listening[1].sendall(answer.encode())
            os._exit(0)
        told = as_user(NOBODY, [], flood)
        os.waitpid(pid, 0)
        check(told == f"{2 * MOST_OF_ONE_USER} True", f"turned away, others answered: {told}")
        check(daemon.status()["control"]["turned_away"] >= 2 * MOST_OF_ONE_USER, "they are not counted")


def others_can_not_read_bundles():
    with Daemon(EVENT) as daemon:
        with Watched(PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait") as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        check(bundle.stat().st_mode & 0o007 == 0 and bundle.stat().st_uid == 0, f"mode {bundle.stat().st_mode:o}")
        check("PermissionError" in as_user(NOBODY, [], lambda: str(bundle.read_bytes())), "another user read a bundle")
        for folder in (daemon.spool / "captures", daemon.spool):
            check(folder.stat().st_mode & 0o022 == 0, f"{folder} has mode {folder.stat().st_mode:o}")


if __name__ == "__main__":
    run(readers_have_no_privileges, a_hostile_file_costs_itself, hostile_files_of_the_corpus,
        the_merge_has_no_privileges, root_alone_by_default, callers_get_what_the_settings_allow, a_flood_harms_nobody,
        others_can_not_read_bundles)
