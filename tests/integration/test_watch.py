"""`lagtrap watch` explains the next slow run as it happens, without settings and without a
service."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from case import World  # noqa: E402  (the path is set above)
from lagtrap_test import (  # noqa: E402
    LAGTRAP,
    PROGRAMS,
    check,
    require_bpf,
    run,
    unwrapped,
    wait_for,
)


LOG_HEADER_BYTES = 4096  # at most


class Watcher:
    """A running watch with its own temporary folder."""

    def __init__(self, *words, says="Watching"):
        self.says = says
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [LAGTRAP, "watch", *[str(word) for word in words], "--socket", "/none"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": self.folder.name},
        )

    def __enter__(self):
        said = self.process.stderr.readline()
        check(self.says in said, said)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        wait_for(lambda: not list(pathlib.Path(self.folder.name).iterdir()), "its files to go")
        self.folder.cleanup()

    def records(self):
        """Whether something is recorded, not only a folder made for it."""
        logs = pathlib.Path(self.folder.name).glob("*/spool/captures/*/kernel.log")
        return any(log.stat().st_size > LOG_HEADER_BYTES for log in logs)

    def end(self):
        output, errors = self.process.communicate(timeout=300)
        check(
            self.process.returncode == 0, f"ended with {self.process.returncode}: {output}{errors}"
        )
        return output, errors


def start_server(world, program=PROGRAMS / "order_server"):
    server = world.start(program, stdout=subprocess.PIPE, text=True)
    world.port = int(server.stdout.readline())
    return server


def order_slowly(world, until):
    """Sends an order to a waiting server, but only once `until` returns true."""
    with socket.create_connection(("127.0.0.1", world.port)) as connection:
        wait_for(until, "the moment to order")
        connection.sendall(b"1")
        check(connection.recv(8) == b"ok\n", "no answer")


def a_slow_call_is_explained():
    with World() as world:
        server = start_server(world)
        with Watcher(
            "--function",
            "serve_order",
            *("--stage", "find_stock", "--stage", "compute_price"),
            *("--in", server.pid, "--over", "200ms", "--save", "--full"),
            *("--keep", world.folder / "kept"),
        ) as watch:
            order_slowly(world, watch.records)
            output, errors = watch.end()
        (kept,) = (world.folder / "kept").iterdir()
        again = subprocess.run(
            [LAGTRAP, "report", kept], capture_output=True, text=True, timeout=300, check=True
        ).stdout
        check("order_server-serve_order took" in unwrapped(again) and "find_stock" in again, again)
    check(
        "order_server-serve_order took" in unwrapped(output)
        and "Cause" in output
        and "network" in output,
        output,
    )
    check("\nThe recording" in output, f"not the full report: {output}")
    check("1 run was too slow" in errors, errors)
    check('<function name="' in output and "<scope" not in output, output)
    check('<stage name="find_stock" function="' in output, output)


def a_system_call_is_watched():
    with World() as world, Watcher(
        "--syscall", "read", "--in", PROGRAMS / "order_server", "--over", "200ms"
    ) as watch:
        start_server(world)
        order_slowly(world, watch.records)
        output, _ = watch.end()
        check("order_server-read took" in unwrapped(output), output)


def a_process_is_watched_in_the_file_that_it_runs():
    """Another program has the name of the file since the process began, as after an upgrade."""
    with World() as world:
        program = world.folder / "order_server"
        shutil.copy(PROGRAMS / "order_server", program)
        server = start_server(world, program)
        program.unlink()
        shutil.copy("/usr/bin/true", program)
        with Watcher("--function", "serve_order", "--in", server.pid, "--over", "200ms") as watch:
            order_slowly(world, watch.records)
            output, _ = watch.end()
        check("order_server-serve_order took" in unwrapped(output), output)


def a_command_is_watched_from_its_begin():
    """The first call of a process that it starts is slow; its exit status is that of the watch."""
    nap = "/usr/bin/python3 -c 'import time; time.sleep(0.5)'; exit 3"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(LAGTRAP, "watch", "--syscall", "clock_nanosleep", "--over", "100ms"),
                *("--count", "9", "--socket", "/none", "--", "/bin/sh", "-c", nap),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "TMPDIR": folder},
        )
        check(done.returncode == 3, f"ended with {done.returncode}: {done.stdout}{done.stderr}")
        check(
            "clock_nanosleep took" in unwrapped(done.stdout) and "sleep" in done.stdout, done.stdout
        )
        check("1 run was too slow." in done.stderr, done.stderr)
        wait_for(lambda: not os.listdir(folder), "its files to go")


def tracepoints_are_paired_by_a_key():
    """The end comes in another process: a child that exits."""
    with Watcher(
        *("--tracepoint", "sched:sched_process_exec", "--until", "sched:sched_process_exit"),
        *("--key", "pid", "--over", "100ms", "--save"),
    ) as watch:
        subprocess.run(["/usr/bin/sleep", "0.3"], check=True)
        output, errors = watch.end()
    check("machine-sched_process_exec took" in unwrapped(output), output)
    check('<key scope="machine"/>' in output, output)
    check("slow" in errors and " from " in errors and "#" in errors, errors)


def a_threshold_is_chosen():
    with World() as world:
        server = start_server(world)
        settings = world.folder / "settings.xml"
        settings.write_text('<lagtrap version="1">\n</lagtrap>\n')
        with Watcher(
            *("--function", "serve_order", "--in", server.pid),
            *("--write", "--settings", settings),
            says="Looking at runs",
        ) as watch:
            order_slowly(world, lambda: True)
            said = ""
            while "Watching" not in said:
                line = watch.process.stderr.readline()
                check(line, f"it ended: {said}")
                said += line
            check("are slow" in " ".join(said.split()), said)
            order_slowly(world, watch.records)
            output, _ = watch.end()
        check(
            "order_server-serve_order took" in unwrapped(output) and "Written to" in output, output
        )
        check('<event name="order_server-serve_order" threshold="' in settings.read_text(), output)


def probes_are_paired():
    """The pair of probes of the query is chosen, not those of its parts, whose names begin the same
    way."""
    postgres = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not postgres:
        return print("no PostgreSQL here")
    with Watcher(
        "--usdt", "postgresql:query", "--in", postgres[-1], "--over", "1h", "--save"
    ) as watch:
        watch.process.send_signal(signal.SIGINT)
        output, _ = watch.end()
    check('<usdt provider="postgresql" name="query"/>' in output, output)


def an_interrupt_sums_up():
    with World() as world:
        server = start_server(world)
        with Watcher("--function", "serve_order", "--in", server.pid, "--over", "1h") as watch:
            for _ in range(3):
                order_slowly(world, lambda: True)
            watch.process.send_signal(signal.SIGINT)
            output, errors = watch.end()
        check("0 runs were too slow" in errors and not output, output + errors)


def what_is_wrong_is_said():
    def fails(text, *words):
        done = subprocess.run(
            [LAGTRAP, "watch", "--socket", "/none", *[str(word) for word in words]],
            capture_output=True,
            text=True,
            timeout=300,
        )
        check(
            done.returncode == 1 and text in done.stderr,
            f"{words}: {done.returncode} {done.stdout}{done.stderr}",
        )

    program = PROGRAMS / "order_server"
    fails("one of --function", "--over", "1s")
    fails("--in is missing", "--function", "serve_order", "--over", "1s")
    fails("--over is missing", "--syscall", "read", "--", program)
    fails("--until is missing", "--tracepoint", "sched:sched_switch", "--over", "1s")
    fails("--over 5: ", "--function", "serve_order", "--in", program, "--over", "5")
    fails("has no pair of probes", "--usdt", "shop:order", "--in", program, "--over", "1s")
    fails("no_such_function", "--function", "no_such_function", "--in", program, "--over", "1s")
    fails("no_such_call", "--syscall", "no_such_call", "--over", "1s")
    fails("no-such-preset", "--preset", "no-such-preset")


if __name__ == "__main__":
    require_bpf()
    run(
        a_slow_call_is_explained,
        a_system_call_is_watched,
        a_process_is_watched_in_the_file_that_it_runs,
        a_command_is_watched_from_its_begin,
        tracepoints_are_paired_by_a_key,
        a_threshold_is_chosen,
        probes_are_paired,
        an_interrupt_sums_up,
        what_is_wrong_is_said,
    )
