"""Shared by tests of uploader and server: a spool, the two programs, and misbehaving servers and
relays between them."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

from lagtrap_server import Server, sha256
from lagtrap_test import UPLOADER, OwnedProcess, wait_for

FOLDERS = ("captures", "ready", "sending", "sent", "rejected")
MIB = 1 << 20


def confirmation(content, **changes):
    """The answer of a server that has it."""
    return json.dumps(
        {"digest": sha256(content), "bytes": len(content), "stored": "new", **changes}
    ).encode()


def confirm(request, body):
    request.reply(201, confirmation(body))


class OddServer:
    """Answers PUT and POST with `answer(request, body)`, and HEAD with 404 or `head(request)`;
    keeps the requests. With `tls`, an SSLContext, over TLS."""

    def __init__(self, answer=confirm, head=None, tls=None):
        outer = self
        self.requests = []  # method, path, headers, when
        self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                if tls:
                    plain, self.request = self.request, tls.wrap_socket(
                        self.request, server_side=True
                    )
                    plain.close()
                super().setup()

            def log_message(self, *_):
                pass

            def reply(self, status, body=b"", length=None, date=None, **headers):
                self.send_response_only(status)
                self.send_header("Date", date or self.date_time_string())
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            def note(self):
                outer.requests.append(
                    (self.command, self.path, dict(self.headers), time.monotonic())
                )

            def do_HEAD(self):
                self.note()
                head(self) if head else self.reply(404)

            def do_PUT(self):
                self.note()
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                answer(self, outer.bodies[-1])

            def do_POST(self):
                self.do_PUT()

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # some tests are about clients that disconnect
        self.port = self.http.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def of(self, method):
        return [request for request in list(self.requests) if request[0] == method]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def pump(source, target):
    """Until the source ends, or either breaks."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def relay(client, server):
    """Both ways, until both have ended."""
    back = threading.Thread(target=pump, args=(server, client), daemon=True)
    back.start()
    pump(client, server)
    back.join()


class Port:
    """A port whose connections are served by serve(client), each in its own thread."""

    def __init__(self, port=0):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError), client:
            self.serve(client)

    def close(self):
        # Closing alone would not wake the accepting thread.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def read_head(client):
    """A request up to its empty line, and what came with it; None if the client disconnected
    before."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = client.recv(65536)
        if not part:
            return None
        head += part
    return head


class Service(OwnedProcess):
    """lagtrap-uploader as systemd runs it, with the socket of sd_notify."""

    def __init__(self, case, *options, prefix=()):
        self.log_path = case.root / f"uploader-{uuid.uuid4()}.log"
        address = case.root / "notify"
        address.unlink(missing_ok=True)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(address))
        self.messages = []
        self.seen = 0
        threading.Thread(target=self._listen, daemon=True).start()
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [*prefix, UPLOADER, *options],
                stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": str(address)},
            )
        try:
            self.wait_for_status("READY=1")
        except Exception:
            self.__exit__()
            raise

    def _listen(self):
        """As systemd does: a sender waits while nothing is read."""
        with contextlib.suppress(OSError):
            while True:
                self.messages.append(self.notify.recv(65536).decode())

    def wait_for_status(self, text):
        """The next message with this text, after those already waited for."""

        def found():
            while self.seen < len(self.messages):
                self.seen += 1
                if text in self.messages[self.seen - 1]:
                    return True
            return False

        wait_for(found, f"the status {text!r}: {self.log()}", 120)

    def log(self):
        return self.log_path.read_text()

    def waits_s(self):
        """The waiting time that it announced after each failure."""
        return [float(found) for found in re.findall(r"retrying in ([0-9.]+) s", self.log())]

    def wait_for_failures(self, count):
        return wait_for(
            lambda: len(self.waits_s()) >= count and self.waits_s(), f"{count} failures", 120
        )

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024

    def cpu_ticks(self):
        fields = (
            pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        )
        return int(fields[11]) + int(fields[12])

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)

    def __exit__(self, *parts):
        super().__exit__(*parts)
        self.notify.close()


class SpoolCase(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-upload-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.spool = self.root / "spool"
        for folder in FOLDERS:
            (self.spool / folder).mkdir(parents=True)

    def server(self, *options, data="data"):
        server = Server(*options, data=self.root / data)
        self.addCleanup(server.__exit__)
        return server

    def odd_server(self, *arguments, **named):
        server = OddServer(*arguments, **named)
        self.addCleanup(server.close)
        return server

    def add_bundle(self, content=None, size=100_000, digest=None):
        content = os.urandom(size) if content is None else content
        name = f"{uuid.uuid4()}-{(digest or sha256(content))[:16]}.lagtrap.tar.zst"
        # As the daemon does it: written beside, then renamed.
        (self.spool / "captures" / name).write_bytes(content)
        (self.spool / "captures" / name).rename(self.spool / "ready" / name)
        return name, content

    def settings(self, url, attributes=""):
        """Options of lagtrap-uploader: settings that name this spool and this address."""
        path = self.root / "settings.xml"
        path.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<lagtrap version="1">\n'
            f'<spool path="{self.spool}"/>\n<upload url="{url}" {attributes}/>\n'
            '<event name="sync" threshold="1s" trace-length="1s">'
            '<function name="nothing_yet" binary="/nowhere/installed"/></event></lagtrap>\n'
        )
        return ["--settings", path]

    def run_uploader(self, *options, environment=None):
        """Runs lagtrap-uploader --once; returns its exit code and its lines."""
        outcome = subprocess.run(
            [UPLOADER, *options, "--once"],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **(environment or {})},
        )
        return outcome.returncode, outcome.stdout + outcome.stderr

    def upload(self, url, *options, environment=None):
        return self.run_uploader(
            "--spool", self.spool, "--url", url, *options, environment=environment
        )

    def in_state(self, state):
        return sorted(
            path.name for path in (self.spool / state).iterdir() if path.name.endswith(".tar.zst")
        )
