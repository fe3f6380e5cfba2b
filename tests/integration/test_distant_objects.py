"""lagtrap objects --send on one machine, --connect on another: through spool, uploader and a
server that requires a token."""

import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import types
import urllib.error
import urllib.request

import jsonschema

from lagtrap_server import Server, add_token
from lagtrap_test import LAGTRAP, Daemon, check, require_bpf, run, wait_for
from object_program import CLASSES, HANDLES, Program
from object_watch import PLENTY
from trace_client import SETTINGS
from run_batches import fields
from server_case import DESCRIPTION, operation_of, resolve
from upload_world import Service


class World:
    """A daemon, a server with tokens, and an uploader between them that runs on request."""

    def __init__(self, tls=False, program=Program):
        self.tls, self.make_program = tls, program

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-distant-"))
        self.data = self.root / "data"
        self.upload_token, self.read_token = (self.token(scope) for scope in ("upload", "read"))
        self.ca, options = None, ()
        if self.tls:
            self.ca, key = self.certificate("server")
            options = ("--tls-certificate", self.ca, "--tls-key", key)
        self.server = Server(*options, data=self.data)
        trusted = f' ca-file="{self.ca}"' if self.tls else ""
        self.daemon = Daemon(
            SETTINGS,
            more=f'<upload url="{self.server.url}" token-file="{self.upload_token}"{trusted}/>',
        )
        self.daemon.start()
        self.program = self.make_program()
        return self

    def token(self, scope):
        path = self.root / f"{scope}.token"
        path.write_text(add_token(self.data, scope, scope) + "\n")
        os.chmod(path, 0o600)
        return path

    def certificate(self, name):
        """A self-signed certificate and its key."""
        certificate, key = self.root / f"{name}.pem", self.root / f"{name}.key"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=127.0.0.1",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
                "-keyout",
                key,
                "-out",
                certificate,
            ],
            check=True,
            capture_output=True,
        )
        return certificate, key

    def __exit__(self, *parts):
        self.program.__exit__(*parts)
        self.daemon.stop()
        self.server.stop()
        shutil.rmtree(self.daemon.folder, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def uploader(self):
        return Service(
            types.SimpleNamespace(root=self.root), "--settings", self.daemon.settings_path
        )

    def unsent(self):
        return [
            path
            for state in ("ready", "sending")
            for path in (self.daemon.spool / state).glob("*.runs.zst")
        ]

    def send(self, *what, length="10min"):
        """The command on the watched machine, and the id that it prints."""
        command = [
            LAGTRAP,
            "objects",
            "--socket",
            self.daemon.socket_path,
            "--settings",
            self.daemon.settings_path,
            "--send",
            "--process",
            str(self.program.process.pid),
            "--for",
            length,
            *what,
            *PLENTY,
        ]
        client = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = client.stdout.readline()
        check(
            line.startswith("Sending objects of objects ("),
            f"{line!r} {client.stderr.read() if not line else ''}",
        )
        return client, line.split()[-1]

    def follow(self, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
        trust = ("--ca", self.ca) if self.tls else ()
        return subprocess.Popen(
            [
                LAGTRAP,
                "objects",
                "--connect",
                self.server.url,
                "--token-file",
                self.read_token,
                *trust,
                *options,
            ],
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def parts(self):
        """Parts waiting in the spool, by number: their files and contents."""
        found = {}
        for path in (self.daemon.spool / "ready").glob("*.runs.zst"):
            message = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
            [objects] = [value for number, value in fields(message) if number == 12]
            found[dict(fields(objects))[2]] = types.SimpleNamespace(path=path, message=message)
        return found

    def watch(self, watch):
        """The server's data about it, from the list and the summary."""
        [row] = [
            one
            for one in self.ask("/api/v1/objects", self.read_token)[1]["watches"]
            if one["watch"] == watch
        ]
        status, summary = self.ask(f"/api/v1/objects/{watch}/summary", self.read_token)
        check(status == 200 and summary["watch"] == row, f"{summary['watch']} {row}")
        return summary

    def ask(self, path, token):
        request = urllib.request.Request(
            self.server.url + path,
            headers={"Authorization": "Bearer " + token.read_text().strip()} if token else {},
        )
        try:
            context = ssl.create_default_context(cafile=self.ca) if self.tls else None
            with urllib.request.urlopen(request, context=context) as answer:
                value = json.loads(answer.read())
                content = resolve(operation_of("GET", path)["responses"]["200"])["content"][
                    "application/json"
                ]
                jsonschema.Draft202012Validator(
                    {**content["schema"], "components": DESCRIPTION["components"]}
                ).validate(value)
                return answer.status, value
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())


def end(client):
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=120)
    check(client.returncode == 0, f"{out} {err}")
    return out


def somebody_elsewhere_sees_what_happens_while_it_happens():
    with World() as world, world.uploader():
        sender, watch = world.send(*HANDLES, *CLASSES)
        wait_for(
            lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"],
            "the first part to come",
        )
        shown_path = world.root / "shown"
        with open(shown_path, "w") as shown_file:
            follower = world.follow("--process", "objects", stdout=shown_file)
        wait_for(
            lambda: "Objects of objects (" in shown_path.read_text(), "what is watched to be shown"
        )
        world.program.run("fail", 3)
        # Before the sender has ended: trees are shown as they end.
        wait_for(
            lambda: shown_path.read_text().count("shop::Gadget::Gadget") == 3,
            "the failures to be shown",
        )
        check(sender.poll() is None and follower.poll() is None, "both go on")
        world.program.run("keep", 7)
        said = end(sender)
        check(said.endswith(f" in {world.daemon.spool}\n"), said)  # nothing was lost
        _, err = follower.communicate(timeout=120)
        shown = shown_path.read_text()
        check(follower.returncode == 0 and f"watch {watch}" in err, f"{shown} {err}")
        check("Failures" in shown and "no gadget of size -1" in shown, shown)
        check("shop::Item" in shown and "arrive" not in err, f"{shown} {err}")
        # All of it again by its id, as the daemon reported it.
        again = world.follow("--watch", watch, "--json")
        lines = [json.loads(line) for line in again.communicate(timeout=120)[0].splitlines()]
        check(
            "started_objects" in lines[0] and "ended_objects" in lines[-1],
            f"{lines[0]} {lines[-1]}",
        )
        names = lines[0]["started_objects"]["classes"]
        check(
            lines[-1]["ended_objects"]["classes"][names.index("shop::Item")][0] == 7, f"{lines[-1]}"
        )
        _, listed = world.ask("/api/v1/objects", world.read_token)
        check(
            [(one["watch"], one["ended"], one["process"]) for one in listed["watches"]]
            == [(watch, True, "objects")],
            f"{listed}",
        )
        # The server's summary equals that of the command that reads the same lines.
        summary = world.watch(watch)
        row, objects = summary["watch"], summary["objects"]
        check(
            summary["reason"] != ""
            and set(row["classes"]) == set(names)
            and row["class_count"] == len(names),
            f"{row}",
        )
        check(
            (
                row["missing_parts"],
                row["lost_lines"],
                summary["dropped_parts"],
                summary["unread_lines"],
            )
            == (0, 0, 0, 0),
            f"{summary}",
        )
        check(row["calls"] == sum(len(line.get("object_calls", [])) for line in lines), f"{row}")
        check(
            row["failures"] == sum(one[3] for one in lines[-1]["ended_objects"]["classes"]) == 3,
            f"{row}",
        )
        check(
            [(one["function"], one["count"]) for one in objects["failures"]]
            == [("shop::Gadget::Gadget", 3)]
            and "no gadget of size" in objects["failures"][0]["error"],
            f"{objects['failures']}",
        )
        counted = {one["name"]: (one["created"], one["alive"]) for one in objects["classes"]}
        check(counted["shop::Item"] == (7, 7), f"{counted}")
        roots = [call for call in summary["latest"] if call["depth"] == 0]
        check([call["error"] != "" for call in roots] == [True] * 3 + [False] * 7, f"{roots}")
        check(sorted(roots, key=lambda call: call["begin_ns"]) == roots, "in order of time")


def who_stops_following_sees_what_came_so_far():
    with World() as world, world.uploader():
        sender, watch = world.send(*CLASSES)
        world.program.run("fail", 2)
        world.program.run("keep", 5)
        shown_path = world.root / "shown"
        with open(shown_path, "w") as shown_file:
            wait_for(
                lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"],
                "the first part to come",
            )
            follower = world.follow("--watch", watch, stdout=shown_file)
        wait_for(
            lambda: shown_path.read_text().count("+ shop::Item::Item") >= 5, "the calls to be shown"
        )
        end(follower)
        shown = shown_path.read_text()
        check(
            "the watch continues there" in shown
            and "no gadget of size -1" in shown
            and "shop::Item::Item" in shown.split("Failures")[1],
            shown,
        )
        check(sender.poll() is None, "the watch goes on")
        end(sender)


def who_may_not_read_sees_nothing():
    with World() as world, world.uploader():
        sender, watch = world.send(*CLASSES, length="1s")
        sender.communicate(timeout=120)
        wait_for(
            lambda: [
                one
                for one in world.ask("/api/v1/objects", world.read_token)[1]["watches"]
                if one["ended"]
            ],
            "the last part to come",
        )
        for path in (
            "/api/v1/objects",
            f"/api/v1/objects/{watch}",
            f"/api/v1/objects/{watch}/summary",
        ):
            check(world.ask(path, None)[0] == 401, "no token")
            check(world.ask(path, world.upload_token)[0] == 403, "a token that may upload alone")
            check(world.ask(path, world.read_token)[0] == 200, "one that may read")
        for name in "nobody", "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11":
            for path in f"/api/v1/objects/{name}", f"/api/v1/objects/{name}/summary":
                check(world.ask(path, world.read_token)[0] == 404, "no such watch")
        check(
            world.ask(f"/api/v1/objects/{watch}?after=-1", world.read_token)[0] == 400, "no number"
        )
        for options, expected in (
            (("--token-file", world.upload_token), "HTTP 403"),
            (("--host", "elsewhere"), "no such watch; there are"),
        ):
            refused = subprocess.run(
                [
                    LAGTRAP,
                    "objects",
                    "--connect",
                    world.server.url,
                    "--token-file",
                    world.read_token,
                    *options,
                ]
                if options[0] != "--token-file"
                else [LAGTRAP, "objects", "--connect", world.server.url, *options],
                capture_output=True,
                text=True,
                timeout=60,
            )
            check(refused.returncode == 1 and expected in refused.stderr, f"{refused.stderr}")
            check("<" not in refused.stderr, f"words of the settings: {refused.stderr}")
            check(
                options[0] != "--token-file"
                or "--token-file needs a token with the scope read" in refused.stderr,
                refused.stderr,
            )
        refused = subprocess.run(
            [LAGTRAP, "objects", "--connect", world.server.url],
            capture_output=True,
            text=True,
            timeout=60,
        )
        check(
            refused.returncode == 1
            and "HTTP 401" in refused.stderr
            and "use --token-file with a token that has the scope read" in refused.stderr,
            refused.stderr,
        )


def an_uploader_that_comes_later_brings_all():
    with World() as world:
        sender, watch = world.send(*CLASSES)
        ready = world.daemon.spool / "ready"
        parts = lambda: sorted(ready.glob("*.runs.zst"))
        wait_for(lambda: len(parts()) >= 3, "parts in the spool")
        end(sender)
        with world.uploader():
            wait_for(lambda: not world.unsent(), "the uploader to deliver them")
            follower = world.follow("--watch", watch)
            shown, err = follower.communicate(timeout=120)
            check(
                follower.returncode == 0 and "Objects of" in shown and "arrive" not in err,
                f"{shown} {err}",
            )


def parts_with_failures(world):
    """A watch whose parts wait in the spool, one of them with two failures, with others before
    and after it; returns its id and the number of that part."""
    sender, watch = world.send(*CLASSES)
    wait_for(lambda: world.parts(), "the first part")
    world.program.run("fail", 2)
    with_failures = lambda: [
        number for number, part in world.parts().items() if b"no gadget of size" in part.message
    ]
    [number] = wait_for(with_failures, "the part with the failures")
    wait_for(lambda: max(world.parts()) > number, "a part after it")
    end(sender)
    check(number > 1 and with_failures() == [number], f"{number}: {list(world.parts())}")
    return watch, number


def bring(world):
    with world.uploader():
        wait_for(lambda: not world.unsent(), "the uploader to deliver them")  # ready, or being sent


def a_part_that_never_comes_is_told():
    with World() as world:
        watch, number = parts_with_failures(world)
        parts = world.parts()
        parts[number].path.unlink()
        bring(world)
        follower = world.follow("--watch", watch)
        shown, err = follower.communicate(timeout=120)
        # The content of the lost part is missing; the kernel's counts are there nevertheless.
        check(
            follower.returncode == 0 and f"1 part before part {number + 1} has not arrived" in err,
            f"{shown} {err}",
        )
        check(
            "1 part did not arrive" in err
            and "no gadget of size" not in shown
            and "Ended after" in shown,
            f"{shown} {err}",
        )
        summary = world.watch(watch)
        check(
            (summary["watch"]["missing_parts"], summary["watch"]["parts"]) == (1, len(parts)),
            f"{summary['watch']}",
        )
        check(
            summary["objects"]["failures"] == []
            and summary["latest"] == []
            and summary["watch"]["failures"] == 2,
            f"{summary}",
        )
        check(
            sum(one["failures"] for one in summary["objects"]["classes"]) == 2,
            f"{summary['objects']['classes']}",
        )


def without_its_first_part_a_watch_cannot_be_read():
    with World() as world:
        watch, _ = parts_with_failures(world)
        world.parts()[1].path.unlink()
        bring(world)
        follower = world.follow("--watch", watch)
        shown, err = follower.communicate(timeout=120)
        check(
            follower.returncode == 1
            and "the first part of this watch, which contains the names, is missing" in err,
            f"{shown} {err}",
        )
        summary = world.watch(watch)
        check(
            summary["objects"] is None
            and summary["latest"] == []
            and summary["watch"]["began_ns"] is None,
            f"{summary}",
        )
        check(
            (summary["watch"]["missing_parts"], summary["watch"]["failures"]) == (1, 2),
            f"{summary}",
        )


def following_goes_on_when_the_server_comes_back():
    with World() as world, world.uploader():
        sender, watch = world.send(*CLASSES)
        wait_for(
            lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"],
            "the first part to come",
        )
        shown_path, err_path = world.root / "shown", world.root / "err"
        with open(shown_path, "w") as shown_file, open(err_path, "w") as err_file:
            follower = world.follow("--watch", watch, stdout=shown_file, stderr=err_file)
        wait_for(
            lambda: "Objects of objects (" in shown_path.read_text(), "what is watched to be shown"
        )
        world.server.stop()
        wait_for(lambda: "retrying" in err_path.read_text(), "the trouble to be told")
        world.program.run("fail", 3)
        world.server.start()
        wait_for(
            lambda: "the server answers again" in err_path.read_text(),
            "the server to be found again",
        )
        wait_for(
            lambda: shown_path.read_text().count("shop::Gadget::Gadget") == 3,
            "what happened meanwhile to be shown",
            seconds=180,
        )
        end(sender)
        check(follower.wait(180) == 0, err_path.read_text())
        err = err_path.read_text()
        check(err.count("retrying") == 1 and "arrive" not in err and "not sent" not in err, err)


def over_tls_with_a_certificate_that_is_trusted():
    with World(tls=True) as world, world.uploader():
        sender, watch = world.send(*CLASSES, length="2s")
        world.program.run("fail", 1)
        sender.communicate(timeout=120)
        wait_for(
            lambda: [
                one
                for one in world.ask("/api/v1/objects", world.read_token)[1]["watches"]
                if one["ended"]
            ],
            "the last part to come",
        )
        follower = world.follow("--watch", watch)
        shown, err = follower.communicate(timeout=120)
        check(follower.returncode == 0 and "no gadget of size -1" in shown, f"{shown} {err}")
        other, _ = world.certificate("other")
        command = [
            LAGTRAP,
            "objects",
            "--connect",
            world.server.url,
            "--token-file",
            world.read_token,
        ]
        for options in (("--ca", other), ()):
            refused = subprocess.run(
                [*command, *options], capture_output=True, text=True, timeout=60
            )
            check(
                refused.returncode == 1
                and "certificate" in refused.stderr
                and "use --ca FILE" in refused.stderr,
                refused.stderr,
            )
        refused = subprocess.run(
            [*command, "--ca", world.root / "nowhere.pem"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        check(refused.returncode == 1 and "nowhere.pem" in refused.stderr, refused.stderr)


def without_a_server_there_is_nothing_to_send_to():
    with Daemon(SETTINGS) as daemon, Program() as program:
        command = [
            LAGTRAP,
            "objects",
            "--socket",
            daemon.socket_path,
            "--send",
            "--process",
            str(program.process.pid),
            *CLASSES,
        ]
        refused = subprocess.run(
            [*command, "--settings", daemon.settings_path], capture_output=True, text=True
        )
        check(refused.returncode == 1 and "has no <upload>" in refused.stderr, refused.stderr)
        refused = subprocess.run(
            [*command, "--spool", "/nowhere/spool"], capture_output=True, text=True
        )
        check(refused.returncode == 1 and "/nowhere/spool" in refused.stderr, refused.stderr)


if __name__ == "__main__":
    require_bpf()
    run(
        somebody_elsewhere_sees_what_happens_while_it_happens,
        who_stops_following_sees_what_came_so_far,
        who_may_not_read_sees_nothing,
        an_uploader_that_comes_later_brings_all,
        a_part_that_never_comes_is_told,
        without_its_first_part_a_watch_cannot_be_read,
        following_goes_on_when_the_server_comes_back,
        over_tls_with_a_certificate_that_is_trusted,
        without_a_server_there_is_nothing_to_send_to,
    )
