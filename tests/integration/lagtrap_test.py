"""Shared by the integration tests: the daemon under test, the programs it watches, and waiting
for conditions.

Each test is a separate program: it exits with 0, with 1 and a reason, or with 77 and a reason if
the machine cannot run it (no root, no BPF). LAGTRAP_BUILD_DIR is the build directory.
"""

import atexit
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

SKIP_EXIT_CODE = 77
BUILD_DIR = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", "build/ci")).resolve()
SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]

LAGTRAPD = BUILD_DIR / "daemon" / "lagtrapd"
LAGTRAP = BUILD_DIR / "cli" / "lagtrap"
UPLOADER = BUILD_DIR / "uploader" / "lagtrap-uploader"
SERVER = BUILD_DIR / "server" / "lagtrap-server"


def own_copies(folder):
    """A copy of the programs in a folder for this test only, removed when it ends. Events are by
    file: other tests' processes of the same program then run other files, and several tests may
    run at once."""
    if not folder.exists():  # builds for benchmarks have no test programs
        return folder
    own = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-programs-"))
    own.chmod(0o755)  # unprivileged users run them too
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    shutil.copytree(
        folder,
        own,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("CMakeFiles", "go-*", "*.cmake", "*.a"),
    )
    return own


PROGRAMS = own_copies(BUILD_DIR / "tests" / "integration" / "programs")
EXAMPLES = own_copies(BUILD_DIR / "examples")
PLANTED = EXAMPLES / "planted_delays"
BURST = EXAMPLES / "burst"
MAKE_BUNDLE = BUILD_DIR / "server" / "make_bundle"
MAKE_RUNS = BUILD_DIR / "server" / "make_runs"
# When the output of these two was recorded: a server accepts no run from more than 400 days ago or
# from the future. It stays the same while a test runs, so that the same seed gives the same bytes.
RECORDED_SINCE_S = (int(time.time()) // 86400 - 60) * 86400


class TestFailure(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise TestFailure(message)


def unwrapped(text):
    """In one line: where a report breaks its lines depends on figures and names."""
    return " ".join(text.split())


def wait_for(condition, what, seconds=60):
    """Polls until condition() returns something true, and returns that; after `seconds`, fails
    with the text `what` (or its result, if it is callable)."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TestFailure(
                f"waited {seconds} s in vain for {what() if callable(what) else what}"
            )
        time.sleep(0.02)


def sanitized(program):
    """Whether it was built with a sanitizer."""
    return any(
        name in pathlib.Path(program).read_bytes() for name in (b"__asan_init", b"__tsan_init")
    )


def check_memory(program, peak_bytes, limit_bytes, what):
    """Prints the peak memory of a program, and fails from `limit_bytes` on. A sanitizer's memory
    (shadow, freed blocks that it keeps) is not the program's, so with a sanitizer the figure is
    only printed."""
    judged = not sanitized(program)
    print(
        f"{what}: {peak_bytes / (1 << 20):.1f} MiB at the "
        f"most{'' if judged else ', not judged: a sanitizer is inside'}",
        file=sys.stderr,
    )
    check(
        not judged or peak_bytes < limit_bytes,
        f"{what}: {peak_bytes} bytes, {limit_bytes} are allowed",
    )


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP_EXIT_CODE)


def require_bpf():
    if os.geteuid() != 0:
        skip("BPF programs and system-wide perf events need root")
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        skip("the kernel has no BTF (/sys/kernel/btf/vmlinux)")


class Daemon:
    """A lagtrapd with its own settings, spool and control socket in a temporary folder."""

    def __init__(
        self,
        events,
        recording='cool-down="100ms" captures-per-hour="1000"',
        more="",
        options=(),
        budget='disable="none"',
        prefix=(),
    ):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-test-"))
        os.chmod(self.folder, 0o755)
        self.spool = self.folder / "spool"
        self.socket_path = self.folder / "control.sock"
        self.settings_path = self.folder / "settings.xml"
        self.log_path = self.folder / "lagtrapd.log"
        self.recording, self.more, self.options = recording, more, options
        self.budget = (
            budget  # tests make hits as fast as the machine can, and must not depend on its speed
        )
        self.prefix = prefix  # a command that becomes the daemon
        self.expect_armed = True
        self.await_arming = True  # otherwise READY is enough
        self.write_settings(events)
        self.process = None

    def write_settings(self, events):
        self.settings_path.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<lagtrap version="1">\n'
            f"<recording {self.recording}/>\n<budget {self.budget}/>\n{self.more}\n"
            f'<spool path="{self.spool}"/>\n<control socket="{self.socket_path}"/>\n{events}\n'
            "</lagtrap>\n"
        )

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if kind is not None and self.log_path.exists():
            print("--- log of the daemon\n" + self.log_path.read_text(errors="replace") + "---")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        """Starts the daemon and waits until it reports that it is ready, as systemd would."""
        notify_path = str(self.folder / "notify.sock")
        if os.path.exists(notify_path):
            os.unlink(notify_path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(notify_path)
            notify.settimeout(0.1)
            with open(self.log_path, "ab") as log:
                self.process = subprocess.Popen(
                    [*self.prefix, LAGTRAPD, "--settings", self.settings_path, *self.options],
                    stdout=log,
                    stderr=log,
                    env={**os.environ, "NOTIFY_SOCKET": notify_path},
                )

            def ready():
                check(
                    self.process.poll() is None,
                    "lagtrapd ended: " + self.log_path.read_text(errors="replace"),
                )
                try:
                    return b"READY=1" in notify.recv(4096)
                except TimeoutError:
                    return False

            wait_for(ready, "the daemon to be ready")
        if self.await_arming:
            wait_for(lambda: self.status()["arming"] is None, "the events to be armed")
        for event in self.status()["events"] if self.expect_armed else ():
            check(event["armed"], f"event {event['name']} is not armed: {event['problem']}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, command, **arguments):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(120)  # as long as the service's watchdog waits
            connection.connect(str(self.socket_path))
            connection.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = connection.recv(1 << 16)
                check(part, f"the daemon hung up: {answer!r}")
                answer += part
        return json.loads(answer)

    def status(self):
        answer = self.ask("status")
        check(answer["ok"], f"status: {answer}")
        return answer

    def event(self, name):
        return next(event for event in self.status()["events"] if event["name"] == name)

    def bundles(self):
        ready = self.spool / "ready"
        return sorted(ready.glob("*.lagtrap.tar.zst")) if ready.exists() else []

    def wait_until_recorded(self):
        """Returns when a running recording has ended; its merge may still run."""
        wait_for(lambda: self.status()["state"] != "recording", "the recording to end")

    def wait_for_bundles(self, count, seconds=90):
        """The bundles, once there are `count` of them and no capture is running or waiting for
        its merge."""

        def settled():
            status = self.status()
            check(
                status["captures"]["failed"] == 0,
                f"a capture failed: {self.log_path.read_text(errors='replace')}",
            )
            return status["captures"]["done"] >= count and status["state"] in (
                "waiting",
                "cooling-down",
            )

        try:
            wait_for(settled, f"{count} bundles", seconds)
        except TestFailure as failure:
            raise TestFailure(f"{failure}; the daemon says {self.ask('status')}") from failure
        return self.bundles()

    def wait_for_newest_bundle(self, count):
        """The newest of `count` bundles; their names are not in order of time."""
        return max(self.wait_for_bundles(count), key=lambda bundle: bundle.stat().st_mtime_ns)

    def log(self):
        return self.log_path.read_text(errors="replace")


class OwnedProcess:
    """Has a process as `process`, which is killed at the end of a with-statement if it is still
    running."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Watched(OwnedProcess):
    """A program that waits for "go" before it begins (`--wait`), so that a test can arm first."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        check(
            self.process.stdout.readline() == "ready\n",
            f"{command[0]} did not say that it is ready",
        )

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def result(self, seconds=120):
        """The program's output at its end, a JSON object."""
        output, _ = self.process.communicate(timeout=seconds)
        check(
            self.process.returncode == 0,
            f"the watched program ended with {self.process.returncode}",
        )
        return json.loads(output.strip().splitlines()[-1])


def library_event(name, binary, threshold, trace_length="1s", stages=(), more="", attributes=""):
    """For this file only, unless the attributes say otherwise: the same program may run
    elsewhere on the machine."""
    if "copies=" not in attributes:
        attributes += ' copies="none"'
    listed = "".join(f'<stage name="{stage}"/>' for stage in stages)
    return (
        f'<event name="{name}" threshold="{threshold}" trace-length="{trace_length}" '
        f'{attributes}>{more}<library binary="{pathlib.Path(binary).resolve()}">{listed}</library>'
        "</event>"
    )


def make_bundle(folder, seed=0, host="host", event="query", session=None, since_s=RECORDED_SINCE_S):
    """Writes a small real bundle to the folder; returns its path."""
    made = subprocess.run(
        [MAKE_BUNDLE, session or str(uuid.uuid4()), host, folder, str(seed), str(since_s), event],
        capture_output=True,
        text=True,
        check=True,
    )
    return pathlib.Path(made.stdout.strip())


def make_runs(
    path, seed, host="host", event="query", count=60, lost=0, since_s=RECORDED_SINCE_S, slower=None
):
    """Writes a batch of runs to `path`; slower=(FACTOR, BUILD) makes them that many times as
    long, all of one build."""
    subprocess.run(
        [
            MAKE_RUNS,
            host,
            event,
            str(count),
            str(seed),
            str(since_s),
            str(lost),
            path,
            *map(str, slower or ()),
        ],
        check=True,
    )


def report(bundle):
    """`lagtrap report --json` of a bundle."""
    done = subprocess.run(
        [LAGTRAP, "report", "--json", bundle], capture_output=True, text=True, timeout=120
    )
    check(done.returncode == 0, f"lagtrap report: {done.stderr}")
    return json.loads(done.stdout)


def decode_trace(path, limit=0):
    """The independent decoder's result for a trace."""
    done = subprocess.run(
        [sys.executable, "-B", SOURCE_DIR / "tests/data/trace/decode_trace.py", path, str(limit)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    check(done.returncode == 0, f"the trace is not sound: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def check_trace(bundle, limit=0):
    """Decodes the merged trace with the independent decoder; returns its summary, with up to
    `limit` of each thing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "--zstd", "-xf", bundle, "-C", folder], check=True)
        return decode_trace(pathlib.Path(folder) / "trace.pftrace", limit)


at_end = []  # what run() calls after the tests; a failure fails the program


def chosen(tests):
    """The test functions named on the command line, or after "--but" all others; without names
    all."""
    names = sys.argv[1:]
    others = names[:1] == ["--but"]
    names = names[1:] if others else names
    unknown = set(names) - {test.__name__ for test in tests}
    if unknown:
        sys.exit(
            f"there is no test {', '.join(sorted(unknown))}; "
            f"there are {', '.join(test.__name__ for test in tests)}"
        )
    left = [test for test in tests if not names or (test.__name__ in names) != others]
    return left or sys.exit("no test is left")


def run(*tests):
    """Runs the test functions in order; returns the program's exit code."""
    require_bpf()
    failed = []
    for test in [*chosen(tests), *at_end]:
        begun = time.monotonic()
        try:
            test()
            print(f"ok      {test.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Exception:  # a test may fail in any way, but the others must run
            failed.append(test.__name__)
            print(f"FAILED  {test.__name__}", flush=True)
            traceback.print_exc(file=sys.stdout)
    print(f"{len(failed)} failed" + (": " + ", ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)
