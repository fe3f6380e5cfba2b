"""Reports of programs whose cause of delay is known: what a person reads first must name it, and
nobody innocent.

The guilty function is in the first five lines of the report's functions, and a sentence gives
the cause. All of this holds while other programs keep the CPUs busy.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys

from lagtrap_test import (
    LAGTRAP,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    report,
    run,
    wait_for,
)

CAUSES = PROGRAMS / "causes"
SLOW_MS = 300


def function_event(binary, function="handle_request", threshold="60ms", trace_length="700ms"):
    return (
        f'<event name="request" threshold="{threshold}" trace-length="{trace_length}">'
        f'<function name="{function}" binary="{pathlib.Path(binary).resolve()}"/></event>'
    )


class Busy(OwnedProcess):
    """A program that computes forever, at the default priority."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])


class Told:
    """The report of the delay that it shows by itself, as text and as JSON."""

    def __init__(self, bundle):
        done = subprocess.run(
            [LAGTRAP, "report", bundle],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={"COLUMNS": "200"},
        )
        self.text = done.stdout
        shown = re.search(r"\(delay (\d+) of \d+\)", self.text)
        self.delay = report(bundle)["delays"][int(shown[1]) - 1 if shown else 0]
        self.sentences = self.delay["cause"]["sentences"]

    def section(self, title):
        """Lines of a section, without its title."""
        lines = self.text.splitlines()
        begin = next((number for number, line in enumerate(lines) if line.startswith(title)), None)
        check(begin is not None, f"the report has no section {title}:\n{self.text}")
        end = next((number for number in range(begin, len(lines)) if not lines[number]), len(lines))
        return lines[begin + 1 : end]

    def check_function(self, name):
        shown = "\n".join(self.section("Functions")[:5])
        check(
            name in shown,
            f"{name} is not among the first five lines of the functions:\n{self.text}",
        )

    def check_sentence(self, *parts):
        """One of the sentences has these parts in this order; the text's section has the same
        sentences."""

        def has_all(sentence):
            at = 0
            for part in parts:
                at = sentence.find(part, at) + 1
                if at == 0:
                    return False
            return True

        check(
            any(has_all(sentence) for sentence in self.sentences),
            f"no sentence says {parts}: {self.sentences}",
        )
        shown = " ".join(" ".join(self.section("Cause")).split())
        check(
            all(" ".join(sentence.split()) in shown for sentence in self.sentences),
            f"not told: {self.text}",
        )


def causes(kind, busy=0, options=()):
    with Daemon(function_event(CAUSES)) as daemon:
        # Only until it is recorded: a merge begins at the lowest priority, and takes longer beside
        # them.
        with contextlib.ExitStack() as others, Watched(*options, CAUSES, kind, SLOW_MS) as program:
            for _ in range(busy):
                others.enter_context(Busy())
            ids = program.go().result()
            daemon.wait_until_recorded()
        return Told(daemon.wait_for_bundles(1)[0]), ids


def check_chain(told, ids):
    first, second, third = ids["tids"]
    told.check_function("handle_chain")
    told.check_sentence(
        "for a lock in handle_chain",
        f"holder-a ({first}) held",
        "for a lock in first_wants_b",
        f"holder-b ({second}) held",
        "for a lock in second_wants_c",
        f"holder-c ({third}) held",
        "called by third_holds_c",
    )


def chain_of_locks():
    check_chain(*causes("chain"))


def chain_of_locks_on_busy_cpus():
    told, ids = causes("chain", busy=3)
    check_chain(told, ids)


def computing():
    told, _ = causes("compute")
    told.check_function("compute_for")
    told.check_sentence("Computed for", "in compute_for")


def nap():
    told, _ = causes("nap", busy=3)
    told.check_function("take_a_nap")
    told.check_sentence("Slept", "in take_a_nap", "until its timer")
    # They may be named for the wait for a CPU after the nap.
    check(
        not any(
            "python" in sentence for sentence in told.sentences if sentence.startswith("Slept")
        ),
        f"who computed is blamed: {told.sentences}",
    )


def signal():
    told, ids = causes("signal")
    told.check_function("await_producer")
    told.check_sentence(
        "for a signal from another thread in await_producer",
        f"producer ({ids['tids'][0]}) gave it",
        "called by produce",
    )


def pipe():
    told, ids = causes("pipe")
    told.check_function("ask_child")
    told.check_sentence("on a pipe in ask_child", f"({ids['child']})", "called by answer_over_pipe")


def taken_cpu():
    """On one CPU with a computing real-time thread; if that is not allowed, with ordinary
    threads."""
    hog = [
        "taskset",
        "-c",
        "0",
        "chrt",
        "-f",
        "40",
        sys.executable,
        "-c",
        f"import time\nprint(flush=True)\ninput()\nend = time.monotonic() + {SLOW_MS / 1000}\n"
        "while time.monotonic() < end: pass",
    ]
    permitted = subprocess.run(["chrt", "-f", "40", "true"], capture_output=True).returncode == 0
    if not permitted:
        hog = hog[:3] + hog[6:]
    with Daemon(function_event(CAUSES, trace_length="3s")) as daemon:
        with Watched("taskset", "-c", "0", CAUSES, "compute", 5 * SLOW_MS) as program:
            taken = subprocess.Popen(hog, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            check(taken.stdout.readline() == b"\n", "who takes the CPU did not start")
            program.go()
            wait_for(
                lambda: daemon.status()["state"] == "recording",
                "the recording that the run's deadline begins",
            )
            taken.communicate(b"\n")
            program.result()
        told = Told(daemon.wait_for_bundles(1)[0])
    if permitted:
        told.check_sentence("for a CPU", " while ", f"({taken.pid}, real-time priority 40)")
    told.check_sentence("Computed for", "in compute_for")


# Keeps other load from making a fast call slow; if refused, nothing else changes.
FIRST = ("nice", "-n", "-15")


def sqlite_sorts():
    program = shutil.which("sqlite3")
    check(program is not None, "sqlite3 is missing")
    statement = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) "
        "SELECT count(*) FROM (SELECT i * 7919 % 1000003 AS v FROM n ORDER BY v);\n"
    )
    library = next(
        line.split()[2]
        for line in subprocess.run(
            ["ldd", program], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        if "libsqlite3" in line
    )
    with Daemon(function_event(library, "sqlite3_step", "60ms", "1s")) as daemon:
        subprocess.run(
            [*FIRST, program, ":memory:"],
            input=statement,
            text=True,
            capture_output=True,
            check=True,
        )
        told = Told(daemon.wait_for_bundles(1)[0])
    told.check_sentence("Computed for", "libsqlite3")
    told.check_function("sqlite3_step")


def python_compresses():
    program = "/usr/bin/python3"
    script = (
        "import zlib, os\ndata = os.urandom(1 << 16) * 300\n"
        "for _ in range(3): zlib.compress(data, 9)\n"
    )
    with Daemon(
        function_event("/usr/lib/x86_64-linux-gnu/libz.so.1", "deflate", "60ms", "700ms")
    ) as daemon:
        subprocess.run([*FIRST, program, "-c", script], check=True)
        told = Told(daemon.wait_for_bundles(1)[0])
    told.check_function("deflate")
    told.check_sentence("Computed for", "deflate (libz)")
    check(
        "import zlib" in told.delay["command_line"],
        f"the command line is {told.delay['command_line']!r}",
    )
    check("command   " + program in told.text, f"the command line is not shown:\n{told.text}")


if __name__ == "__main__":
    run(
        chain_of_locks,
        chain_of_locks_on_busy_cpus,
        computing,
        nap,
        signal,
        pipe,
        taken_cpu,
        sqlite_sorts,
        python_compresses,
    )
