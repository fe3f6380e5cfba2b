"""A real lagtrap-server for tests that need one, with its accounts and tokens."""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import urllib.parse
import uuid

from lagtrap_test import SERVER, OwnedProcess, check, wait_for

PASSWORD = "correct horse battery"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def add_user(data, name, role, password=PASSWORD):
    subprocess.run(
        [SERVER, "--data", data, "user", "add", name, "--role", role],
        input=password + "\n",
        text=True,
        check=True,
        capture_output=True,
    )


def add_token(data, name, scope):
    """The token, as its user must send it."""
    return subprocess.run(
        [SERVER, "--data", data, "token", "add", name, "--scope", scope, "--quiet"],
        text=True,
        check=True,
        capture_output=True,
    ).stdout.strip()


class Server(OwnedProcess):
    """A lagtrap-server with its own store, in the folder `data` or in a temporary one.

    It runs at once, on a port that it chooses. After stop() or kill(), start() restarts it on
    that port.
    """

    def __init__(self, *options, data=None):
        self.temporary = None if data else tempfile.TemporaryDirectory(prefix="lagtrap-server-")
        self.data = pathlib.Path(data or f"{self.temporary.name}/data")
        # Several servers may use the same folder, one after the other.
        self.log_path = self.data.with_suffix(f".{uuid.uuid4()}.log")
        self.options = options
        self.port = 0
        self.start()

    def start(self, fault=None, fault_log=None):
        """Returns when it listens, or when the fault (core/fault_point.hpp) has ended it."""
        listen = () if "--listen" in self.options else ("--listen", f"127.0.0.1:{self.port}")
        faults = {"LAGTRAP_FAULT": fault, "LAGTRAP_FAULT_LOG": fault_log}
        environment = os.environ | {name: str(value) for name, value in faults.items() if value}
        with open(self.log_path, "ab") as log:
            self.log_begin = log.tell()
            self.process = subprocess.Popen(
                [SERVER, *listen, "--data", self.data, *self.options],
                stdout=log,
                stderr=log,
                env=environment,
            )
        try:
            wait_for(lambda: self._has_started(fault), "the server to listen")
        except BaseException:
            self.kill()
            raise

    def _has_started(self, fault):
        """As the server reports: some tests count connections, and a request for /healthz would
        be one more."""
        if self.process.poll() is not None:
            check(fault, f"the server ended with {self.process.returncode}: {self.log()}")
            return True
        found = re.search(r"listening on (https?://\S+),", self.log())
        if found:
            self.url = found[1]
            self.port = urllib.parse.urlsplit(self.url).port
        return found

    def stop(self):
        """Returns its exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, kind=None, *_):
        super().__exit__()
        if self.temporary:
            if kind:
                print("--- log of the server\n" + self.log() + "---")
            self.temporary.cleanup()

    def log(self):
        """Its log since its last start."""
        with open(self.log_path, "rb") as log:
            log.seek(self.log_begin)
            return log.read().decode(errors="replace")

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read()
            return response, content

    def answers(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/healthz")[0].status == 200
        return False

    def get(self, path):
        """The JSON value at the path."""
        response, content = self.request("GET", path)
        check(response.status == 200, f"GET {path}: {response.status} {content}")
        return json.loads(content)

    def put(self, content, digest=None):
        return self.request("PUT", f"/api/v1/bundles/{digest or sha256(content)}", content)

    def bundles(self):
        rows, after = [], ""
        while after is not None:
            page = self.get("/api/v1/bundles?limit=500" + (f"&after={after}" if after else ""))
            rows += page["bundles"]
            after = page["next"]
        return rows

    def parsed_bundles(self, least=1, seconds=60):
        """The bundles, once there are at least this many and all have been parsed."""

        def parsed():
            rows = self.bundles()
            return rows if len(rows) >= least and all(row["parsed"] for row in rows) else None

        return wait_for(parsed, f"{least} bundles to be on the server and looked into", seconds)

    def metric(self, name):
        text = self.request("GET", "/metrics")[1].decode()
        return int(re.search(rf"^lagtrap_server_{name} (\d+)$", text, re.M).group(1))

    def incoming(self):
        """The files of uploads in progress."""
        return list((self.data / "incoming").iterdir())

    def begin_upload(self, content, share):
        """Sends the header and `share` bytes of the body; returns the socket once the server has
        them."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        head = (
            f"PUT /api/v1/bundles/{sha256(content)} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        connection.sendall(head.encode() + content[:share])
        wait_for(
            lambda: [path for path in self.incoming() if path.stat().st_size == share],
            "the half bundle",
        )
        return connection

    def check_store(self):
        """Stops it and runs `lagtrap-server check`, which needs the folder for itself."""
        self.stop()
        done = subprocess.run(
            [SERVER, "--data", self.data, "check"], capture_output=True, text=True
        )
        check(done.returncode == 0, f"lagtrap-server check: {done.stdout}{done.stderr}")
