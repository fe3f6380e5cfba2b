"""lagtrap objects --send on one machine, --connect on another: through spool, uploader and a server that asks for a token."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import types
import urllib.error
import urllib.request

import jsonschema

from lagtrap_test import LAGTRAP, SERVER, Daemon, check, require_bpf, run, wait_for
from object_watch import PLENTY
from trace_client import SETTINGS
from test_objects import CLASSES, HANDLES, Program
from test_server_api import DESCRIPTION, operation_of, resolve
from upload_world import Server, Service


class World:
    """A daemon, a server with tokens, and an uploader between them that runs when it is told to."""

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-distant-"))
        data = self.root / "data"
        self.upload_token, self.read_token = (self.token(data, scope) for scope in ("upload", "read"))
        self.server = Server(data)
        self.daemon = Daemon(SETTINGS, more=f'<upload url="{self.server.url}" token-file="{self.upload_token}"/>')
        self.daemon.start()
        self.program = Program()
        return self

    def token(self, data, scope):
        made = subprocess.run([SERVER, "--data", data, "token", "add", scope, "--scope", scope], capture_output=True, text=True, check=True)
        path = self.root / f"{scope}.token"
        path.write_text(made.stdout.splitlines()[-1] + "\n")
        os.chmod(path, 0o600)
        return path

    def __exit__(self, *parts):
        self.program.__exit__(*parts)
        self.daemon.stop()
        self.server.stop()
        shutil.rmtree(self.daemon.folder, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def uploader(self):
        return Service(types.SimpleNamespace(root=self.root), "--settings", self.daemon.settings_path)

    def send(self, *what, length="10min"):
        """The command on the watched machine, and the id that it prints."""
        command = [LAGTRAP, "objects", "--socket", self.daemon.socket_path, "--settings", self.daemon.settings_path, "--send",
                   "--process", str(self.program.process.pid), "--for", length, *what, *PLENTY]
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = client.stdout.readline()
        check(line.startswith("Sending objects of objects ("), f"{line!r} {client.stderr.read() if not line else ''}")
        return client, line.split()[-1]

    def follow(self, *options, stdout=subprocess.PIPE):
        return subprocess.Popen([LAGTRAP, "objects", "--connect", self.server.url, "--token-file", self.read_token, *options],
                                stdout=stdout, stderr=subprocess.PIPE, text=True)

    def ask(self, path, token):
        request = urllib.request.Request(self.server.url + path, headers={"Authorization": "Bearer " + token.read_text().strip()} if token else {})
        try:
            with urllib.request.urlopen(request) as answer:
                value = json.loads(answer.read())
                content = resolve(operation_of("GET", path)["responses"]["200"])["content"]["application/json"]
                jsonschema.Draft202012Validator({**content["schema"], "components": DESCRIPTION["components"]}).validate(value)
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
        wait_for(lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"], "the first part to come")
        shown_path = world.root / "shown"
        with open(shown_path, "w") as shown_file:
            follower = world.follow("--process", "objects", stdout=shown_file)
        wait_for(lambda: "Objects of objects (" in shown_path.read_text(), "what is watched to be shown")
        world.program.run("fail", 3)
        # Before the sender has ended: trees are shown as they end.
        wait_for(lambda: shown_path.read_text().count("shop::Gadget::Gadget") == 3, "the failures to be shown")
        check(sender.poll() is None and follower.poll() is None, "both go on")
        world.program.run("keep", 7)
        said = end(sender)
        check("parts in " in said and "lost" not in said, said)
        _, err = follower.communicate(timeout=120)
        shown = shown_path.read_text()
        check(follower.returncode == 0 and f"watch {watch}" in err, f"{shown} {err}")
        check("Failures" in shown and "no gadget of size -1" in shown, shown)
        check("shop::Item" in shown and "did not come" not in err, f"{shown} {err}")
        # All of it again, by its id, as the daemon told it.
        again = world.follow("--watch", watch, "--json")
        lines = [json.loads(line) for line in again.communicate(timeout=120)[0].splitlines()]
        check("started_objects" in lines[0] and "ended_objects" in lines[-1], f"{lines[0]} {lines[-1]}")
        names = lines[0]["started_objects"]["classes"]
        check(lines[-1]["ended_objects"]["classes"][names.index("shop::Item")][0] == 7, f"{lines[-1]}")
        _, listed = world.ask("/api/v1/objects", world.read_token)
        check([(one["watch"], one["ended"], one["process"]) for one in listed["watches"]] == [(watch, True, "objects")], f"{listed}")


def who_stops_following_sees_what_came_so_far():
    with World() as world, world.uploader():
        sender, watch = world.send(*CLASSES)
        world.program.run("fail", 2)
        world.program.run("keep", 5)
        shown_path = world.root / "shown"
        with open(shown_path, "w") as shown_file:
            wait_for(lambda: world.ask("/api/v1/objects", world.read_token)[1]["watches"], "the first part to come")
            follower = world.follow("--watch", watch, stdout=shown_file)
        wait_for(lambda: shown_path.read_text().count("+ shop::Item::Item") >= 5, "the calls to be shown")
        end(follower)
        shown = shown_path.read_text()
        check("it goes on there" in shown and "no gadget of size -1" in shown and "shop::Item::Item" in shown.split("Failures")[1], shown)
        check(sender.poll() is None, "the watch goes on")
        end(sender)


def who_may_not_read_sees_nothing():
    with World() as world, world.uploader():
        sender, watch = world.send(*CLASSES, length="1s")
        sender.communicate(timeout=120)
        wait_for(lambda: [one for one in world.ask("/api/v1/objects", world.read_token)[1]["watches"] if one["ended"]], "the last part to come")
        for path in "/api/v1/objects", f"/api/v1/objects/{watch}":
            check(world.ask(path, None)[0] == 401, "no token")
            check(world.ask(path, world.upload_token)[0] == 403, "a token that may upload alone")
            check(world.ask(path, world.read_token)[0] == 200, "one that may read")
        check(world.ask("/api/v1/objects/nobody", world.read_token)[0] == 404, "no such watch")
        check(world.ask(f"/api/v1/objects/{watch}?after=-1", world.read_token)[0] == 400, "no number")
        for options, expected in ((("--token-file", world.upload_token), "HTTP 403"), (("--host", "elsewhere"), "no such watch of objects; there are")):
            refused = subprocess.run([LAGTRAP, "objects", "--connect", world.server.url, "--token-file", world.read_token, *options]
                                     if options[0] != "--token-file" else [LAGTRAP, "objects", "--connect", world.server.url, *options],
                                     capture_output=True, text=True, timeout=60)
            check(refused.returncode == 1 and expected in refused.stderr, f"{refused.stderr}")


def an_uploader_that_comes_later_brings_all():
    with World() as world:
        sender, watch = world.send(*CLASSES)
        ready = world.daemon.spool / "ready"
        parts = lambda: sorted(ready.glob("*.runs.zst"))
        wait_for(lambda: len(parts()) >= 3, "parts in the spool")
        end(sender)
        with world.uploader():
            wait_for(lambda: not parts(), "the uploader to take them")
            follower = world.follow("--watch", watch)
            shown, err = follower.communicate(timeout=120)
            check(follower.returncode == 0 and "Objects of" in shown and "did not come" not in err, f"{shown} {err}")


def without_a_server_there_is_nothing_to_send_to():
    with Daemon(SETTINGS) as daemon, Program() as program:
        command = [LAGTRAP, "objects", "--socket", daemon.socket_path, "--send", "--process", str(program.process.pid), *CLASSES]
        refused = subprocess.run([*command, "--settings", daemon.settings_path], capture_output=True, text=True)
        check(refused.returncode == 1 and "has no <upload>" in refused.stderr, refused.stderr)
        refused = subprocess.run([*command, "--spool", "/nowhere/spool"], capture_output=True, text=True)
        check(refused.returncode == 1 and "/nowhere/spool" in refused.stderr, refused.stderr)


if __name__ == "__main__":
    require_bpf()
    run(somebody_elsewhere_sees_what_happens_while_it_happens, who_stops_following_sees_what_came_so_far, who_may_not_read_sees_nothing, an_uploader_that_comes_later_brings_all,
        without_a_server_there_is_nothing_to_send_to)
