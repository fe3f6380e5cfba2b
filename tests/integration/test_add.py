"""`lagtrap add`: from an unknown program to an event that is watched."""

import json
import os
import pathlib
import pty
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from case import World  # noqa: E402  (the path is set above)
from control_groups import command_in, group  # noqa: E402
from lagtrap_test import LAGTRAP, PROGRAMS, Daemon, check, run, wait_for  # noqa: E402
from servers import Redis  # noqa: E402

SERVER = PROGRAMS / "order_server"


class Load:
    """Does something over and over until it ends."""

    def __init__(self, action):
        self.action, self.stop = action, threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.stop.wait(0.002):
            self.action()

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def start_server(world, folder=None, program=SERVER):
    world.server = world.start(
        *(command_in(folder, program) if folder else [program]), stdout=subprocess.PIPE, text=True
    )
    world.port = int(world.server.stdout.readline())


def order(world, number=3):
    with socket.create_connection(("127.0.0.1", world.port)) as connection:
        connection.sendall(str(number).encode())
        check(connection.recv(8) == b"ok\n", "no answer")


def add(*words, code=0, **more):
    done = subprocess.run(
        [LAGTRAP, "add", *[str(word) for word in words]],
        capture_output=True,
        text=True,
        timeout=300,
        **more,
    )
    check(
        done.returncode == code,
        f"lagtrap add ended with {done.returncode}: {done.stdout}{done.stderr}",
    )
    return done


def requests_are_found():
    """The function that handles each request comes first; neither the loop around it nor main is
    offered."""
    with World() as world:
        start_server(world)
        with Load(lambda: order(world)):
            told = json.loads(add(world.server.pid, "--for", "2s", "--json").stdout)
        titles = [offer["title"] for offer in told["offers"]]
        check("serve_order" in titles[0], titles)
        check(
            not any("wait_for_orders" in title or title.endswith(" main") for title in titles),
            titles,
        )
        event = told["offers"][0]["events"][0]
        check(event["runs"] > 20 and event["p50_ns"] <= event["p99_ns"] <= event["max_ns"], event)
        check(
            f'binary="{SERVER.resolve()}"' in told["xml"] and "serve_order" in told["xml"],
            told["xml"],
        )
        check(not told["written"], told)


def stages_divide_the_requests():
    """Proposes the two functions that share the time of a request as stages, in their order, after
    it has seen them in live runs."""
    with World() as world:
        start_server(world)
        with Load(lambda: order(world)):
            told = json.loads(add(world.server.pid, "--for", "2s", "--json").stdout)
    first = told["offers"][0]
    check("serve_order" in first["title"], first)
    functions = [stage["function"] for stage in first["stages"]]
    # The order of calls, whichever takes longer.
    check(
        ["find_stock" in functions[0], "compute_price" in functions[1]] == [True, True],
        first["stages"],
    )
    check(first["stage_runs"] >= 5 and all(stage["runs"] > 0 for stage in first["stages"]), first)
    check(
        all(f'<stage name="{name}"' in told["xml"] for name in ("find_stock", "compute_price")),
        told["xml"],
    )


def what_is_written_is_watched():
    """Adds to settings with comments, which stay; the running daemon reads them and watches the
    requests."""
    with World() as world, Daemon("<!-- mine -->") as daemon:
        start_server(world)
        before = daemon.settings_path.read_text()
        with Load(lambda: order(world)):
            said = add(
                world.server.pid,
                "--for",
                "1s",
                "--write",
                "--choose",
                "1",
                "--threshold",
                "70ms",
                "--prefix",
                "shop-",
                "--settings",
                daemon.settings_path,
                "--socket",
                daemon.socket_path,
            ).stdout
            check(str(daemon.settings_path) in said and "lagtrap status" in said, said)
            after = daemon.settings_path.read_text()
            name = daemon.status()["events"][0]["name"]
            check(name == "shop-order_server-serve_order", name)
            check(
                daemon.event(name)["armed"] and daemon.event(name)["threshold_ns"] == 70_000_000,
                daemon.event(name),
            )
            wait_for(lambda: daemon.event(name)["runs"] > 5, "runs of the new event")
        kept = after.splitlines()
        for line in before.splitlines():
            check(line in kept, f"{line} is gone")
        # It is there already, so the file is left alone.
        with Load(lambda: order(world)):
            refused = add(
                world.server.pid,
                "--for",
                "1s",
                "--write",
                "--prefix",
                "shop-",
                "--settings",
                daemon.settings_path,
                "--socket",
                daemon.socket_path,
                code=1,
            ).stderr
        check("a second event" in refused and daemon.settings_path.read_text() == after, refused)


def a_unit_is_watched_alone():
    """Of two servers with the same program, watches only the unit's; the unit may be named with
    or without its suffix."""
    unit = f"orders-{os.getpid()}"
    with group(
        "app.slice", f"{unit}.service"
    ) as folder, World() as world, World() as elsewhere, Daemon("") as daemon:
        start_server(world, folder)
        start_server(elsewhere)
        with Load(lambda: order(world)):
            told = json.loads(add(f"{unit}.service", "--for", "1s", "--json").stdout)
            check(told["unit"] == f"{unit}.service" and told["offers"], told)
            add(
                unit,
                "--for",
                "1s",
                "--write",
                "--choose",
                "1",
                "--settings",
                daemon.settings_path,
                "--socket",
                daemon.socket_path,
            )
            check(
                f'<scope unit="{unit}.service"/>' in daemon.settings_path.read_text(),
                daemon.settings_path.read_text(),
            )
            name = daemon.status()["events"][0]["name"]
            wait_for(lambda: daemon.event(name)["runs"] > 5, "runs of the unit's server")
        # A request is answered before its function returns.
        wait_for(lambda: daemon.event(name)["open"] == 0, "the last request to end")
        runs, outside = daemon.event(name)["runs"], daemon.event(name)["out_of_scope"]
        for _ in range(5):
            order(elsewhere)
        wait_for(
            lambda: daemon.event(name)["out_of_scope"] >= outside + 10, "the other server's hits"
        )
        check(daemon.event(name)["runs"] == runs, daemon.event(name))
    check(
        "has no processes" in add("no-such-unit.service", code=1).stderr, "a unit that is not there"
    )


def a_preset_comes_first():
    with World() as world:
        redis = Redis(world)
        with Load(lambda: redis.ask("set", "key", "value")):
            told = json.loads(add(redis.process.pid, "--for", "1s", "--json").stdout)
            check(told["offers"][0]["preset"] == "redis", told["offers"])
            commands = told["offers"][0]["events"][0]
            check(commands["name"] == "redis-command" and commands["runs"] > 0, commands)
            check(
                f'events="redis-command" threshold="{commands["threshold"]}"' in told["xml"],
                told["xml"],
            )
            # Without its preset, Debian's program, stripped except for its exports, still has
            # functions to offer.
            functions = json.loads(
                add(
                    redis.process.pid,
                    "--for",
                    "2s",
                    "--json",
                    env={**os.environ, "LAGTRAP_PRESETS": "/none"},
                ).stdout
            )
            # If no function covers much, the turns of its loop come first.
            offered = [
                offer for offer in functions["offers"] if offer["title"].startswith("function ")
            ]
            check(offered, functions["offers"])
            check('binary="/usr/bin/redis-server"' in offered[0]["xml"], offered[0])


def a_program_without_names_has_turns():
    """A stripped program has no function to offer; the turns of its event loop are offered, and
    count its requests."""
    with World() as world, tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "orders"
        subprocess.run(["strip", "-o", stripped, SERVER], check=True)
        start_server(world, program=stripped)
        with Load(lambda: order(world)):
            told = json.loads(add(world.server.pid, "--for", "2s", "--json").stdout)
        check(
            [offer["title"] for offer in told["offers"]]
            == ["iterations of the event loop, by poll"],
            told["offers"],
        )
        check(told["offers"][0]["events"][0]["runs"] > 20, told["offers"])
        check(
            f'<scope binary="{stripped}"/>' in told["xml"]
            and 'tracepoint="syscalls:sys_exit_poll"' in told["xml"],
            told["xml"],
        )


def it_is_asked_on_a_terminal():
    with World() as world, tempfile.TemporaryDirectory() as folder:
        start_server(world)
        settings = pathlib.Path(folder) / "settings.xml"
        settings.write_text('<lagtrap version="1">\n</lagtrap>\n')
        ours, theirs = pty.openpty()
        with Load(lambda: order(world)):
            asked = subprocess.Popen(
                [
                    LAGTRAP,
                    "add",
                    str(world.server.pid),
                    "--for",
                    "1s",
                    "--settings",
                    settings,
                    "--socket",
                    f"{folder}/no",
                ],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            )
            os.close(theirs)
            shown = b""
            for question, answer in ((b"Which one?", b"1\n"), (b"[y/N]", b"y\n")):
                while question not in shown:
                    shown += os.read(ours, 4096)
                os.write(ours, answer)
            while b"Written to" not in shown:
                shown += os.read(ours, 4096)
            check(asked.wait(timeout=60) == 0, shown.decode())
        os.close(ours)
        check("serve_order" in settings.read_text(), settings.read_text())
        for line in shown.decode().splitlines():
            check(
                len(line) <= 80
                or str(SERVER.resolve()) in line
                or line.lstrip().startswith(("<event", "<stage")),
                line,
            )


def what_is_wrong_is_said():
    check("no process, unit, or program" in add("no-such-thing", code=1).stderr, "a name")
    check("no process 4194303" in add(4194303, code=1).stderr, "a number")
    check("--for 5: " in add("sh", "--for", "5", code=1).stderr, "a time")
    idle = subprocess.Popen(["sleep", "60"])
    try:
        check("within 200 ms" in add(idle.pid, "--for", "200ms", code=1).stderr, "an idle program")
    finally:
        idle.kill()
        idle.wait()
    # Without measuring, offers come only from presets and probes.
    check(
        '<use preset="nginx"/>' in add("nginx", "--for", "0s").stdout, "a program that does not run"
    )


if __name__ == "__main__":
    run(
        requests_are_found,
        stages_divide_the_requests,
        what_is_written_is_watched,
        a_unit_is_watched_alone,
        a_preset_comes_first,
        a_program_without_names_has_turns,
        it_is_asked_on_a_terminal,
        what_is_wrong_is_said,
    )
