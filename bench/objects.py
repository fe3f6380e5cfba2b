"""The benchmark of lagtrap objects: what an object with one allocation (created, used and
released) and a statement of SQLite cost the program, compared with bpftrace on the same
functions, which tracks what lives and for how long, and with ltrace."""

import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from lagtrap_test import LAGTRAP, Daemon, OwnedProcess, check, wait_for
from test_distant_objects import World

SETTINGS = (
    '<event name="idle" threshold="1h" trace-length="1s">'
    '<begin tracepoint="syscalls:sys_enter_fsync"/>'
    '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
)
ROUNDS = 3_000
# Prints for each input line the nanoseconds of CPU time of a round.
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <ctime>
struct Thing {
    __attribute__((noinline)) Thing(long size);
    __attribute__((noinline)) ~Thing();
    __attribute__((noinline)) long use();
    char* content;
};
Thing::Thing(long size) : content(static_cast<char*>(std::malloc(size))) {
    asm volatile("" ::: "memory");
}
Thing::~Thing() { std::free(content); asm volatile("" ::: "memory"); }
long Thing::use() { asm volatile("" ::: "memory"); return content[0]; }
static long long now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main() {
    char line[8];
    while (std::fgets(line, sizeof line, stdin)) {
        long long begin = now();
        for (int i = 0; i < %ROUNDS%; i++) { Thing one(100); one.use(); }
        std::printf("%lld\\n", (now() - begin) / %ROUNDS%);
        std::fflush(stdout);
    }
}
"""
# Objects created, released and alive by object, and calls with their time by function, as lagtrap
# counts them, without reporting single calls.
SCRIPT = """
uprobe:{0}:_ZN5ThingC1El {{
    @object[tid] = arg0; @begun[tid] = nsecs; @created = count(); @alive[arg0] = nsecs;
}}
uretprobe:{0}:_ZN5ThingC1El {{ @duration[0] = sum(nsecs - @begun[tid]); @calls[0] = count(); }}
uprobe:{0}:_ZN5Thing3useEv {{
    @begun[tid] = nsecs; if (@alive[arg0] == 0) {{ @unknown = count(); }}
}}
uretprobe:{0}:_ZN5Thing3useEv {{ @duration[1] = sum(nsecs - @begun[tid]); @calls[1] = count(); }}
uprobe:{0}:_ZN5ThingD1Ev {{ @begun[tid] = nsecs; @released = count(); delete(@alive[arg0]); }}
uretprobe:{0}:_ZN5ThingD1Ev {{ @duration[2] = sum(nsecs - @begun[tid]); @calls[2] = count(); }}
"""

# Prints for each input line the nanoseconds of CPU time of a statement that is prepared, stepped
# through one row and finalized.
STATEMENTS = 1_000
STATEMENT_CALLS = ("sqlite3_prepare_v2", "sqlite3_step", "sqlite3_finalize")
SQLITE = """
#include <stdio.h>
#include <time.h>
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open(const char*, sqlite3**);
int sqlite3_prepare_v2(sqlite3*, const char*, int, sqlite3_stmt**, const char**);
int sqlite3_step(sqlite3_stmt*);
int sqlite3_finalize(sqlite3_stmt*);
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void) {
    char line[8];
    sqlite3* db;
    if (sqlite3_open(":memory:", &db) != 0) return 1;
    while (fgets(line, sizeof line, stdin)) {
        long long begin = now();
        for (int i = 0; i < %ROUNDS%; i++) {
            sqlite3_stmt* statement;
            if (sqlite3_prepare_v2(db, "select 1 + 2", -1, &statement, 0) != 0) return 1;
            while (sqlite3_step(statement) == 100) {}
            if (sqlite3_finalize(statement) != 0) return 1;
        }
        printf("%lld\\n", (now() - begin) / %ROUNDS%);
        fflush(stdout);
    }
}
"""
# Statements created, released and alive, failures, and calls with their time by function.
SQLITE_SCRIPT = """
uprobe:{0}:sqlite3_prepare_v2 {{ @to[tid] = arg3; @begun[tid] = nsecs; }}
uretprobe:{0}:sqlite3_prepare_v2 {{
    @duration[0] = sum(nsecs - @begun[tid]); @calls[0] = count();
    if (retval != 0) {{ @failed = count(); }}
    $statement = *uptr((uint64*)@to[tid]);
    if ($statement != 0) {{ @alive[$statement] = nsecs; @created = count(); }}
}}
uprobe:{0}:sqlite3_step {{ @begun[tid] = nsecs; if (@alive[arg0] == 0) {{ @unknown = count(); }} }}
uretprobe:{0}:sqlite3_step {{
    @duration[1] = sum(nsecs - @begun[tid]); @calls[1] = count();
    if (retval != 0 && retval != 100 && retval != 101) {{ @failed = count(); }}
}}
uprobe:{0}:sqlite3_finalize {{ @begun[tid] = nsecs; @released = count(); delete(@alive[arg0]); }}
uretprobe:{0}:sqlite3_finalize {{
    @duration[2] = sum(nsecs - @begun[tid]); @calls[2] = count();
    if (retval != 0) {{ @failed = count(); }}
}}
"""


def round_ns(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


@contextlib.contextmanager
def program(source, *command):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "things"
        # Exits as in a distribution's binaries, one instruction each.
        subprocess.run(
            [*command[:3], "-O2", "-o", path, "-", *command[3:]],
            input=source,
            text=True,
            check=True,
        )
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield path, process
        finally:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def followed(daemon, process, least, *options):
    """Runs lagtrap objects on classes, each of which has either at least this many objects, or
    none."""
    client = subprocess.Popen(
        [
            LAGTRAP,
            "objects",
            "--socket",
            daemon.socket_path,
            "--process",
            str(process.pid),
            "--json",
            "--for",
            "10min",
            "--budget",
            "10000",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        check("started_objects" in client.stdout.readline(), "lagtrap objects ended")
        yield
        client.send_signal(signal.SIGINT)
        ended = json.loads(client.communicate(timeout=300)[0].splitlines()[-1])["ended_objects"]
        check(
            max(counts[0] for counts in ended["classes"]) >= least,
            f"objects were counted: {ended['classes']}",
        )
    finally:
        client.kill()
        client.communicate()


@contextlib.contextmanager
def bpftraced(script, process):
    alone_ns = min(round_ns(process) for _ in range(5))  # undisturbed
    tracer = subprocess.Popen(
        ["bpftrace", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 120
        while round_ns(process) < 2 * alone_ns + 1000:  # it does not report when it has attached
            check(time.monotonic() < until and tracer.poll() is None, "bpftrace does not attach")
        yield
        tracer.send_signal(signal.SIGINT)
        said = tracer.communicate(timeout=300)[0]
        check("@created" in said, f"bpftrace counted nothing: {said[-500:]}")
    finally:
        tracer.kill()
        tracer.communicate()


@contextlib.contextmanager
def ltraced(process):
    """ltrace -c of the same functions, which the program calls through its own table."""
    tracer = subprocess.Popen(
        [
            "ltrace",
            "-c",
            *[part for name in STATEMENT_CALLS for part in ("-e", name)],
            "-p",
            str(process.pid),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status")
        wait_for(
            lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(encoding="utf-8"),
            "ltrace to attach",
        )
        yield
        tracer.send_signal(signal.SIGINT)
        check(STATEMENT_CALLS[0] in tracer.communicate(timeout=300)[1], "ltrace counted nothing")
    finally:
        tracer.kill()
        tracer.communicate()


def bench_class(daemon, row):
    ours, theirs, memory, alone = [], [], [], []
    with program(PROGRAM.replace("%ROUNDS%", str(ROUNDS)), "g++", "-x", "c++") as (path, process):
        for _ in range(5):
            alone.append(round_ns(process))
            with followed(
                daemon, process, ROUNDS, "--class", "Thing", "--no-memory", "--rate", "1"
            ):
                ours.append(round_ns(process))
            with bpftraced(SCRIPT.format(path), process):
                theirs.append(round_ns(process))
            with followed(daemon, process, ROUNDS, "--class", "Thing"):
                memory.append(round_ns(process))
    lagtrap_ns, bpftrace_ns, memory_ns = (
        statistics.median(figures) for figures in (ours, theirs, memory)
    )
    row(
        f"a C++ object created, used and released ({statistics.median(alone)} ns alone), "
        "counted by class, up to 1,000 stacks a second",
        f"{lagtrap_ns / 1000:.1f} µs",
        f"bpftrace at the same functions: {bpftrace_ns / 1000:.1f} µs",
        f"{lagtrap_ns / bpftrace_ns:.2f}",
        "1.3",
    )
    row("the same, every call reported, with memory", f"{memory_ns / 1000:.1f} µs")


def bench_sqlite(daemon, row):
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0").resolve()
    ours, told, theirs, by_ltrace, alone = [], [], [], [], []
    with program(
        SQLITE.replace("%ROUNDS%", str(STATEMENTS)), "gcc", "-x", "c", "-x", "none", library
    ) as (_, process):
        for _ in range(5):
            alone.append(round_ns(process))
            with followed(
                daemon, process, STATEMENTS, "--preset", "sqlite", "--no-memory", "--rate", "1"
            ):
                ours.append(round_ns(process) - alone[-1])
            with followed(daemon, process, STATEMENTS, "--preset", "sqlite", "--rate", "1000000"):
                told.append(round_ns(process) - alone[-1])
            with bpftraced(SQLITE_SCRIPT.format(library), process):
                theirs.append(round_ns(process) - alone[-1])
            with ltraced(process):
                begun = time.monotonic()
                round_ns(process)
                # ltrace does its work while the program waits for it.
                by_ltrace.append((time.monotonic() - begun) * 1e9 / STATEMENTS - alone[-1])
    lagtrap_ns, told_ns, bpftrace_ns, ltrace_ns = (
        statistics.median(figures) for figures in (ours, told, theirs, by_ltrace)
    )
    row(
        f"an SQLite statement ({statistics.median(alone) / 1000:.1f} µs alone), four calls counted "
        "by class, without memory",
        f"{lagtrap_ns / 1000:.1f} µs",
        f"bpftrace at the same functions: {bpftrace_ns / 1000:.1f} µs",
        f"{lagtrap_ns / bpftrace_ns:.2f}",
        "1.3",
    )
    row(
        "the same, every call reported, with text and memory",
        f"{told_ns / 1000:.1f} µs",
        f"`ltrace -c`, without objects: {ltrace_ns / 1000:.1f} µs",
        f"{told_ns / ltrace_ns:.2f}",
    )


# For each input line: an object.
ONE = (
    PROGRAM.split("static long long now()", maxsplit=1)[0]
    + """
int main() {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    while (std::fgets(line, sizeof line, stdin)) Thing(100).use();
}
"""
)


class Creator(OwnedProcess):
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name) / "objects"
        subprocess.run(
            ["g++", "-O2", "-x", "c++", "-o", path, "-"], input=ONE, text=True, check=True
        )
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        check(
            self.process.stdout.readline() == "ready\n", "the program did not say that it is ready"
        )

    def create(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def __exit__(self, *parts):
        super().__exit__(*parts)
        self.folder.cleanup()


def ms_until_shown(program, follower):
    """Milliseconds from several creations, at different times within a second, until the
    follower prints each."""
    shown = []
    for number in range(20):
        time.sleep(0.5 + 0.05 * number)
        begun = time.monotonic()
        program.create()
        while '"object_calls"' not in follower.stdout.readline():
            check(follower.poll() is None, "lagtrap objects ended")
        shown.append((time.monotonic() - begun) * 1000)
    return statistics.median(shown), max(shown)


def bench_distant(row):
    with World(program=Creator) as world, world.uploader():
        sender, watch = world.send("--class", "Thing")
        wait_for(
            lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"],
            "the first part to come",
        )
        follower = world.follow("--watch", watch, "--json")
        check("started_objects" in follower.stdout.readline(), "lagtrap objects --connect ended")
        distant_ms, distant_most_ms = ms_until_shown(world.program, follower)
        for client in (follower, sender):
            client.kill()
            client.communicate()
        local = subprocess.Popen(
            [
                LAGTRAP,
                "objects",
                "--socket",
                world.daemon.socket_path,
                "--process",
                str(world.program.process.pid),
                "--json",
                "--for",
                "10min",
                "--class",
                "Thing",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        check("started_objects" in local.stdout.readline(), "lagtrap objects ended")
        local_ms, _ = ms_until_shown(world.program, local)
        local.kill()
        local.communicate()
    row(
        "from a creation until `lagtrap objects --connect` shows it on another machine: median, "
        "longest of 20",
        f"{distant_ms:.0f} ms, {distant_most_ms:.0f} ms",
        f"`lagtrap objects` on the machine itself: {local_ms:.0f} ms",
        f"{distant_ms / local_ms:.1f}",
    )


def bench(row):
    with Daemon(SETTINGS) as daemon:
        bench_class(daemon, row)
        bench_sqlite(daemon, row)
    bench_distant(row)
