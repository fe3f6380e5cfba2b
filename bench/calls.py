"""The benchmark of lagtrap calls: what probes cost the program inside and outside of a target call, how fast ten thousand
functions come and go, whether a tree's times are those that the program has without probes, and what is left of the cost when all functions of a busy program are watched."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from lagtrap_test import LAGTRAP, Daemon, check

SETTINGS = ('<event name="idle" threshold="1h" trace-length="1s"><begin tracepoint="syscalls:sys_enter_fsync"/>'
            '<end tracepoint="syscalls:sys_exit_fsync"/></event>')
# Says after each of its seconds how many calls it has made; functions are called in turn.
BUSY = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
{functions}
__attribute__((noinline)) void target_round(void) {{ {calls} sink = sink + 1; }}
static long long now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }}
int main(void) {{
    for (;;) {{
        long long begin = now(), rounds = 0;
        while (now() - begin < 250000000LL) {{ target_round(); rounds++; }}
        printf("%lld\\n", rounds * {count} * 1000000000LL / (now() - begin));
        fflush(stdout);
    }}
}}
"""
# One call of the target a line that comes in; says how long it took by the thread's own clock of CPU time.
TREE = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
__attribute__((always_inline)) static inline void work(int rounds) { for (int i = 0; i < rounds; i++) sink = sink + i; }
#define KEPT __attribute__((noinline))
KEPT void leaf(void) { work(ROUNDS); sink = sink + 1; }
KEPT void twig(void) { for (int i = 0; i < 10; i++) leaf(); work(ROUNDS); }
KEPT void branch(void) { for (int i = 0; i < 10; i++) twig(); work(ROUNDS); }
KEPT void target_tree(void) { for (int i = 0; i < 9; i++) branch(); work(ROUNDS); }
static long long now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
int main(void) {
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        long long begin = now();
        target_tree();
        printf("%lld\\n", now() - begin);
        fflush(stdout);
    }
}
"""
# A function that is called inside of the target and outside; says the nanoseconds of a call of either for each line that comes.
HOT = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
__attribute__((noinline)) void hot(void) { __asm__ volatile("push %rbp; pop %rbp"); sink = sink + 1; }
__attribute__((noinline)) void target(int calls) { for (int i = 0; i < calls; i++) hot(); sink = 0; }
__attribute__((noinline)) void outside(int calls) { for (int i = 0; i < calls; i++) hot(); sink = 0; }
static long long now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
int main(void) {
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        long long begin = now(); target(2000); long long middle = now(); outside(2000);
        printf("%lld %lld\\n", (middle - begin) / 2000, (now() - middle) / 2000);
        fflush(stdout);
    }
}
"""


@contextlib.contextmanager
def running(source, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program"
        subprocess.run(["gcc", "-x", "c", "-O1", *flags, "-o", path, "-"], input=source, text=True, check=True)
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def answer_of(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


@contextlib.contextmanager
def traced(daemon, process, function, *options):
    client = subprocess.Popen([LAGTRAP, "calls", "--socket", daemon.socket_path, "--process", str(process.pid), "--function", function,
                               "--json", "--count", "0", "--for", "10min", *options], stdout=subprocess.PIPE, text=True)
    try:
        line = client.stdout.readline()
        check(line, "lagtrap calls ended")
        yield json.loads(line)["started"], client
    finally:
        client.kill()
        client.communicate()


def busy(count):
    functions = "".join(f"__attribute__((noinline)) void f{n}(void) {{ for (int i = 0; i < 25; i++) sink = sink + {n}; }}\n" for n in range(count))
    return BUSY.format(functions=functions, calls="".join(f"f{n}();" for n in range(count)), count=count)


def bench_attach(daemon, row, count=9990):
    with running(busy(count), "-O0") as process:
        client = subprocess.run([LAGTRAP, "calls", "--socket", daemon.socket_path, "--process", str(process.pid), "--function", "target_round",
                                 "--json", "--for", "1ms", "--depth", "1"], capture_output=True, text=True, timeout=300)
        lines = [json.loads(line) for line in client.stdout.splitlines()]
        started, ended = lines[0]["started"], lines[-1]["ended"]
        check(len(started["functions"]) > count - 10, f"{len(started['functions'])} functions; {started['refused'][:2]}")
        row(f"{len(started['functions'])} functions found; in; out",
            f"{started['plan_ns'] / 1e6:.0f} ms; {started['attach_ns'] / 1e6:.0f} ms; {ended['detach_ns'] / 1e6:.0f} ms", wanted="100 ms in, out")


def bench_tree(daemon, row):
    """Alone and traced in turn: what a probe costs changes within seconds."""
    for rounds in 40000, 10000:
        alone, net, ratios = [], [], []
        with running(TREE.replace("ROUNDS", str(rounds))) as process:
            for _ in range(7):
                alone.append(statistics.median(int(answer_of(process)) for _ in range(7)))
                sums = []
                with traced(daemon, process, "target_tree", "--budget", "10000") as (_, client):
                    for _ in range(7):
                        answer_of(process)
                        calls = json.loads(client.stdout.readline())["tree"]["calls"]
                        check(len(calls) == 1000, f"{len(calls)} calls")
                        # Others use the machine too.
                        sums.append(sum(call["own_ns"] for call in calls) - calls[0]["runnable_ns"] - calls[0]["blocked_ns"])
                net.append(statistics.median(sums))
                ratios.append(net[-1] / alone[-1])
        row(f"own times of a tree of 1,000 calls of {statistics.median(alone) / 1e6:.1f} us each, net of probes, against the program's own clock without any",
            f"{statistics.median(net) / 1e6:.2f} ms", f"{statistics.median(alone) / 1e6:.2f} ms",
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", "0.97 to 1.03")


def bench_hit(daemon, row):
    def median(process, place):
        return statistics.median(int(answer_of(process).split()[place]) for _ in range(15))

    with running(HOT) as process:
        alone = median(process, 0)
        with traced(daemon, process, "target", "--budget", "10000", "--min", "1h"):
            inside, outside = median(process, 0), median(process, 1)
        row("a call with entry and end, inside a target call; outside of one", f"{inside - alone:.0f} ns; {outside - alone:.0f} ns")


def bench_thin(daemon, row, count=5000):
    with running(busy(count), "-fno-omit-frame-pointer") as process:
        process.stdout.readline()
        alone = statistics.median(int(process.stdout.readline()) for _ in range(6))
        with traced(daemon, process, "target_round", "--depth", "1", "--min", "1h"):
            begun = time.monotonic()
            while time.monotonic() - begun < 1:
                process.stdout.readline()
            watched = statistics.median(int(process.stdout.readline()) for _ in range(6))
        row(f"calls a second of a program with {count} functions, all watched, after a second; alone", f"{watched / 1e6:.1f} million",
            f"{alone / 1e6:.1f} million", f"{watched / alone:.2f}", "0.90")


def bench(row):
    os.environ.pop("LAGTRAP_SOCKET", None)
    with Daemon(SETTINGS) as daemon:
        bench_hit(daemon, row)
        bench_attach(daemon, row)
        bench_tree(daemon, row)
        bench_thin(daemon, row)
