"""Files of watched programs: the daemon reads none of them, and a hostile one costs only itself."""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile

from lagtrap_test import (
    PLANTED,
    PROGRAMS,
    SOURCE_DIR,
    Daemon,
    Watched,
    check,
    report,
    run,
    wait_for,
)
from privilege_checks import EVENT, READER, children, mapper, with_another_build_id

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


if __name__ == "__main__":
    run(the_daemon_reads_no_program, a_hostile_file_costs_itself, hostile_files_of_the_corpus)
