"""The benchmark of lagtrap objects: what the program pays for an object with one allocation that is created, used and released, beside
bpftrace at the same functions with what it takes to know who lives and for how long."""

import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from lagtrap_test import LAGTRAP, Daemon, check

SETTINGS = ('<event name="idle" threshold="1h" trace-length="1s"><begin tracepoint="syscalls:sys_enter_fsync"/>'
            '<end tracepoint="syscalls:sys_exit_fsync"/></event>')
ROUNDS = 3_000
# For each line that comes in: the nanoseconds of CPU time of a round.
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
Thing::Thing(long size) : content(static_cast<char*>(std::malloc(size))) { asm volatile("" ::: "memory"); }
Thing::~Thing() { std::free(content); asm volatile("" ::: "memory"); }
long Thing::use() { asm volatile("" ::: "memory"); return content[0]; }
static long long now() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
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
# Created, released and alive by object, calls and their time by function, as lagtrap counts them; nothing is told of a single call.
SCRIPT = """
uprobe:{0}:_ZN5ThingC1El {{ @object[tid] = arg0; @begun[tid] = nsecs; @created = count(); @alive[arg0] = nsecs; }}
uretprobe:{0}:_ZN5ThingC1El {{ @duration[0] = sum(nsecs - @begun[tid]); @calls[0] = count(); }}
uprobe:{0}:_ZN5Thing3useEv {{ @begun[tid] = nsecs; if (@alive[arg0] == 0) {{ @unknown = count(); }} }}
uretprobe:{0}:_ZN5Thing3useEv {{ @duration[1] = sum(nsecs - @begun[tid]); @calls[1] = count(); }}
uprobe:{0}:_ZN5ThingD1Ev {{ @begun[tid] = nsecs; @released = count(); delete(@alive[arg0]); }}
uretprobe:{0}:_ZN5ThingD1Ev {{ @duration[2] = sum(nsecs - @begun[tid]); @calls[2] = count(); }}
"""


def round_ns(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


@contextlib.contextmanager
def program():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "things"
        # Ends as the compiler of a distribution makes them, one instruction each.
        subprocess.run(["g++", "-x", "c++", "-O2", "-o", path, "-"], input=PROGRAM.replace("%ROUNDS%", str(ROUNDS)), text=True, check=True)
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield path, process
        finally:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def followed(daemon, process, *options):
    client = subprocess.Popen([LAGTRAP, "objects", "--socket", daemon.socket_path, "--process", str(process.pid), "--class", "Thing", "--json",
                               "--for", "10min", "--budget", "10000", *options], stdout=subprocess.PIPE, text=True)
    try:
        check("started_objects" in client.stdout.readline(), "lagtrap objects ended")
        yield
        client.send_signal(signal.SIGINT)
        ended = json.loads(client.communicate(timeout=300)[0].splitlines()[-1])["ended_objects"]
        check(ended["classes"][0][0] >= ROUNDS, f"objects were counted: {ended['classes']}")
    finally:
        client.kill()
        client.communicate()


@contextlib.contextmanager
def bpftraced(path, process, alone_ns):
    tracer = subprocess.Popen(["bpftrace", "-e", SCRIPT.format(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until = time.monotonic() + 120
        while round_ns(process) < 20 * alone_ns + 1000:  # it does not say when it has attached
            check(time.monotonic() < until and tracer.poll() is None, "bpftrace does not attach")
        yield
        tracer.send_signal(signal.SIGINT)
        check("@created" in tracer.communicate(timeout=300)[0], "bpftrace counted nothing")
    finally:
        tracer.kill()
        tracer.communicate()


def bench(row):
    ours, theirs, memory, alone = [], [], [], []
    with Daemon(SETTINGS) as daemon, program() as (path, process):
        for _ in range(5):
            alone.append(round_ns(process))
            with followed(daemon, process, "--no-memory", "--rate", "1"):
                ours.append(round_ns(process))
            with bpftraced(path, process, alone[0]):
                theirs.append(round_ns(process))
            with followed(daemon, process):
                memory.append(round_ns(process))
    lagtrap_ns, bpftrace_ns, memory_ns = (statistics.median(figures) for figures in (ours, theirs, memory))
    row("an object of C++ created, used and released, counted by class, its stack walked up to 1,000 times a second",
        f"{lagtrap_ns / 1000:.1f} us", f"bpftrace at the same functions {bpftrace_ns / 1000:.1f} us", f"{lagtrap_ns / bpftrace_ns:.2f}", "1.3")
    row("the same, every call told, with memory; alone", f"{memory_ns / 1000:.1f} us", f"{statistics.median(alone)} ns")
