"""Callers of the control socket and other users: they get what the settings allow their user, and
no data of others."""

import contextlib
import grp
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from lagtrap_test import PLANTED, Daemon, Watched, check, run, wait_for
from privilege_checks import EVENT, NOBODY, as_user, process_status, status_text
from user_namespace import UserNamespace

SOMEBODY = 54321
GROUP = "daemon"  # a group of every system
MOST_OF_ONE_USER = 8


class Rules(Daemon):
    """A daemon with attributes for <control>."""

    def __init__(self, events, control="", **arguments):
        self.control = control
        super().__init__(events, **arguments)

    def write_settings(self, events):
        super().write_settings(events)
        text = self.settings_path.read_text()
        self.settings_path.write_text(
            text.replace("<control socket=", f"<control {self.control} socket=")
        )


def ask_as(daemon, uid, groups, request):
    def ask():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(60)
            connection.connect(str(daemon.socket_path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = connection.recv(65536)
                if not part:
                    break
                answer += part
            return json.dumps(
                {key: value for key, value in json.loads(answer).items() if key in ("ok", "error")}
            )

    return as_user(uid, groups, ask)


STATUS = {"command": "status"}
TRIGGER = {"command": "trigger", "event": "work"}


def root_alone_by_default():
    with Daemon(EVENT) as daemon:
        check("PermissionError" in ask_as(daemon, NOBODY, [], STATUS), "another user came in")
        check(json.loads(ask_as(daemon, 0, [], STATUS))["ok"], "root did not")


def callers_get_what_the_settings_allow():
    members = [grp.getgrnam(GROUP).gr_gid]
    with Rules(EVENT, f'group="{GROUP}" read="anyone" change="root"') as daemon:
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"], "anyone may read, but could not"
        )
        for uid, groups in ((NOBODY, []), (SOMEBODY, members)):
            denied = json.loads(ask_as(daemon, uid, groups, TRIGGER))
            check(
                not denied["ok"] and str(uid) in denied["error"] and "root" in denied["error"],
                f"got {denied}",
            )
        check(daemon.status()["control"]["denied"] == 2, f"counted {daemon.status()['control']}")
        check(
            not daemon.bundles() and daemon.status()["state"] == "waiting",
            "a denied request was carried out",
        )
    with Rules(EVENT, f'group="{GROUP}" read="anyone" change="group"') as daemon:
        check(
            not json.loads(ask_as(daemon, NOBODY, [], TRIGGER))["ok"],
            "one who is not in the group may change",
        )
        check(
            json.loads(ask_as(daemon, SOMEBODY, members, TRIGGER))["ok"], "a member may not change"
        )
        daemon.wait_for_bundles(1)


def own_shell(folder):
    """A shell of user nobody that reads lines, and at "go" executes a set-user-ID program of
    root that reads lines too."""
    program = folder / "cat"
    shutil.copy("/bin/cat", program)
    os.chmod(program, 0o4755)
    return subprocess.Popen(
        [
            "/bin/sh",
            "-c",
            f'while read -r line; do echo "$line"; [ "$line" != go ] || exec {program}; done',
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )


def traced_reads(daemon, uid, shell, lines):
    """The read() calls that user `uid` is shown while the shell, or what it became, reads the
    lines."""

    def work():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(60)
            connection.connect(str(daemon.socket_path))
            connection.sendall(
                json.dumps(
                    {"command": "calls", "pid": shell.pid, "function": "read", "depth": 0}
                ).encode()
                + b"\n"
            )
            answers = connection.makefile()
            first = json.loads(answers.readline())
            if not first["ok"]:
                return json.dumps(first)
            for line in lines:
                shell.stdin.write(line + "\n")
                while shell.stdout.readline() != line + "\n":
                    pass
            connection.sendall(b"enough\n")
            return next(line for line in answers if "ended" in json.loads(line))

    return json.loads(as_user(uid, [uid], work))


def users_trace_their_own_processes_alone():
    with tempfile.TemporaryDirectory(prefix="lagtrap-own-") as name, Rules(
        EVENT, f'read="anyone" group="{GROUP}"'
    ) as daemon:
        os.chmod(name, 0o755)
        for command, more in (
            ("calls", {"function": "read"}),
            ("functions", {}),
            ("objects", {"rules": [{"kind": "file", "create": "open", "title": "arg0"}]}),
        ):
            for uid, groups in ((NOBODY, [NOBODY]), (SOMEBODY, [grp.getgrnam(GROUP).gr_gid])):
                denied = json.loads(
                    ask_as(daemon, uid, groups, {"command": command, "pid": os.getpid(), **more})
                )
                check(
                    not denied["ok"] and "trace" in denied["error"],
                    f"user {uid} traces {command} of root: {denied}",
                )
        with own_shell(pathlib.Path(name)) as shell:
            denied = traced_reads(daemon, SOMEBODY, shell, [])
            check(
                not denied["ok"] and f"user {SOMEBODY} may trace only" in denied["error"],
                f"{denied}",
            )
            before = ["hello", "go"]
            ended = traced_reads(
                daemon, NOBODY, shell, before + [f"line {number}" for number in range(100)]
            )["ended"]
            users = process_status(shell.pid)["Uid"].split()
            check(users[1] == "0", f"the set-user-ID program runs as {users}: nothing was shown")
            of_the_shell = sum(len(line) + 1 for line in before)  # it reads byte by byte
            check(
                0 < ended["calls"] <= of_the_shell,
                f"{ended}, of which {of_the_shell} are the shell's",
            )
            denied = traced_reads(daemon, NOBODY, shell, [])
            check(not denied["ok"] and "runs as user 0" in denied["error"], f"{denied}")
            shell.stdin.close()
            check(shell.wait(timeout=60) == 0, f"the traced program ended with {shell.returncode}")
        # A later trace of another process: nothing of the former takes its place.
        with own_shell(pathlib.Path(name)) as shell:
            ended = wait_for(
                lambda: traced_reads(daemon, NOBODY, shell, ["hello"]).get("ended"),
                "a second trace",
            )
            check(ended["calls"] > 0, f"{ended}")
            shell.stdin.close()
        denied = daemon.status()["control"]["denied"]
        check(denied >= 8, f"{denied} denials are counted")


def a_reload_changes_who_may_do_what():
    members = [grp.getgrnam(GROUP).gr_gid]

    def reload(daemon, control):
        daemon.control = control
        daemon.write_settings(EVENT)
        before = daemon.status()["settings"]
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: daemon.status()["settings"] != before, "the settings read anew")
        return daemon.status()

    with Rules(EVENT, 'read="root" change="root"') as daemon:
        check("PermissionError" in ask_as(daemon, NOBODY, [], STATUS), "another user came in")
        status = reload(daemon, f'group="{GROUP}" read="anyone" change="group"')
        check(
            status["control"]["read"] == "anyone"
            and status["control"]["change"] == "group"
            and status["control"]["group"] == GROUP,
            f"{status['control']}",
        )
        for line in (
            f"anyone may read, root and the group {GROUP} may start recordings",
            "root may trace other users' processes",
        ):
            check(line in status_text(daemon), status_text(daemon))
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"], "anyone may read, but could not"
        )
        check(
            not json.loads(ask_as(daemon, NOBODY, [], TRIGGER))["ok"],
            "one who is not in the group may change",
        )
        check(
            json.loads(ask_as(daemon, SOMEBODY, members, TRIGGER))["ok"], "a member may not change"
        )
        daemon.wait_for_bundles(1)
        check("1 request denied" in status_text(daemon), status_text(daemon))
        # A refused change changes nothing.
        status = reload(daemon, 'group="no-such-group" read="root" change="root"')
        check("no-such-group" in status["settings"]["reload_error"], f"{status['settings']}")
        check(
            json.loads(ask_as(daemon, NOBODY, [], STATUS))["ok"],
            "refused settings took a right away",
        )
        status = reload(daemon, 'read="root" change="root"')
        check(not status["settings"]["reload_error"], f"{status['settings']}")
        check(
            "PermissionError" in ask_as(daemon, SOMEBODY, members, STATUS),
            "a right was not taken away",
        )
        facts = daemon.socket_path.stat()
        check(facts.st_mode & 0o777 == 0o600 and facts.st_gid == 0, f"{facts}")


def a_flood_harms_nobody():
    with Rules(EVENT, 'read="anyone"') as daemon:

        def flood():
            held, turned_away = [], 0
            for _ in range(3 * MOST_OF_ONE_USER):
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.connect(str(daemon.socket_path))
                held.append(connection)
            for connection in held[MOST_OF_ONE_USER:]:
                connection.settimeout(60)
                turned_away += b"too many" in connection.recv(4096)
            # While these stall, another user and root get answers.
            others = json.loads(root_asks())["ok"]
            return f"{turned_away} {others}"

        listening = socket.socketpair()

        def root_asks():
            listening[0].sendall(b"?")
            return listening[0].recv(65536).decode()

        pid = os.fork()
        if pid == 0:
            listening[1].recv(1)
            answer = ask_as(daemon, SOMEBODY, [], STATUS)
            listening[1].sendall(answer.encode())
            os._exit(0)
        told = as_user(NOBODY, [], flood)
        os.waitpid(pid, 0)
        check(told == f"{2 * MOST_OF_ONE_USER} True", f"turned away, others answered: {told}")
        check(
            daemon.status()["control"]["turned_away"] >= 2 * MOST_OF_ONE_USER,
            "they are not counted",
        )


def subordinate_users_flood_as_one():
    """A user has eight connections, whoever they become in their own namespace."""
    held = []

    def flood():
        for _ in range(MOST_OF_ONE_USER):
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            held[-1].connect(str(daemon.socket_path))

    with Rules(EVENT, 'read="anyone"') as daemon, UserNamespace(
        NOBODY
    ) as users, contextlib.ExitStack() as stack:
        for user in (0, 1, 64):
            stack.enter_context(users.running(user, flood))
        wait_for(
            lambda: daemon.status()["control"]["turned_away"] >= 2 * MOST_OF_ONE_USER,
            lambda: f"connections to be turned away: {daemon.status()['control']}",
        )


def recordings_have_no_passwords():
    """According to the settings: masked, without other words, or everything; checked in the
    whole bundle."""
    for privacy, seen in (
        ("", b"--password=***"),
        ('<privacy command-lines="all"/>', b"--password=hunter2"),
    ):
        with Daemon(EVENT, more=privacy) as daemon, subprocess.Popen(
            ["/bin/sh", "-c", "read -r line", "--password=hunter2"], stdin=subprocess.PIPE
        ) as shell:
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
            ) as program:
                program.go().result()
            bundle = daemon.wait_for_bundles(1)[0]
            shell.stdin.close()
            content = subprocess.run(
                ["tar", "--zstd", "-xOf", bundle], capture_output=True, check=True
            ).stdout
            check(seen in content, f"the command line is not in the bundle: {privacy}")
            check(privacy or b"hunter2" not in content, "the password is in the bundle")


def others_can_not_read_bundles():
    with Daemon(EVENT) as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
        ) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        check(
            bundle.stat().st_mode & 0o007 == 0 and bundle.stat().st_uid == 0,
            f"mode {bundle.stat().st_mode:o}",
        )
        check(
            "PermissionError" in as_user(NOBODY, [], lambda: str(bundle.read_bytes())),
            "another user read a bundle",
        )
        for folder in (daemon.spool / "captures", daemon.spool):
            check(
                folder.stat().st_mode & 0o022 == 0, f"{folder} has mode {folder.stat().st_mode:o}"
            )


if __name__ == "__main__":
    run(
        a_reload_changes_who_may_do_what,
        root_alone_by_default,
        callers_get_what_the_settings_allow,
        users_trace_their_own_processes_alone,
        a_flood_harms_nobody,
        subordinate_users_flood_as_one,
        recordings_have_no_passwords,
        others_can_not_read_bundles,
    )
