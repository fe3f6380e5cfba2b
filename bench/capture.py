"""The benchmarks of recordings: their cost, size, and the time to merge them."""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lagtrap_test import BUILD_DIR, BURST, Daemon, check, library_event, wait_for

MERGE = BUILD_DIR / "trace" / "lagtrap-merge"


class Redis:
    """redis-server under redis-benchmark: a load that uses both CPUs and switches often."""

    PORT = "7380"

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-bench-")
        self.server = subprocess.Popen(
            ["redis-server", "--port", self.PORT, "--save", "", "--dir", self.folder],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: self.cli("ping") == "PONG\n", "redis")
        self.load = subprocess.Popen(
            ["redis-benchmark", "-p", self.PORT, "-c", "20", "-t", "set,get", "-l", "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: self.commands() > 10000, "the load")
        return self

    def __exit__(self, *_):
        for process in (self.load, self.server):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cli(self, *words):
        return subprocess.run(
            ["redis-cli", "-p", self.PORT, *words], capture_output=True, text=True
        ).stdout

    def commands(self):
        found = re.search(r"total_commands_processed:(\d+)", self.cli("info", "stats"))
        return int(found[1]) if found else 0

    def rate(self, seconds):
        before, begun = self.commands(), time.monotonic()
        time.sleep(seconds)  # the length of the measurement
        return (self.commands() - before) / (time.monotonic() - begun)


class Perf:
    """The equivalent done by hand: samples with stacks, and scheduling."""

    def __init__(self, folder, seconds):
        self.files = [pathlib.Path(folder) / "samples.data", pathlib.Path(folder) / "sched.data"]
        self.commands = [
            [
                "perf",
                "record",
                "-a",
                "-g",
                "-F",
                "999",
                "-o",
                self.files[0],
                "--",
                "sleep",
                str(seconds),
            ],
            ["perf", "sched", "record", "-o", self.files[1], "--", "sleep", str(seconds)],
        ]

    def start(self):
        self.processes = [
            subprocess.Popen(
                [str(word) for word in command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in self.commands
        ]

    def finish(self):
        for process in self.processes:
            process.wait(timeout=120)
        return sum(file.stat().st_size for file in self.files)


def capture_under_load(seconds):
    """A daemon whose captures of `seconds` stay unmerged, so that the merge can be measured
    separately."""
    return Daemon(
        library_event("tick", BURST, "10s", f"{seconds}s"),
        'cool-down="1ms" captures-per-hour="1000"',
        options=("--merge-program", "/bin/false"),
    )


def merge(capture):
    """Runs lagtrap-merge; returns its output, with its own time and memory."""
    with tempfile.TemporaryDirectory() as output:
        begun = time.monotonic()
        process = subprocess.Popen([MERGE, capture, output], stdout=subprocess.PIPE)
        said = json.loads(process.stdout.read())
        usage = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        return {
            "seconds": time.monotonic() - begun,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "memory_mib": usage.ru_maxrss / 1024,
            "bundle_bytes": pathlib.Path(said["bundle"]).stat().st_size,
        }


def wait_for_captures(daemon, count):
    def ended():
        status = daemon.status()
        return status["captures"]["waiting"] >= count and status["state"] in (
            "waiting",
            "cooling-down",
        )

    wait_for(ended, "the capture's end", 120)
    return sorted((daemon.spool / "captures").iterdir(), key=lambda path: path.stat().st_mtime)


def bench_capture(row):
    """A capture of 4 s under load: loss of throughput, size and merge time, against perf doing
    the same."""
    losses, perf_losses, perf_bytes, merged = [], [], [], []
    with Redis() as redis, capture_under_load(4) as daemon, tempfile.TemporaryDirectory() as folder:
        before = redis.rate(3.8)
        for done in range(1, 9):
            daemon.ask("trigger", event="tick")
            ours = redis.rate(3.8)
            captures = wait_for_captures(daemon, done)
            between = redis.rate(3.8)
            perf = Perf(folder, 4)
            perf.start()
            theirs = redis.rate(3.8)
            perf_bytes.append(perf.finish())
            after = redis.rate(3.8)
            # The load drifts, so each loss is relative to the undisturbed rate just before and
            # after.
            losses.append(100 * (1 - 2 * ours / (before + between)))
            perf_losses.append(100 * (1 - 2 * theirs / (between + after)))
            before = after
        for capture in captures:
            merged.append(merge(capture))
    loss, perf_loss = statistics.median(losses), statistics.median(perf_losses)
    row(
        "loss of throughput under load: median of 8 (range)",
        f"{loss:.1f} % ({min(losses):.1f} to {max(losses):.1f})",
        f"`perf record -a -g` and `perf sched record`: {perf_loss:.1f} % ({min(perf_losses):.1f} "
        f"to {max(perf_losses):.1f})",
        f"{loss / perf_loss:.2f}" if perf_loss > 0 else "",
        "no more than perf",
    )
    size, perf_size = statistics.median(m["bundle_bytes"] for m in merged), statistics.median(
        perf_bytes
    )
    row(
        "bundle of 4 s under load",
        f"{size / 1e6:.2f} MB",
        f"both perf files: {perf_size / 1e6:.1f} MB",
        f"{size / perf_size:.3f}",
        "0.1 or less",
    )
    row(
        "merge of 4 s under load: median",
        f"{statistics.median(m['seconds'] for m in merged):.2f} s",
        wanted="under 2 s",
    )
    row("its memory", f"{max(m['memory_mib'] for m in merged):.0f} MiB", wanted="under 256 MB")


def bench_merge(row):
    """How the merge time grows with the length of the capture. It runs at low priority, so here
    on an idle machine."""
    for seconds in (4, 15, 60):
        with capture_under_load(seconds) as daemon:
            with Redis():
                daemon.ask("trigger", event="tick")
                capture = wait_for_captures(daemon, 1)[-1]
            figure = merge(capture)
        row(
            f"merge of {seconds} s recorded under load",
            f"{figure['seconds']:.2f} s, {figure['cpu_seconds']:.2f} s of CPU, "
            f"{figure['memory_mib']:.0f} MiB",
            ratio=f"{figure['cpu_seconds'] / seconds:.3f} s of CPU a second",
            wanted="linear; under 256 MB",
        )


class Sleepers:
    """Idle processes of several programs."""

    def __init__(self, count):
        self.commands = [
            ["sleep", "infinity"],
            ["cat"],
            [sys.executable, "-c", "input()"],
            ["sh", "-c", "read line"],
        ]
        self.count = count

    def __enter__(self):
        self.processes = [
            subprocess.Popen(self.commands[i % len(self.commands)], stdin=subprocess.PIPE)
            for i in range(self.count)
        ]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()


def recording_cost_ms(session):
    """The cost of the daemon and of its BPF programs."""
    return session["quality"]["daemon_cpu_ns"] / 1e6, session["quality"]["bpf_run_time_ns"] / 1e6


def perf_record_ms(folder):
    """CPU time of perf itself for the same second; the cost of its samples in the kernel is not
    accounted anywhere."""
    process = subprocess.Popen(
        ["perf", "record", "-a", "-g", "-F", "999", "-o", folder / "perf.data", "--", "sleep", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def bench_recording(row):
    """Cost of a recording of 1 s while 100 processes sleep and nothing else runs."""
    daemon_ms, bpf_ms, perf_ms = [], [], []
    with Sleepers(100), capture_under_load(1) as daemon, tempfile.TemporaryDirectory() as folder:
        time.sleep(3)  # their code is known by then
        for done in range(1, 8):
            daemon.ask("trigger", event="tick")
            capture = wait_for_captures(daemon, done)[-1]
            session = json.loads((capture / "session.json").read_text())
            check(session["quality"]["omitted"] == [], f"disabled: {session['quality']['omitted']}")
            ours = recording_cost_ms(session)
            daemon_ms.append(ours[0])
            bpf_ms.append(ours[1])
            perf_ms.append(perf_record_ms(pathlib.Path(folder)))
    daemon_part, bpf_part, theirs = (
        statistics.median(times) for times in (daemon_ms, bpf_ms, perf_ms)
    )
    row(
        "recording of 1 s, 100 sleeping processes: daemon and BPF programs",
        f"{daemon_part + bpf_part:.1f} ms ({daemon_part:.1f} + {bpf_part:.1f})",
        f"`perf record -a -g -F 999`, without its cost in the kernel: {theirs:.1f} ms",
        f"{(daemon_part + bpf_part) / theirs:.2f}",
        f"at most {15 * os.cpu_count():.0f} ms (1.5 % of the CPUs)",
    )
