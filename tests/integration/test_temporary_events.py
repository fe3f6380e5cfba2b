"""`lagtrap watch` with a running daemon: it watches a temporary event, which ends with its
client."""

import contextlib
import json
import os
import pathlib
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
    Daemon,
    check,
    require_bpf,
    run,
    unwrapped,
    wait_for,
)

NEVER = (
    '<event name="never" threshold="1h" trace-length="5min">'
    '<begin tracepoint="syscalls:sys_enter_sync"/>'
    '<end tracepoint="syscalls:sys_exit_sync"/></event>'
)
NOBODY = 65534
FOR_NOBODY = 'group="nogroup" trace="group"'


def service(control=""):
    """A daemon whose control socket grants the rights in `control`."""
    daemon = Daemon(NEVER, recording='cool-down="1h" captures-per-hour="1"')
    if control:
        text = daemon.settings_path.read_text()
        daemon.settings_path.write_text(text.replace("<control ", f"<control {control} "))
    return daemon


class Watcher:
    """A running watch, by the daemon."""

    def __init__(self, daemon, *words, user=None):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o777)
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen(
            [LAGTRAP, "watch", *[str(word) for word in words], "--socket", daemon.socket_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": self.folder.name},
            **who,
        )

    def __enter__(self):
        said = self.process.stderr.readline()
        check(said.startswith("Watching"), said)
        check(not list(pathlib.Path(self.folder.name).iterdir()), "it runs a daemon of its own")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    def end(self):
        output, errors = self.process.communicate(timeout=300)
        check(
            self.process.returncode == 0, f"ended with {self.process.returncode}: {output}{errors}"
        )
        return output, errors


def records(daemon):
    return list(daemon.spool.glob("clients/*/spool/captures/*"))


def start_server(world):
    server = world.start(PROGRAMS / "order_server", stdout=subprocess.PIPE, text=True)
    world.port = int(server.stdout.readline())
    return server


def order_slowly(world, until):
    """Sends an order to a waiting server, but only once `until` returns true."""
    with socket.create_connection(("127.0.0.1", world.port)) as connection:
        wait_for(until, "the moment to order")
        connection.sendall(b"1")
        check(connection.recv(8) == b"ok\n", "no answer")


def orders(over="200ms"):
    return "--function", "serve_order", "--in", PROGRAMS / "order_server", "--over", over


def is_over(daemon):
    return not daemon.status()["temporary"] and not list(daemon.spool.glob("clients/watch-*"))


def a_delay_is_reported():
    """The event is in the status with its owner, and takes nothing from the events of the
    settings."""
    with World() as world, service() as daemon:
        start_server(world)
        with Watcher(daemon, *orders()) as watch:
            temporary = daemon.status()["temporary"]
            check(
                [(one["event"], one["user"]) for one in temporary]
                == [("order_server-serve_order", 0)],
                temporary,
            )
            order_slowly(world, lambda: records(daemon))
            output, errors = watch.end()
        check("order_server-serve_order took" in unwrapped(output) and "network" in output, output)
        check("1 run was too slow" in errors, errors)
        wait_for(lambda: is_over(daemon), "the event to end")
        status = daemon.status()
        check(
            status["state"] == "waiting" and status["captures"]["done"] == 0,
            f"{status['state']} {status['captures']}",
        )
        check([event["name"] for event in status["events"]] == ["never"], status["events"])
        check(daemon.event("never")["without_recordings"] is None, "a cool-down")
        check(not daemon.bundles(), daemon.bundles())


def it_ends_with_its_client():
    """kill -9 of the client leaves no process and no file."""
    with service() as daemon, Watcher(daemon, *orders("1h")) as watch:
        child = daemon.status()["temporary"][0]["pid"]
        watch.process.kill()
        wait_for(lambda: is_over(daemon), "the event to end")
        check(not pathlib.Path("/proc", str(child)).exists(), "its lagtrapd still runs")


def it_ends_with_the_service():
    with service() as daemon, Watcher(daemon, *orders("1h")) as watch:
        child = daemon.status()["temporary"][0]["pid"]
        daemon.kill()
        wait_for(lambda: not pathlib.Path("/proc", str(child)).exists(), "its lagtrapd to end")
        wait_for(lambda: not list(daemon.spool.glob("clients/watch-*")), "its files to go")
        _, errors = watch.process.communicate(timeout=60)
        check(watch.process.returncode == 1 and "lagtrapd has exited" in errors, errors)


def a_reload_keeps_it():
    with World() as world, service() as daemon:
        start_server(world)
        with Watcher(daemon, *orders()) as watch:
            before = daemon.status()
            daemon.write_settings(NEVER.replace('"never"', '"ever"'))
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: daemon.status()["events"][0]["name"] == "ever", "the reload")
            check(
                daemon.status()["temporary"][0]["pid"] == before["temporary"][0]["pid"],
                "another process",
            )
            order_slowly(world, lambda: records(daemon))
            check("order_server-serve_order took" in unwrapped(watch.end()[0]), "no report")


def the_right_to_trace_is_enough():
    """A user with it needs no root, and has two events at most; without it, the event ends."""
    with World() as world, service(FOR_NOBODY) as daemon:
        start_server(world)
        with Watcher(daemon, *orders(), user=NOBODY) as watch:
            with Watcher(daemon, "--syscall", "fsync", "--over", "1h", user=NOBODY) as other:
                users = [one["user"] for one in daemon.status()["temporary"]]
                check(users == [NOBODY, NOBODY], users)
                third = Watcher(daemon, *orders("1h"), user=NOBODY)
                _, errors = third.process.communicate(timeout=60)
                check(
                    third.process.returncode == 1 and "already has 2 temporary events" in errors,
                    errors,
                )
                other.process.kill()
            order_slowly(world, lambda: records(daemon))
            output, _ = watch.end()
            check(
                "order_server-serve_order took" in unwrapped(output) and "network" in output, output
            )
        with Watcher(daemon, *orders("1h"), user=NOBODY) as watch:
            daemon.write_settings(NEVER)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: is_over(daemon), "the event to end")
            check(watch.process.wait(timeout=60) == 1, "the client goes on")


def a_preset_is_watched():
    """One lagtrapd watches all its events."""
    with service(FOR_NOBODY) as daemon:
        with Watcher(daemon, "--preset", "fsync", "--over", "1h", user=NOBODY) as watch:
            temporary = [(one["event"], one["user"]) for one in daemon.status()["temporary"]]
            check(temporary == [("fsync", NOBODY)], temporary)
            for call in (os.fsync, os.fdatasync):
                with tempfile.TemporaryFile() as file:
                    call(file)
            watch.process.send_signal(signal.SIGINT)
            _, errors = watch.end()
            check("0 runs were too slow" in errors, errors)
        wait_for(lambda: is_over(daemon), "the events to end")


def a_user_with_the_right_asks_why():
    """Without root: about another user's process, and about a command."""

    def why(*words):
        return subprocess.run(
            [LAGTRAP, "why", "--socket", daemon.socket_path, *[str(word) for word in words]],
            capture_output=True,
            text=True,
            timeout=300,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )

    with World() as world, service(FOR_NOBODY) as daemon:
        server = start_server(world)
        said = why(server.pid, "--for", "500ms")
        check(said.returncode == 0 and "order_server" in said.stdout, said.stdout + said.stderr)
        said = why("--", "/bin/sh", "-c", "sleep 0.3; exit 3")
        check(said.returncode == 3 and "sleep" in said.stderr, said.stdout + said.stderr)
        wait_for(lambda: is_over(daemon), "the events to end")
        check(not daemon.bundles(), daemon.bundles())
    with service('read="anyone"') as daemon:
        said = why("--", "/bin/true")
        check(said.returncode == 125 and "may not trace" in said.stderr, said.stderr)


def without_the_right_it_says_so():
    with service('read="anyone"') as daemon:
        refused = Watcher(daemon, *orders("1h"), user=NOBODY)
        _, errors = refused.process.communicate(timeout=60)
        check(
            refused.process.returncode == 1
            and "may not trace" in errors
            and "needs root" in errors,
            errors,
        )
        check(is_over(daemon), "a temporary event")


@contextlib.contextmanager
def connection_to(daemon):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(str(daemon.socket_path))
        yield connection


def bad_events_are_refused():
    def refusal(event):
        answer = daemon.ask("watch", event=event)
        check(not answer["ok"], answer)
        return answer["error"]

    begin = (
        '<event name="a" threshold="1s"><begin tracepoint="syscalls:sys_enter_sync"/>'
        '<end tracepoint="syscalls:sys_exit_sync"/>'
    )
    with service() as daemon:
        check("has no <functions>" in refusal(begin + "<functions/></event>"), "functions")
        check(
            "expected a string of at most 16384 bytes" in refusal(begin + " " * 20000 + "</event>"),
            "size",
        )
        check(
            "event:1:" in refusal(begin + '</event><upload url="https://localhost"/>'),
            "more than the event",
        )
        check(is_over(daemon), "a temporary event")
        # What only the machine can tell comes from the lagtrapd that was started for it.
        with connection_to(daemon) as connection:
            event = begin.replace("sys_enter_sync", "no_such_call") + "</event>"
            connection.sendall(json.dumps({"command": "watch", "event": event}).encode() + b"\n")
            lines = connection.makefile()
            check(json.loads(lines.readline())["ok"], "refused")
            connection.sendall(b'{"command":"status"}\n')
            answer = json.loads(lines.readline())
            check("no_such_call" in json.dumps(answer), answer)


def a_stuck_client_keeps_nobody_waiting():
    """One that asks and never reads makes only its own event wait."""
    with service() as daemon, connection_to(daemon) as stuck:
        stuck.sendall(json.dumps({"command": "watch", "event": NEVER}).encode() + b"\n")
        wait_for(lambda: daemon.status()["temporary"], "the event")
        stuck.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                stuck.send(b'{"command":"status"}\n' * 1000)
        with Watcher(daemon, "--syscall", "fsync", "--over", "1h"):
            check(len(daemon.status()["temporary"]) == 2, daemon.status()["temporary"])
        stuck.close()
        wait_for(lambda: is_over(daemon), "the events to end")


if __name__ == "__main__":
    require_bpf()
    run(
        a_delay_is_reported,
        it_ends_with_its_client,
        it_ends_with_the_service,
        a_reload_keeps_it,
        the_right_to_trace_is_enough,
        a_preset_is_watched,
        a_user_with_the_right_asks_why,
        without_the_right_it_says_so,
        bad_events_are_refused,
        a_stuck_client_keeps_nobody_waiting,
    )
