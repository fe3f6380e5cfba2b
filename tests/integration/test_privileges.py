"""Untrusted input: files of watched programs, callers of the control socket, users who look for
others' data.

Readers of hostile files have no privileges and break alone; callers get what the settings allow
their user.
"""

import contextlib
import grp
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    LAGTRAPD,
    PLANTED,
    PROGRAMS,
    SOURCE_DIR,
    Daemon,
    Watched,
    check,
    library_event,
    report,
    run,
    wait_for,
)
from user_namespace import UserNamespace

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
        check(re.search(rf"^{name}\s+\d", limits, re.MULTILINE), f'{who} has no limit "{name}"')


def as_user(uid, groups, work):
    """The text that work() returns when run by another user in a separate process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            text = work()
        except Exception as error:  # the parent needs to see it
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
        self.settings_path.write_text(
            text.replace("<control socket=", f"<control {self.control} socket=")
        )


EVENT = library_event("work", PLANTED, "50ms", "300ms")


def status_text(daemon):
    done = subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, f"lagtrap status: {done.stderr}")
    return done.stdout


def doctor_about_readers(daemon):
    done = subprocess.run(
        [
            LAGTRAP.resolve(),
            "doctor",
            "--json",
            "--settings",
            daemon.settings_path,
            "--socket",
            daemon.socket_path,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return next(
        one for one in json.loads(done.stdout)["findings"] if one["name"] == "reader of files"
    )


def readers_have_no_privileges():
    with Daemon(EVENT) as daemon:
        readers = wait_for(lambda: children(daemon.process.pid, "lagtrap-reader"), "a reader")
        for pid in readers:
            wait_for(
                lambda: process_status(pid)["Seccomp"] == "2", "the reader to be confined"
            )  # it may have just been started
            check_powerless(pid, "the reader of files")
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                target = os.readlink(entry)
                check(
                    target.startswith("socket:") or target == "/dev/null" or target.startswith("/"),
                    f"the reader has {target}",
                )
        wait_for(
            lambda: daemon.status()["file_reader"]["started"] >= len(readers),
            "the readers to be counted",
        )
        told = daemon.status()["file_reader"]
        user = int(process_status(readers[0])["Uid"].split()[0])
        check(told["user"] == user and not told["as_root"] and not told["problem"], f"{told}")
        check(f" of user {user};" in status_text(daemon), status_text(daemon))
        check(doctor_about_readers(daemon)["state"] == "ok", f"{doctor_about_readers(daemon)}")


def helpers_may_only_look():
    """Helpers that inspect processes keep three of the daemon's capabilities, and may open files
    for reading, nothing else."""
    kept = {2: "CAP_DAC_READ_SEARCH", 19: "CAP_SYS_PTRACE", 40: "CAP_CHECKPOINT_RESTORE"}
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        own = int(process_status(daemon.process.pid)["CapEff"], 16)
        expected = sum(1 << number for number in kept)
        check(own & expected == expected, f"the daemon has not what this is about: {own:x}")
        for pid in wait_for(lambda: children(daemon.process.pid, "lagtrap-inspect"), "a helper"):
            status = wait_for(
                lambda pid=pid: (status := process_status(pid))["Seccomp"] == "2" and status,
                "its filter",
            )
            for line in ("CapPrm", "CapEff"):
                check(int(status[line], 16) == expected, f"a helper has {line} {status[line]}")
            check(status["NoNewPrivs"] == "1", f"a helper has NoNewPrivs {status['NoNewPrivs']}")


def readers_that_stay_root_are_told_of():
    """If the service manager removes the right to change the user."""
    with Daemon(EVENT, prefix=("setpriv", "--bounding-set=-setuid,-setgid")) as daemon:
        reader = wait_for(lambda: children(daemon.process.pid, "lagtrap-reader"), "a reader")[0]
        status = process_status(reader)
        check(
            status["Uid"].split()[0] == "0",
            f"the reader has Uid {status['Uid']}: nothing is to be told",
        )
        check(int(status["CapEff"], 16) == 0 and status["Seccomp"] == "2", f"{status}")
        told = daemon.status()["file_reader"]
        check(told["as_root"] and told["user"] == 0, f"{told}")
        check("root without capabilities" in status_text(daemon), status_text(daemon))
        finding = doctor_about_readers(daemon)
        check(
            finding["state"] == "works with a fallback" and "CAP_SETUID" in finding["advice"],
            f"{finding}",
        )


def a_daemon_without_its_reader_says_so_and_ends():
    with Daemon(EVENT) as daemon:
        daemon.stop()
        folder = daemon.folder
        plain, other = folder / "plain", folder / "other"
        plain.write_text("#!/bin/sh\n")
        other.write_text("#!/bin/sh\nexit 5\n")
        os.chmod(other, 0o755)
        for program, cause, code in (
            (folder / "nothing", "No such file", 2),
            (plain, "Permission denied", 2),
            (other, "ended with status 5", 1),
        ):
            for option in ("--settings", "--check-settings"):
                done = subprocess.run(
                    [LAGTRAPD, option, daemon.settings_path, "--reader-program", program],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                said = done.stdout + done.stderr
                check(
                    done.returncode == code,
                    f"{program} {option}: ended with {done.returncode}: {said}",
                )
                for word in (str(program), cause, "--reader-program"):
                    check(
                        said.count(word) == 1, f"{word} stands {said.count(word)} times in: {said}"
                    )


def a_reader_that_vanishes_and_comes_back():
    """While it is away nothing is read and it is checked for rarely; what waits is read when it
    is back."""
    # Another daemon of this machine may build the tables of the same files, so the cache is
    # private.
    with tempfile.TemporaryDirectory(prefix="lagtrap-cache-") as cache, Daemon(
        EVENT, more=f'<unwinding cache="{cache}"/>'
    ) as daemon:
        daemon.stop()
        program = daemon.folder / "lagtrap-reader"
        shutil.copy(READER, program)
        daemon.options = ("--reader-program", program)
        daemon.start()
        wait_for(
            lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the tables of this machine"
        )
        os.rename(program, daemon.folder / "away")
        for pid in children(daemon.process.pid, "lagtrap-reader"):
            os.kill(pid, signal.SIGKILL)
        files = [
            with_another_build_id("/bin/true", daemon.folder / f"file_{number}")
            for number in range(30)
        ]
        begun = time.monotonic()
        with mapper(files):
            told = wait_for(
                lambda: daemon.status()["file_reader"]["problem"], "the reader to be missed"
            )
            check(str(program) in told and "No such file" in told, told)
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] >= len(files),
                "files that wait",
            )
            # Each of them asks for a reader, and so does a reload of the settings.
            daemon.process.send_signal(signal.SIGHUP)
            refused = wait_for(
                lambda: daemon.status()["settings"]["reload_error"], "the settings to be refused"
            )
            check(str(program) in refused, refused)
            check(daemon.event("work")["armed"], "the event is not armed any more")
            check(
                str(program) in status_text(daemon) and "failed attempt" in status_text(daemon),
                status_text(daemon),
            )
            finding = doctor_about_readers(daemon)
            check(finding["state"] == "missing" and str(program) in finding["reason"], f"{finding}")
            attempts, seconds = (
                daemon.status()["file_reader"]["not_started"],
                time.monotonic() - begun,
            )
            # After 1 s, 2 s more, 4 s more, ...
            check(
                1 <= attempts <= 2 + math.ceil(seconds + 1).bit_length(),
                f"{attempts} attempts in {seconds} s",
            )
            os.rename(daemon.folder / "away", program)
            wait_for(
                lambda: not daemon.status()["file_reader"]["problem"], "the reader to be found", 120
            )
            wait_for(
                lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the files that waited"
            )
            own = [
                one
                for one in daemon.status()["file_reader"]["unreadable"]
                if str(daemon.folder) in one["path"]
            ]
            check(not own, f"{own}")
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(
                lambda: not daemon.status()["settings"]["reload_error"], "the settings to be taken"
            )


def with_another_build_id(source, path):
    """A copy whose table is in no cache."""
    content = bytearray(pathlib.Path(source).read_bytes())
    note = content.find(
        b"GNU\x00", content.find(b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00")
    )
    check(note > 0, f"{source} has no build id")
    content[note + 4 : note + 24] = os.urandom(20)
    path.write_bytes(content)
    os.chmod(path, 0o755)
    return path


# Every call by which a program's bytes enter a process.
READING = (
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "mmap",
    "splice",
    "vmsplice",
    "io_uring_setup",
)
BY_EVERY_WAY = f"""
<event name="work" threshold="50ms" trace-length="300ms" record="runs" stacks="markers">
  <library binary="{PLANTED.resolve()}"/></event>
<event name="by_arguments" threshold="10s" trace-length="1s" binary="{{folder}}/arguments"><key/>
  <begin usdt="forms:memory__begin" key="arg0"/><end usdt="forms:memory__end" key="arg0"/></event>
<event name="by_function" threshold="10s" trace-length="1s" binary="{{folder}}/nested">
  <begin function="main"/><end function="main" side="return"/></event>
<event name="by_c_function" threshold="10s" trace-length="1s" binary="{{folder}}/arguments">
  <begin function="main"/><end function="main" side="return"/></event>
<event name="by_tracepoint" threshold="10s" trace-length="1s">
  <begin tracepoint="syscalls:sys_enter_fsync"/><end tracepoint="syscalls:sys_exit_fsync"/></event>
"""
# Code generated at run time, described by a map.
MAP_WRITER = """
import ctypes, mmap, os, sys
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file:
    file.write("1000 10 made_at_run_time\\n")
print("ready", flush=True)
sys.stdin.readline()
"""


def calls(trace):
    """Lines of strace, one call each: a call during which another thread's call came is on two."""
    begun = {}
    for line in trace.read_text(errors="replace").splitlines():
        thread = line.split("<", 1)[0]
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>")
            continue
        resumed = re.match(r"^\d+<[^>]*> <\.\.\. \w+ resumed>(.*)", line)
        yield begun.pop(thread, "") + resumed[1] if resumed else line
    yield from begun.values()


def read_files(trace):
    """Paths of files that the daemon itself read, from the lines of strace, whatever its threads
    are called."""
    # The last two: before a helper has its name.
    others = "lagtrap-reader|lagtrap-inspect|lagtrap-merge|memfd:|exe>"
    reading = re.compile(rf"^\d+<(?!{others})[^>]*> (?:{'|'.join(READING)})\(.*?\d+<(/[^>]*)>")
    # Mapped without access, to ask the kernel which file it is.
    closed = re.compile(r".* mmap\([^,]*, \d+, PROT_NONE, ")
    found = (reading.match(line) for line in calls(trace) if not closed.match(line))
    return {path[1] for path in found if path}


def files_read_by_readers(trace):
    """Paths that calls of a reader name."""
    return set(
        re.findall(
            r"^\d+<lagtrap-reader> \w+\(.*?\d+<(/[^>]*)>", trace.read_text(errors="replace"), re.M
        )
    )


def the_daemon_reads_no_program():
    """Everything it does with others' files, observed from outside: it opens them, and other
    processes read them."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-theirs-"))
    os.chmod(folder, 0o755)
    trace = folder / "trace"
    try:
        for name in ("arguments", "nested"):
            shutil.copy(PROGRAMS / name, folder / name)
        mapped = [
            with_another_build_id("/bin/true", folder / f"mapped_{number}") for number in range(3)
        ]
        strace = (
            "strace",
            "-D",
            "-f",
            "--seccomp-bpf",
            "-y",
            "--decode-pids=comm",
            "-qqq",
            "-s",
            "0",
            "-o",
            trace,
            "-e",
            "trace=" + ",".join((*READING, "sendfile")),
            "--",
        )
        # Another daemon of this machine may build the tables of the same files, so the cache is
        # private.
        (folder / "cache").mkdir()
        own_cache = f'<unwinding cache="{folder}/cache"/>'
        with Daemon(BY_EVERY_WAY.format(folder=folder), more=own_cache, prefix=strace) as daemon:
            with mapper(mapped), Watched(sys.executable, "-c", MAP_WRITER) as writer:
                with Watched(
                    PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
                ) as program:
                    program.go().result()
                daemon.wait_for_bundles(1)
                # The counter covers tables known to be missing, and for a program that has just
                # started there may be none.
                wait_for(
                    lambda: files_read_by_readers(trace) >= {str(path) for path in mapped},
                    lambda: f"a reader at each mapped file: {daemon.status()['unwinder']}",
                )
                wait_for(lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "all tables")
                wait_for(lambda: list((daemon.spool / "ready").glob("*.runs.zst")), "the runs")
                loaded = daemon.status()["settings"]["loaded_realtime_ns"]
                daemon.process.send_signal(signal.SIGHUP)
                wait_for(
                    lambda: daemon.status()["settings"]["loaded_realtime_ns"] != loaded,
                    "the settings read anew",
                )
                check(
                    not daemon.status()["settings"]["reload_error"],
                    f"{daemon.status()['settings']}",
                )
                map_file = pathlib.Path(f"/tmp/perf-{writer.process.pid}.map")
                own = {
                    line.split(None, 5)[5]
                    for line in pathlib.Path(f"/proc/{daemon.process.pid}/maps")
                    .read_text()
                    .splitlines()
                    if "/" in line
                }
            daemon.stop()
            map_file.unlink()
        read = read_files(trace)
        # A check of the trace itself: the loader reads the daemon's own program and libraries.
        check(any("libc.so" in path for path in read), f"the trace shows nothing: {sorted(read)}")
        programs = {
            path
            for path in read
            if path not in own
            and pathlib.Path(path).is_file()
            and not path.startswith(("/proc/", "/sys/"))
            and open(path, "rb").read(4) == b"\x7fELF"
        }
        check(not programs, f"the daemon read {sorted(programs)}")
        for path in (*mapped, folder / "arguments", folder / "nested", PLANTED.resolve(), map_file):
            check(str(path) not in read, f"the daemon read {path}")
        text = trace.read_text(errors="replace")
        check(
            re.search(rf"lagtrap-inspect> sendfile\(.*{map_file}", text),
            "no map was copied: nothing is shown by its absence",
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Maps a file as code and waits, as an unprivileged user.
MAPPER = """
import ctypes, mmap, os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long)
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
    # Another daemon of this machine may build the tables of the same files, so the cache is
    # private.
    with tempfile.TemporaryDirectory(prefix="lagtrap-cache-") as cache, Daemon(
        EVENT, more=f'<unwinding cache="{cache}"/>'
    ) as daemon:
        folder = daemon.folder / "theirs"
        folder.mkdir()
        os.chmod(folder, 0o755)
        # While the flag exists, every new reader breaks like one that a hostile file has taken
        # over.
        flag = daemon.folder / "break"
        script = daemon.folder / "reader"
        greeting = r"rlgt\007\000\000\000\000\000\000\000\000\000\000\000"
        script.write_text(
            f"#!/bin/sh\n[ -e {flag} ] && printf '{greeting}' >&3 && kill -SEGV $$\n"
            f'exec {READER.resolve()} "$@"\n'
        )
        os.chmod(script, 0o755)
        daemon.stop()
        daemon.options = ("--reader-program", script)
        daemon.start()
        # All of them: what is read while readers break has no table.
        wait_for(
            lambda: (unwinder := daemon.status()["unwinder"])["tables"] > 0
            and unwinder["tables_waiting"] == 0,
            "the tables",
        )
        hostile = with_another_build_id("/bin/true", folder / "hostile.so")
        flag.touch()
        for pid in children(daemon.process.pid, "lagtrap-reader"):
            os.kill(pid, signal.SIGKILL)

        def unreadable():
            listed = daemon.status()["file_reader"]["unreadable"]
            return next((file["problem"] for file in listed if file["path"] == str(hostile)), None)

        with mapper([hostile]):
            problem = wait_for(unreadable, "the hostile file to be told of")
            check("crashed its reader" in problem, f"the reason is: {problem}")
            check(daemon.status()["file_reader"]["ended"] >= 1, "the broken reader is not counted")
            flag.unlink()
            # A process is known a second after it started, so its slow run comes after three
            # seconds of fast ones.
            with Watched(
                PLANTED,
                "--kind",
                "sleep",
                "--fast",
                3000,
                "--gap-us",
                1000,
                "--slow-ms",
                900,
                "--wait",
            ) as program:
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
            facts = daemon.status()["file_reader"]
        found = report(bundle)
        for function in ("slow_run", "run_work", "main"):
            check(
                function in json.dumps(found),
                f"the good program's stacks lack {function}: {found['quality']}, {facts}",
            )


def hostile_files_of_the_corpus():
    with Daemon(EVENT) as daemon:
        files = []
        for kind in ("program_file", "unwind_table", "source_lines"):
            for number, path in enumerate(
                sorted((SOURCE_DIR / "tests/fuzz/corpus" / kind).iterdir())[:40]
            ):
                copy = daemon.folder / f"{kind}_{number}"
                copy.write_bytes(path.read_bytes() or b"\0")
                os.chmod(copy, 0o644)
                files.append(copy)
        with mapper(files):
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
            ) as program:
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
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
        ) as program:
            program.go().result()
        daemon.wait_for_bundles(1)
        output = daemon.folder / "output"
        output.mkdir()
        # It waits at its end until its output is read; until then it can be inspected.
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
            # It runs at the lowest priority, so a busy machine may make it wait for long.
            wait_for(
                lambda: list(output.glob("*.lagtrap.tar.zst")) or merge.poll() is not None,
                "the bundle",
                seconds=600,
            )
            workers = children(merge.pid, "lagtrap-merge")
            check(len(workers) == 1, f"the merge has {len(workers)} children")
            check_powerless(workers[0], "the merge")
            opener = process_status(merge.pid)
            net_admin_and_module = 1 << 12 | 1 << 16
            check(
                int(opener["CapEff"], 16) & net_admin_and_module == 0,
                f"the opener has {opener['CapEff']}",
            )
            check(
                opener["NoNewPrivs"] == "1" and opener["Seccomp"] == "2", f"the opener has {opener}"
            )
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
            return json.dumps(
                {key: value for key, value in json.loads(answer).items() if key in ("ok", "error")}
            )

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
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"], "anyone may read, but could not"
        )
        for uid, groups in ((NOBODY, []), (SOMEBODY, members)):
            denied = json.loads(ask_as(daemon, uid, groups, TRIGGER))
            check(
                not denied["ok"] and str(uid) in denied["error"] and "root" in denied["error"],
                f"got {denied}",
            )
        check(daemon.status()["control"]["denied"] == 2, f"counted {daemon.status()['control']}")
        check(
            not daemon.bundles() and daemon.status()["state"] == "waiting",
            "a denied request was carried out",
        )
    with Rules(EVENT, f'group="{GROUP}" read="anyone" change="group"') as daemon:
        check(
            not json.loads(ask_as(daemon, NOBODY, [], TRIGGER))["ok"],
            "one who is not in the group may change",
        )
        check(
            json.loads(ask_as(daemon, SOMEBODY, members, TRIGGER))["ok"], "a member may not change"
        )
        daemon.wait_for_bundles(1)


def own_shell(folder):
    """A shell of user nobody that reads lines, and at "go" executes a set-user-ID program of
    root that reads lines too."""
    program = folder / "cat"
    shutil.copy("/bin/cat", program)
    os.chmod(program, 0o4755)
    return subprocess.Popen(
        [
            "/bin/sh",
            "-c",
            f'while read -r line; do echo "$line"; [ "$line" != go ] || exec {program}; done',
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )


def traced_reads(daemon, uid, shell, lines):
    """The read() calls that user `uid` is shown while the shell, or what it became, reads the
    lines."""

    def work():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(60)
            connection.connect(str(daemon.socket_path))
            connection.sendall(
                json.dumps(
                    {"command": "calls", "pid": shell.pid, "function": "read", "depth": 0}
                ).encode()
                + b"\n"
            )
            answers = connection.makefile()
            first = json.loads(answers.readline())
            if not first["ok"]:
                return json.dumps(first)
            for line in lines:
                shell.stdin.write(line + "\n")
                while shell.stdout.readline() != line + "\n":
                    pass
            connection.sendall(b"enough\n")
            return next(line for line in answers if "ended" in json.loads(line))

    return json.loads(as_user(uid, [uid], work))


def users_trace_their_own_processes_alone():
    with tempfile.TemporaryDirectory(prefix="lagtrap-own-") as name, Rules(
        EVENT, f'read="anyone" group="{GROUP}"'
    ) as daemon:
        os.chmod(name, 0o755)
        for command, more in (
            ("calls", {"function": "read"}),
            ("functions", {}),
            ("objects", {"rules": [{"kind": "file", "create": "open", "title": "arg0"}]}),
        ):
            for uid, groups in ((NOBODY, [NOBODY]), (SOMEBODY, [grp.getgrnam(GROUP).gr_gid])):
                denied = json.loads(
                    ask_as(daemon, uid, groups, {"command": command, "pid": os.getpid(), **more})
                )
                check(
                    not denied["ok"] and "trace" in denied["error"],
                    f"user {uid} traces {command} of root: {denied}",
                )
        with own_shell(pathlib.Path(name)) as shell:
            denied = traced_reads(daemon, SOMEBODY, shell, [])
            check(
                not denied["ok"] and f"user {SOMEBODY} may trace only" in denied["error"],
                f"{denied}",
            )
            before = ["hello", "go"]
            ended = traced_reads(
                daemon, NOBODY, shell, before + [f"line {number}" for number in range(100)]
            )["ended"]
            users = process_status(shell.pid)["Uid"].split()
            check(users[1] == "0", f"the set-user-ID program runs as {users}: nothing was shown")
            of_the_shell = sum(len(line) + 1 for line in before)  # it reads byte by byte
            check(
                0 < ended["calls"] <= of_the_shell,
                f"{ended}, of which {of_the_shell} are the shell's",
            )
            denied = traced_reads(daemon, NOBODY, shell, [])
            check(not denied["ok"] and "runs as user 0" in denied["error"], f"{denied}")
            shell.stdin.close()
            check(shell.wait(timeout=60) == 0, f"the traced program ended with {shell.returncode}")
        # A later trace of another process: nothing of the former takes its place.
        with own_shell(pathlib.Path(name)) as shell:
            ended = wait_for(
                lambda: traced_reads(daemon, NOBODY, shell, ["hello"]).get("ended"),
                "a second trace",
            )
            check(ended["calls"] > 0, f"{ended}")
            shell.stdin.close()
        denied = daemon.status()["control"]["denied"]
        check(denied >= 8, f"{denied} denials are counted")


def a_reload_changes_who_may_do_what():
    members = [grp.getgrnam(GROUP).gr_gid]

    def reload(daemon, control):
        daemon.control = control
        daemon.write_settings(EVENT)
        before = daemon.status()["settings"]
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: daemon.status()["settings"] != before, "the settings read anew")
        return daemon.status()

    with Rules(EVENT, 'read="root" change="root"') as daemon:
        check("PermissionError" in ask_as(daemon, NOBODY, [], STATUS), "another user came in")
        status = reload(daemon, f'group="{GROUP}" read="anyone" change="group"')
        check(
            status["control"]["read"] == "anyone"
            and status["control"]["change"] == "group"
            and status["control"]["group"] == GROUP,
            f"{status['control']}",
        )
        for line in (
            f"anyone may read, root and the group {GROUP} may start recordings",
            "root may trace other users' processes",
        ):
            check(line in status_text(daemon), status_text(daemon))
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"], "anyone may read, but could not"
        )
        check(
            not json.loads(ask_as(daemon, NOBODY, [], TRIGGER))["ok"],
            "one who is not in the group may change",
        )
        check(
            json.loads(ask_as(daemon, SOMEBODY, members, TRIGGER))["ok"], "a member may not change"
        )
        daemon.wait_for_bundles(1)
        check("1 request denied" in status_text(daemon), status_text(daemon))
        # A refused change changes nothing.
        status = reload(daemon, 'group="no-such-group" read="root" change="root"')
        check("no-such-group" in status["settings"]["reload_error"], f"{status['settings']}")
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"],
            "refused settings took a right away",
        )
        status = reload(daemon, 'read="root" change="root"')
        check(not status["settings"]["reload_error"], f"{status['settings']}")
        check(
            "PermissionError" in ask_as(daemon, SOMEBODY, members, STATUS),
            "a right was not taken away",
        )
        facts = daemon.socket_path.stat()
        check(facts.st_mode & 0o777 == 0o600 and facts.st_gid == 0, f"{facts}")


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
            # While these stall, another user and root get answers.
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
        check(
            daemon.status()["control"]["turned_away"] >= 2 * MOST_OF_ONE_USER,
            "they are not counted",
        )


def subordinate_users_flood_as_one():
    """A user has eight connections, whoever they become in their own namespace."""
    held = []

    def flood():
        for _ in range(MOST_OF_ONE_USER):
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            held[-1].connect(str(daemon.socket_path))

    with Rules(EVENT, 'read="anyone"') as daemon, UserNamespace(
        NOBODY
    ) as users, contextlib.ExitStack() as stack:
        for user in (0, 1, 64):
            stack.enter_context(users.running(user, flood))
        wait_for(
            lambda: daemon.status()["control"]["turned_away"] >= 2 * MOST_OF_ONE_USER,
            lambda: f"connections to be turned away: {daemon.status()['control']}",
        )


def recordings_have_no_passwords():
    """According to the settings: masked, without other words, or everything; checked in the
    whole bundle."""
    for privacy, seen in (
        ("", b"--password=***"),
        ('<privacy command-lines="all"/>', b"--password=hunter2"),
    ):
        with Daemon(EVENT, more=privacy) as daemon, subprocess.Popen(
            ["/bin/sh", "-c", "read -r line", "--password=hunter2"], stdin=subprocess.PIPE
        ) as shell:
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
            ) as program:
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
            shell.stdin.close()
            content = subprocess.run(
                ["tar", "--zstd", "-xOf", bundle], capture_output=True, check=True
            ).stdout
            check(seen in content, f"the command line is not in the bundle: {privacy}")
            check(privacy or b"hunter2" not in content, "the password is in the bundle")


def others_can_not_read_bundles():
    with Daemon(EVENT) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
        ) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        check(
            bundle.stat().st_mode & 0o007 == 0 and bundle.stat().st_uid == 0,
            f"mode {bundle.stat().st_mode:o}",
        )
        check(
            "PermissionError" in as_user(NOBODY, [], lambda: str(bundle.read_bytes())),
            "another user read a bundle",
        )
        for folder in (daemon.spool / "captures", daemon.spool):
            check(
                folder.stat().st_mode & 0o022 == 0, f"{folder} has mode {folder.stat().st_mode:o}"
            )


if __name__ == "__main__":
    run(
        readers_have_no_privileges,
        helpers_may_only_look,
        readers_that_stay_root_are_told_of,
        a_daemon_without_its_reader_says_so_and_ends,
        a_reader_that_vanishes_and_comes_back,
        the_daemon_reads_no_program,
        a_reload_changes_who_may_do_what,
        a_hostile_file_costs_itself,
        hostile_files_of_the_corpus,
        the_merge_has_no_privileges,
        root_alone_by_default,
        callers_get_what_the_settings_allow,
        users_trace_their_own_processes_alone,
        a_flood_harms_nobody,
        subordinate_users_flood_as_one,
        recordings_have_no_passwords,
        others_can_not_read_bundles,
    )
