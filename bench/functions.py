"""The benchmark of lagtrap functions: bytes per second and slow-down compared with uftrace,
ltrace -c and bpftrace on the same functions, whether the counts equal the program's own, and the
cost of a call compared with the kernel's own pair of an entry and a return probe."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

from function_programs import HOT, MANY, PLANTED
from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, check, wait_for

SETTINGS = (
    '<event name="idle" threshold="1h" trace-length="1s">'
    '<begin tracepoint="syscalls:sys_enter_fsync"/>'
    '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
)
FUNCTIONS = ("handle_request", "read_words", "next_word", "look_up", "hash_word", "answer")
REDIS_FUNCTIONS = (
    "processCommand",
    "call",
    "lookupKey",
    "dictFind",
    "addReply",
    "setCommand",
    "getCommand",
    "readQueryFromClient",
    "processInputBuffer",
    "writeToClient",
)
SECONDS = 2


def built(folder, source, name, *flags):
    path = pathlib.Path(folder) / name
    subprocess.run(
        ["gcc", "-x", "c", "-O1", *flags, "-o", path, "-"], input=source, text=True, check=True
    )
    return path


@contextlib.contextmanager
def ended(process, how=signal.SIGKILL):
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()  # bpftrace may not end at once, and its table does not matter here
            process.communicate()


def rate_of(process, settle=1.0):
    """Requests per second, once the tracer has settled."""
    until = time.monotonic() + settle
    while time.monotonic() < until:
        process.stdout.readline()
    return statistics.median(int(process.stdout.readline()) for _ in range(4 * SECONDS))


@contextlib.contextmanager
def traced(daemon, pid, *options):
    """Runs lagtrap functions; returns its first line, and after the end all others in `lines`."""
    client = subprocess.Popen(
        [
            LAGTRAP,
            "functions",
            "--socket",
            daemon.socket_path,
            "--process",
            str(pid),
            "--json",
            "--for",
            "10min",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = []
    with ended(client, signal.SIGINT):
        started = json.loads(client.stdout.readline())["started_functions"]
        yield started, lines
        client.send_signal(signal.SIGINT)
        lines += [json.loads(line) for line in client.stdout]


def all_but(functions):
    """A pattern for all of the program's functions except these, to exclude them; file names
    contain - or . or are paths."""
    return "^(?!(" + "|".join(functions) + ")$)[^-./]*$"


def told_a_second(lines):
    end = next(line["ended_functions"] for line in lines if "ended_functions" in line)
    return end["bytes"] / (end["length_ns"] / 1e9)


@contextlib.contextmanager
def bpftrace(path, functions):
    """Counts and times each call of the same functions."""
    begin = ",".join(f"uprobe:{path}:{name}" for name in functions)
    end = ",".join(f"uretprobe:{path}:{name}" for name in functions)
    script = (
        f'BEGIN {{ printf("attached\\n"); }} {begin} {{ @begun[tid, func] = nsecs; }} '
        f"{end} {{ @own[func] = stats(nsecs - @begun[tid, func]); }}"
    )
    with ended(
        subprocess.Popen(
            ["bpftrace", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ),
        signal.SIGINT,
    ) as tracer:
        for line in tracer.stdout:
            if line.startswith("attached"):
                break
        yield tracer


def bench_planted(daemon, row, folder):
    """The same program: alone, then with each tracer in turn."""
    path, with_entries = built(folder, PLANTED, "planted"), built(
        folder, PLANTED, "planted_pg", "-pg"
    )
    alone, ours, unthinned, peer = [], [], [], []
    with ended(subprocess.Popen([path], stdout=subprocess.PIPE, text=True)) as process:
        for _ in range(3):
            alone.append(rate_of(process))
            with traced(daemon, process.pid) as (_, lines):
                ours.append(rate_of(process))
            with traced(daemon, process.pid, "--budget", "10000") as (_, lines_unthinned):
                unthinned.append(rate_of(process))
            with bpftrace(path, FUNCTIONS):
                peer.append(rate_of(process))
    alone_rate, peer_rate, unthinned_rate = map(statistics.median, (alone, peer, unthinned))
    row(
        "planted program, all functions, after 1 s: speed; bytes a second",
        f"{statistics.median(ours) / alone_rate:.2f}; {told_a_second(lines) / 1000:.0f} kB",
        wanted="0.90; 200 kB",
    )
    row(
        "the same without a budget",
        f"{unthinned_rate / alone_rate:.3f}; {told_a_second(lines_unthinned) / 1000:.0f} kB",
        f"bpftrace, `stats()` of each call: {peer_rate / alone_rate:.3f}",
        f"{unthinned_rate / peer_rate:.2f}",
    )
    with ended(subprocess.Popen([with_entries], stdout=subprocess.PIPE, text=True)) as process:
        alone_pg = rate_of(process)
    data = pathlib.Path(folder) / "uftrace.data"
    with ended(
        subprocess.Popen(
            ["uftrace", "record", "--no-event", "-d", data, with_entries],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ),
        signal.SIGINT,
    ) as tracer:
        wait_for(lambda: data.exists() and any(data.glob("*.dat")), "uftrace to begin")
        before, begun = size_of(data), time.monotonic()
        traced_rate = rate_of(tracer)
        rate = (size_of(data) - before) / (time.monotonic() - begun)
        os.killpg(tracer.pid, signal.SIGINT)
    row(
        "the same program with `-pg` and `uftrace record`: speed; bytes a second",
        f"{traced_rate / alone_pg:.2f}; {rate / 1e6:.1f} MB",
    )
    shutil.rmtree(data, ignore_errors=True)


def many(count):
    functions = "".join(
        f"__attribute__((noinline)) void f{n}(void) {{ "
        f"for (int i = 0; i < 20; i++) sink = sink + {n}; }}\n"
        for n in range(count)
    )
    return MANY.format(
        functions=functions, calls="".join(f"f{n}();" for n in range(count)), count=count
    )


class Rates:
    """The program's output as it arrives; `all` has CLOCK_MONOTONIC in seconds, calls per
    second, and its CPU time in seconds."""

    def __init__(self, process):
        self.all, self.output = [], process.stdout
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.output:
            at, rate, cpu = map(int, line.split())
            self.all.append((at / 1e9, rate, cpu / 1e9))

    def since(self, begin, seconds):
        wait_for(lambda: self.all and self.all[-1][0] > begin + seconds, "the program's rates")
        return statistics.median(rate for at, rate, _ in self.all if begin < at < begin + seconds)

    def slow(self, begin, alone, kept):
        """Seconds from the first slow moment after `begin` until it runs at 0.9 of its final
        speed: by the clock, and of its own CPU time."""
        told = list(self.all)
        first = next(
            place for place, (at, rate, _) in enumerate(told) if at > begin and rate < 0.5 * alone
        )
        back = next(place for place in range(first, len(told)) if told[place][1] > 0.9 * kept)
        return told[back][0] - told[first - 1][0], told[back][2] - told[first - 1][2]


def bench_many(daemon, row, folder, count=5000):
    """A program that only calls this many functions: how soon it is fast again, and how fast,
    when all of them are watched."""
    source = many(count)
    with ended(
        subprocess.Popen([built(folder, source, "many")], stdout=subprocess.PIPE, text=True)
    ) as process:
        rates, slow, after, told = Rates(process), [], [], []
        for _ in range(5):
            alone = rates.since(time.monotonic(), 1)
            begun = time.monotonic()
            with traced(daemon, process.pid) as (started, lines):
                check(len(started["functions"]) >= count, f"{len(started['functions'])} functions")
                kept = rates.since(time.monotonic() + 1, 2)
            after.append(kept / alone)
            slow.append(rates.slow(begun, alone, kept))
            told.append(told_a_second(lines))
    row(
        f"{count:,} functions, {alone / 1e6:.0f} million calls a second: speed after 1 s; "
        "bytes a second",
        f"{statistics.median(after):.2f}; {statistics.median(told) / 1000:.0f} kB",
        wanted="0.90; 200 kB",
    )
    for what, times in zip(("by the clock", "in its CPU time"), zip(*slow)):
        row(
            f"the same: from the first probe to 0.9 of its speed, {what}",
            f"{statistics.median(times) * 1000:.0f} ms ({min(times) * 1000:.0f} to "
            f"{max(times) * 1000:.0f})",
            wanted="100 ms",
        )
    with_entries = built(folder, source, "many_pg", "-pg")
    with ended(subprocess.Popen([with_entries], stdout=subprocess.PIPE, text=True)) as process:
        alone = Rates(process).since(time.monotonic(), 1)
    data = pathlib.Path(folder) / "uftrace.many"
    with ended(
        subprocess.Popen(
            ["uftrace", "record", "--no-event", "-d", data, with_entries],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ),
        signal.SIGINT,
    ) as tracer:
        wait_for(lambda: data.exists() and any(data.glob("*.dat")), "uftrace to begin")
        rates = Rates(tracer)
        before, begun = size_of(data), time.monotonic()
        traced_rate = rates.since(begun, 2)
        bytes_a_second = (size_of(data) - before) / (time.monotonic() - begun)
        os.killpg(tracer.pid, signal.SIGINT)
    row(
        "the same program with `-pg` and `uftrace record`: speed; bytes a second",
        f"{traced_rate / alone:.2f}; {bytes_a_second / 1e6:.1f} MB",
    )
    shutil.rmtree(data, ignore_errors=True)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())


def own_counts(text):
    return dict(zip(FUNCTIONS, map(int, text.split())))


def bench_counts(daemon, row, folder, requests=300):
    """Each call of a fixed amount of work, as counted by the program itself."""
    path = built(folder, PLANTED, "counted")
    process = subprocess.Popen(
        [path, str(requests)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with traced(daemon, process.pid, "--budget", "10000") as (started, lines):
        begun = time.monotonic()
        process.stdin.write("\n")
        process.stdin.flush()
        truth = own_counts(process.communicate(timeout=120)[1])
        ours_s = time.monotonic() - begun
    names = [function[0] for function in started["functions"]]
    found = {
        names[total[0]]: total[1]
        for line in lines
        for total in line.get("ended_functions", {}).get("totals", [])
    }
    ours = {name: found.get(name, 0) for name in FUNCTIONS}
    begun = time.monotonic()
    done = subprocess.run(
        [
            "ltrace",
            "-c",
            "-L",
            *[part for name in FUNCTIONS for part in ("-x", f"{name}@{path.name}")],
            path,
            str(requests),
            "now",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    ltrace_s = time.monotonic() - begun
    theirs = {
        match[2]: int(match[1])
        for match in re.finditer(
            r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) (\w+)", done.stdout + done.stderr, re.MULTILINE
        )
    }
    theirs = {name: theirs.get(name, 0) for name in FUNCTIONS}
    row(
        f"calls counted of {sum(truth.values()):,} of six functions; time",
        f"{sum(ours.values())}{' (equal)' if ours == truth else f' {ours}'}; {ours_s:.2f} s",
        f"`ltrace -c`: {sum(theirs.values())}{' (equal)' if theirs == truth else f' {theirs}'}; "
        f"{ltrace_s:.2f} s",
        f"{ltrace_s / max(ours_s, 1e-3):.0f} times the time",
    )
    check(ours == truth, f"{ours} instead of {truth}")


def answer_of(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def bench_pair(daemon, row, folder):
    """One function, alternately: alone, with the kernel's pair and empty programs, with ours."""
    path = built(folder, HOT, "hot")
    alone, pair, ours = [], [], []
    with ended(
        subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ) as process:

        def median():
            return statistics.median(answer_of(process) for _ in range(7))

        for _ in range(3):
            alone.append(median())
            with subprocess.Popen(
                [BUILD_DIR / "bench" / "empty_pair", path, "call", "hot"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as empty:
                check(empty.stdout.readline() == "attached\n", "empty_pair does not attach")
                pair.append(median())
                empty.stdin.close()
            with traced(daemon, process.pid, "--budget", "10000"):
                ours.append(median())
    ours_ns, pair_ns = statistics.median(ours) - statistics.median(alone), statistics.median(
        pair
    ) - statistics.median(alone)
    row(
        "a call counted and timed",
        f"{ours_ns:.0f} ns",
        f"the kernel's entry and return probe, empty programs: {pair_ns:.0f} ns",
        f"{ours_ns / pair_ns:.2f}",
        "1.3",
    )


def redis_rate(socket):
    done = subprocess.run(
        ["redis-benchmark", "-s", socket, "-t", "set", "-n", "40000", "-c", "4", "--csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1].split(",")[1].strip('"'))


def bench_redis(daemon, row, folder):
    """Debian's redis-server under redis-benchmark."""
    program, socket = "/usr/bin/redis-server", f"{folder}/redis.sock"
    server = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    with ended(server):
        wait_for(
            lambda: subprocess.run(
                ["redis-cli", "-s", socket, "ping"], capture_output=True, text=True, check=False
            ).stdout
            == "PONG\n",
            "redis to answer",
        )
        alone, ours, ten, peer = [], [], [], []
        for _ in range(3):
            alone.append(redis_rate(socket))
            with traced(daemon, server.pid) as (started, lines):
                redis_rate(socket)  # until hot functions are detached
                ours.append(redis_rate(socket))
            with traced(
                daemon, server.pid, "--budget", "10000", "--exclude", all_but(REDIS_FUNCTIONS)
            ) as (few, _):
                check(
                    len(few["functions"]) == len(REDIS_FUNCTIONS),
                    f"{len(few['functions'])} functions",
                )
                ten.append(redis_rate(socket))
            with bpftrace(program, REDIS_FUNCTIONS):
                peer.append(redis_rate(socket))
        alone_rate, peer_rate, ten_rate = map(statistics.median, (alone, peer, ten))
        row(
            f"redis-server, {len(started['functions']):,} functions: speed; bytes a second",
            f"{statistics.median(ours) / alone_rate:.2f}; {told_a_second(lines) / 1000:.0f} kB",
            wanted="0.90; 200 kB",
        )
        row(
            f"the same, {len(REDIS_FUNCTIONS)} functions, without a budget",
            f"{ten_rate / alone_rate:.2f}",
            f"bpftrace: {peer_rate / alone_rate:.2f}",
            f"{ten_rate / peer_rate:.2f}",
        )


# A statement for SQLite's shell, with an answer of one line.
SQLITE_ROUND = (
    "with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) select sum(x) "
    "from c;\n"
)


class SqliteShell:
    """Statements per second, one after the other."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["sqlite3", ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.rate(0.2)

    def rate(self, seconds=1.0):
        begun, done = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            self.process.stdin.write(SQLITE_ROUND)
            self.process.stdin.flush()
            check(self.process.stdout.readline() == "2001000\n", "sqlite3 answers as ever")
            done += 1
        return done / (time.monotonic() - begun)


def bench_sqlite(daemon, row):
    """Debian's sqlite3 with all named functions of its library, compared with ltrace -c of
    everything the shell calls."""
    shell = SqliteShell()
    with ended(shell.process):
        alone, ours = [], []
        for _ in range(3):
            alone.append(shell.rate())
            with traced(daemon, shell.process.pid, "--include", "libsqlite3") as (started, lines):
                shell.rate()  # until hot functions are detached
                ours.append(shell.rate())
        alone_rate = statistics.median(alone)
        peer = subprocess.Popen(
            ["ltrace", "-c", "-p", str(shell.process.pid)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with ended(peer, signal.SIGINT):
            status = pathlib.Path(f"/proc/{shell.process.pid}/status")
            wait_for(lambda: f"TracerPid:\t{peer.pid}\n" in status.read_text(), "ltrace to attach")
            shell.rate()
            peer_rate = shell.rate()
    ours_rate = statistics.median(ours)
    row(
        f"sqlite3, {len(started['functions']):,} functions of its library: speed; bytes a second",
        f"{ours_rate / alone_rate:.2f}; {told_a_second(lines) / 1000:.0f} kB",
        f"`ltrace -c` of what the shell calls: {peer_rate / alone_rate:.2f}",
        f"{ours_rate / peer_rate:.2f}",
        "0.90; 200 kB",
    )


def bench(row):
    os.environ.pop("LAGTRAP_SOCKET", None)
    missing = [tool for tool in ("uftrace", "ltrace", "bpftrace") if not shutil.which(tool)]
    check(not missing, f"Debian's packages {', '.join(missing)} are not installed")
    with Daemon(SETTINGS) as daemon, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench_pair(daemon, row, folder)
        bench_counts(daemon, row, folder)
        bench_planted(daemon, row, folder)
        bench_many(daemon, row, folder)
        bench_redis(daemon, row, folder)
        bench_sqlite(daemon, row)
