"""Programs whose code is generated at run time: their functions have names, wherever they run
and even if they end."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import LAGTRAP, PLANTED, Daemon, check, check_trace, library_event, run, wait_for

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "managed"
NODE = "/usr/bin/node"
JDK = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
PYTHON = "/usr/bin/python3"
# Each function keeps its own frame.
NO_INLINING = "--no-turbo-inlining"
LEAST_SAMPLES = 100
EVERYTHING = 1_000_000


class Busy:
    """A program that computes until it is killed; `pid` is as this machine counts. Runtimes
    leave files in their working folder (node's isolate-*.log), so each runs in a temporary one."""

    def __init__(self, *command, **options):
        self.folder = tempfile.TemporaryDirectory(prefix="lagtrap-busy-")
        self.started = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
            **options,
        )
        self.pid = self.started.pid
        line = self.started.stdout.readline()
        check(line == "ready\n", f"{command[0]} said {line!r}")
        self.tids = self.read_tids()

    def read_tids(self):
        return {int(tid) for tid in os.listdir(f"/proc/{self.pid}/task")}

    def cpu_ticks(self):
        fields = (
            pathlib.Path(f"/proc/{self.pid}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()
        )
        return int(fields[11]) + int(fields[12])

    def end(self, with_signal=signal.SIGKILL):
        os.kill(self.pid, with_signal)
        self.started.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.started.poll() is None:
            self.end()
        pathlib.Path(f"/tmp/perf-{self.pid}.map").unlink(missing_ok=True)
        self.folder.cleanup()


class BusyElsewhere(Busy):
    """Node in its own mount and pid namespaces, with a private /tmp."""

    SCRIPT = 'mount -t tmpfs own /tmp && cat <&3 >/tmp/busy.js && exec "$@" /tmp/busy.js'

    def __init__(self, *command):
        with open(PROGRAMS / "busy.js", "rb") as source:
            read_end = os.dup2(source.fileno(), 3, inheritable=True) if source.fileno() != 3 else 3
            os.set_inheritable(read_end, True)
            super().__init__(
                "unshare",
                "-m",
                "-p",
                "-f",
                "--mount-proc",
                "sh",
                "-c",
                self.SCRIPT,
                "sh",
                *command,
                pass_fds=(3,),
            )
        children = (
            pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children")
            .read_text(encoding="ascii")
            .split()
        )
        check(len(children) == 1, f"unshare has the children {children}")
        self.pid = int(children[0])
        self.tids = self.read_tids()


def record(busy, meanwhile=lambda daemon: None, length="2s"):
    """Stacks of the program's threads, outermost frame first, with how often each was seen."""
    with Daemon(library_event("work", PLANTED, "10s", length)) as daemon:
        wait_for(
            lambda: daemon.status()["unwinder"]["tables_waiting"] == 0,
            "the unwind tables to be made",
        )
        check(daemon.ask("trigger", event="work")["ok"], "the daemon does not record")
        wait_for(lambda: daemon.status()["state"] == "recording", "the recording to begin")
        meanwhile(daemon)
        (bundle,) = daemon.wait_for_bundles(1)
        seen = check_trace(bundle, EVERYTHING)["stacks"]
        busy.folded = subprocess.run(
            [LAGTRAP, "export", bundle], capture_output=True, text=True, check=True
        ).stdout
    stacks = []
    for stack, count in seen.items():
        tid, _, frames = stack.partition(":")
        if int(tid) in busy.tids:
            stacks.append((frames.split(";"), count))
    return stacks


def check_planted(stacks, inner, outer):
    """Nearly all samples are in the planted function, called by the other one."""
    total = sum(count for _, count in stacks)
    check(total >= LEAST_SAMPLES, f"only {total} samples of the program")
    planted = 0
    for frames, count in stacks:
        at = next(
            (place for place in reversed(range(len(frames))) if re.fullmatch(inner, frames[place])),
            0,
        )
        planted += count * (at > 0 and re.fullmatch(outer, frames[at - 1]) is not None)
    leaves = sorted(stacks, key=lambda entry: -entry[1])[:5]
    check(
        planted >= 0.9 * total,
        f"{planted} of {total} samples are in the planted function: {leaves}",
    )


def js(name):
    # Node 18: "LazyCompile:*name /busy.js:4", node 20: "JS:*name /busy.js:4:22".
    return rf"\w+:[*^~]{name} .*busy\.js(?::\d+)+"


def check_node(stacks):
    check_planted(stacks, js("plantedInner"), js("plantedOuter"))


def node_with_a_perf_map():
    with Busy(NODE, "--perf-basic-prof", NO_INLINING, PROGRAMS / "busy.js") as busy:
        check_node(record(busy))
        # "PROCESS;THREAD;FRAMES NANOSECONDS"
        lines = [
            line.rpartition(" ")
            for line in busy.folded.splitlines()
            if line.startswith("node;node;")
        ]
        hottest = max(lines, key=lambda line: int(line[2]))[0]
        check(
            re.search(rf";{js('plantedOuter')};{js('plantedInner')}$", hottest),
            f"the hottest folded stack is {hottest}",
        )


def node_interpreted():
    """Each interpreted function has its own piece of code in which the interpreter runs."""
    with Busy(
        NODE,
        "--perf-basic-prof",
        "--interpreted-frames-native-stack",
        "--no-opt",
        "--no-sparkplug",
        PROGRAMS / "busy.js",
    ) as busy:
        stacks = record(busy)
        check_node(stacks)
        check(
            any(
                re.fullmatch(js("plantedInner").replace("[*^~]", "~"), frame)
                for frames, _ in stacks
                for frame in frames
            ),
            "no interpreted function",
        )


def record_its_end(busy, end=None):
    """As record(), but the program is ended after computing for a third of a second of the
    recording."""

    def wait_and_end(daemon):
        begun, per_second = busy.cpu_ticks(), os.sysconf("SC_CLK_TCK")
        wait_for(lambda: busy.cpu_ticks() >= begun + per_second // 3, "the program to compute")
        (end or busy.end)()
        busy.started.wait(timeout=60)
        check(daemon.status()["state"] == "recording", "the recording ended before the program")

    return record(busy, wait_and_end, "6s")


def node_with_a_jitdump():
    """Node writes the last 2 MB of its jitdump when it ends, but not if it is killed."""
    with Busy(NODE, "--perf-prof", NO_INLINING, PROGRAMS / "busy.js", "stop") as busy:
        folder = pathlib.Path(busy.folder.name)
        check((folder / f"jit-{busy.pid}.dump").exists(), "node wrote no jitdump")
        check(not os.path.exists(f"/tmp/perf-{busy.pid}.map"), "there is a perf map too")
        check_node(record_its_end(busy, (folder / "stop").touch))


def node_ends_while_recorded():
    with Busy(NODE, "--perf-basic-prof", NO_INLINING, PROGRAMS / "busy.js") as busy:
        check_node(record_its_end(busy))


def misleading_map(busy):
    """A map with its outside process number, hidden by the process's own /tmp."""
    pathlib.Path(f"/tmp/perf-{busy.pid}.map").write_text(
        "0 7fffffffffffffff misleading\n", encoding="ascii"
    )


def node_in_its_own_namespaces():
    with BusyElsewhere(NODE, "--perf-basic-prof", NO_INLINING) as busy:
        misleading_map(busy)
        check_node(record(busy))


def node_ends_in_its_own_namespaces():
    """Its namespaces end with it, and then its /tmp is not mounted anywhere."""
    with BusyElsewhere(NODE, "--perf-basic-prof", NO_INLINING) as busy:
        misleading_map(busy)
        check_node(record_its_end(busy))


class JavaClasses:
    """The planted Java program, compiled, and its command."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-java-")
        subprocess.run([JDK / "javac", "-d", self.folder, PROGRAMS / "Busy.java"], check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def command(self, *flags):
        return [
            JDK / "java",
            "-XX:+PreserveFramePointer",
            "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=dontinline,Busy.planted*",
            *flags,
            "-cp",
            self.folder,
            "Busy",
        ]


def java(name):
    return rf".*\bBusy\.{name}\(int\)"


def check_java(stacks):
    check_planted(stacks, java("plantedInner"), java("plantedOuter"))


def java_with_a_perf_map():
    """The JVM writes its map on request."""
    with JavaClasses() as classes, Busy(*classes.command()) as busy:
        done = subprocess.run(
            [JDK / "jcmd", str(busy.pid), "Compiler.perfmap"], capture_output=True, text=True
        )
        check(done.returncode == 0, f"jcmd: {done.stdout} {done.stderr}")
        check_java(record(busy))


def java_writes_its_map_when_it_ends():
    with JavaClasses() as classes:
        with Busy(
            *classes.command("-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit")
        ) as busy:
            check_java(record_its_end(busy, lambda: busy.end(signal.SIGTERM)))


def python_functions():
    """Python says nothing about its functions: their names are read from its memory."""
    with Busy(PYTHON, PROGRAMS / "busy.py") as busy:
        stacks = record(busy)
        total = sum(count for _, count in stacks)
        check(total >= LEAST_SAMPLES, f"only {total} samples of the program")
        planted = 0
        for frames, count in stacks:
            of_script = [name for name in frames if name.startswith(("planted_", "<module>"))]
            planted += count * (
                of_script[:2] == ["<module> (busy.py)", "planted_outer"]
                and "planted_inner" in of_script
            )
        check(
            planted >= 0.9 * total,
            f"{planted} of {total} samples are in the planted functions: {stacks[:5]}",
        )


if __name__ == "__main__":
    run(
        node_with_a_perf_map,
        node_interpreted,
        node_with_a_jitdump,
        node_ends_while_recorded,
        node_in_its_own_namespaces,
        node_ends_in_its_own_namespaces,
        java_with_a_perf_map,
        java_writes_its_map_when_it_ends,
        python_functions,
    )
