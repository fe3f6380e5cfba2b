"""The benchmark of lagtrap calls: what probes cost the program inside and outside of a target
call, how fast ten thousand functions are attached and detached, whether a tree's times are those
of the program without probes, and what cost remains when all functions of a busy program are
watched."""

import contextlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, check

SETTINGS = (
    '<event name="idle" threshold="1h" trace-length="1s">'
    '<begin tracepoint="syscalls:sys_enter_fsync"/>'
    '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
)
# Prints after each second how many calls it has made; functions are called in turn.
BUSY = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
{functions}
__attribute__((noinline)) void target_round(void) {{ {calls} sink = sink + 1; }}
static long long now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}}
int main(void) {{
    for (;;) {{
        long long begin = now(), rounds = 0;
        while (now() - begin < 250000000LL) {{ target_round(); rounds++; }}
        printf("%lld\\n", rounds * {count} * 1000000000LL / (now() - begin));
        fflush(stdout);
    }}
}}
"""
# One call of the target for each input line; prints how long it took by the thread's CPU clock.
TREE = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
/* In a register: how fast memory is written and read back again differs by two with what was
   done before. */
__attribute__((always_inline)) static inline void work(int rounds) {
    long x = sink;
    for (int i = 0; i < rounds; i++) __asm__ volatile("imul $3, %0, %0" : "+r"(x));
    sink = x;
}
#define KEPT __attribute__((noinline))
KEPT void leaf(void) { FIRST work(ROUNDS); sink = sink + 1; }
KEPT void twig(void) { for (int i = 0; i < 10; i++) leaf(); work(ROUNDS); }
KEPT void branch(void) { for (int i = 0; i < 10; i++) twig(); work(ROUNDS); }
KEPT void target_tree(void) { for (int i = 0; i < 9; i++) branch(); work(ROUNDS); }
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
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
PUSH = '__asm__ volatile("push %%rax; pop %%rax" ::: "memory");'
# Three functions with the same code: without probes, with the kernel's own, with ours; called in
# short turns, so that other load affects all of them alike. Prints for each input line the
# nanoseconds of a call of each, inside and outside of the target.
HOT = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
#define HOT(name) \\
    __attribute__((noinline, noclone)) void name(void) { \\
        __asm__ volatile("push %rbp; pop %rbp # " #name); \\
        sink = sink + 1; \\
    }
HOT(bare) HOT(paired) HOT(watched)
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
#define TURNS 20
#define CALLS 100
#define TIME(function, place) \\
    begin = now(); \\
    for (int i = 0; i < CALLS; i++) function(); \\
    times[place] += now() - begin;
__attribute__((always_inline)) static inline void turn(long long* times) {
    long long begin;
    for (int n = 0; n < TURNS; n++) { TIME(bare, 0) TIME(paired, 1) TIME(watched, 2) }
}
__attribute__((noinline)) void target(long long* times) { turn(times); sink = 0; }
__attribute__((noinline)) void outside(long long* times) { turn(times); sink = 0; }
int main(void) {
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        long long times[6] = {0};
        target(times);
        outside(times + 3);
        for (int i = 0; i < 6; i++) printf("%lld ", times[i] / (TURNS * CALLS));
        printf("\\n");
        fflush(stdout);
    }
}
"""


@contextlib.contextmanager
def running(source, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program"
        subprocess.run(
            ["gcc", "-x", "c", "-O1", *flags, "-o", path, "-"], input=source, text=True, check=True
        )
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
    client = subprocess.Popen(
        [
            LAGTRAP,
            "calls",
            "--socket",
            daemon.socket_path,
            "--process",
            str(process.pid),
            "--function",
            function,
            "--json",
            "--count",
            "0",
            "--for",
            "10min",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = client.stdout.readline()
        check(line, "lagtrap calls ended")
        yield json.loads(line)["started"], client
    finally:
        client.kill()
        client.communicate()


@contextlib.contextmanager
def empty_pair(path, function):
    """The kernel's entry and return probe on this function through uprobe_multi like ours, with
    a program that does nothing."""
    with subprocess.Popen(
        [BUILD_DIR / "bench" / "empty_pair", path, "call", function],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as empty:
        check(empty.stdout.readline() == "attached\n", "empty_pair does not attach")
        yield
        empty.stdin.close()


def busy(count):
    functions = "".join(
        f"__attribute__((noinline)) void f{n}(void) {{ "
        f"for (int i = 0; i < 25; i++) sink = sink + {n}; }}\n"
        for n in range(count)
    )
    return BUSY.format(
        functions=functions, calls="".join(f"f{n}();" for n in range(count)), count=count
    )


def bench_attach(daemon, row, count=9990):
    with running(busy(count), "-O0") as process:
        client = subprocess.run(
            [
                LAGTRAP,
                "calls",
                "--socket",
                daemon.socket_path,
                "--process",
                str(process.pid),
                "--function",
                "target_round",
                "--json",
                "--for",
                "1ms",
                "--depth",
                "1",
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        lines = [json.loads(line) for line in client.stdout.splitlines()]
        started, ended = lines[0]["started"], lines[-1]["ended"]
        check(
            len(started["functions"]) > count - 10,
            f"{len(started['functions'])} functions; {started['refused'][:2]}",
        )
        row(
            f"{len(started['functions'])} functions: finding; attaching; detaching",
            f"{started['plan_ns'] / 1e6:.0f} ms; {started['attach_ns'] / 1e6:.0f} ms; "
            f"{ended['detach_ns'] / 1e6:.0f} ms",
            wanted="attaching, detaching: 100 ms",
        )


def bench_tree(daemon, row):
    """Alone and traced alternately, because the cost of a probe changes within seconds."""
    # A leaf that begins with an instruction that must be single-stepped, and one like most
    # functions.
    for rounds, first in itertools.product((24000, 6000), ("", PUSH)):
        alone, net, ratios = [], [], []
        with running(TREE.replace("ROUNDS", str(rounds)).replace("FIRST", first)) as process:
            for _ in range(7):
                alone.append(statistics.median(int(answer_of(process)) for _ in range(7)))
                sums = []
                with traced(daemon, process, "target_tree", "--budget", "10000") as (_, client):
                    for _ in range(7):
                        answer_of(process)
                        calls = json.loads(client.stdout.readline())["tree"]["calls"]
                        check(len(calls) == 1000, f"{len(calls)} calls")
                        # Others use the machine too.
                        sums.append(
                            sum(call["own_ns"] for call in calls)
                            - calls[0]["runnable_ns"]
                            - calls[0]["blocked_ns"]
                        )
                net.append(statistics.median(sums))
                ratios.append(net[-1] / alone[-1])
        row(
            f"tree of 1,000 calls of {statistics.median(alone) / 1e6:.1f} µs, leaves that begin "
            f"with {'`push`' if first else 'a stepped instruction'}: own times against the time "
            "without probes",
            f"{statistics.median(net) / 1e6:.2f} ms",
            f"{statistics.median(alone) / 1e6:.2f} ms",
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
            "0.97 to 1.03",
        )


def bench_hit(daemon, row):
    """Against the kernel's own pair of an entry and a return probe with empty programs, on a
    similar function of the same program."""
    with running(HOT) as process, empty_pair(process.args[0], "paired"), traced(
        daemon, process, "target", "--only", "watched", "--budget", "10000", "--min", "1h"
    ):
        answers = [list(map(int, answer_of(process).split())) for _ in range(101)]
    for at, (where, wanted) in enumerate((("inside", "1.3"), ("outside", "1.1"))):
        pairs = [
            (answer[3 * at + 2] - answer[3 * at], answer[3 * at + 1] - answer[3 * at])
            for answer in answers
        ]
        ours, kernels, ratio = (
            statistics.median(values)
            for values in zip(*((ours, pair, ours / pair) for ours, pair in pairs))
        )
        row(
            f"a call {where} a call of the target",
            f"{ours:.0f} ns",
            f"the kernel's entry and return probe, empty programs: {kernels:.0f} ns",
            f"{ratio:.2f}",
            wanted,
        )


def bench_thin(daemon, row, count=5000):
    with running(busy(count), "-fno-omit-frame-pointer") as process:
        process.stdout.readline()
        alone = statistics.median(int(process.stdout.readline()) for _ in range(6))
        with traced(daemon, process, "target_round", "--depth", "1", "--min", "1h"):
            begun = time.monotonic()
            while time.monotonic() - begun < 1:
                process.stdout.readline()
            watched = statistics.median(int(process.stdout.readline()) for _ in range(6))
        row(
            f"calls a second of a program with {count:,} functions, all watched, after 1 s",
            f"{watched / 1e6:.1f} million",
            f"not watched: {alone / 1e6:.1f} million",
            f"{watched / alone:.2f}",
            "0.90",
        )


def bench(row):
    os.environ.pop("LAGTRAP_SOCKET", None)
    with Daemon(SETTINGS) as daemon:
        bench_hit(daemon, row)
        bench_attach(daemon, row)
        bench_tree(daemon, row)
        bench_thin(daemon, row)
