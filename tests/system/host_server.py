"""lagtrap-server on this machine, as a server in the network looks: TLS, and a token for whoever uploads."""

import http.server
import json
import pathlib
import re
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request

ADDRESS_IN_MACHINE = "10.0.2.2"


def make_certificate(folder):
    """A certificate for the name by which the machine reaches us, and its authority."""
    (folder / "extensions").write_text(f"subjectAltName=IP:{ADDRESS_IN_MACHINE},IP:127.0.0.1\n")
    for command in (
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 30 -keyout ca.key -out ca.pem",
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout server.key -out server.csr",
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 30 -extfile extensions -out server.pem"):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


class HostCollector:
    """An OpenTelemetry collector on this machine, as far as the uploader needs one: `requests` has path, kind and body of each."""

    def __enter__(self):
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                requests.append((self.path, self.headers["Content-Type"], body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://{ADDRESS_IN_MACHINE}:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class HostServer:
    def __init__(self, program):
        self.program = program

    def token(self, scope):
        said = subprocess.run([self.program, "token", f"system-{scope}", "--scope", scope], check=True, text=True,
                              capture_output=True).stdout.splitlines()
        with open(self.folder / "tokens", "a", encoding="utf-8") as tokens:
            tokens.write(said[3] + "\n")
        return said[1]

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="lagtrap-system-")
        self.folder = pathlib.Path(self.temporary.name)
        make_certificate(self.folder)
        self.upload_token, self.read_token = self.token("upload"), self.token("read")
        log = self.folder / "log"
        with open(log, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [self.program, "--listen", "127.0.0.1:0", "--data", self.folder / "data", "--token-file", self.folder / "tokens",
                 "--tls-certificate", self.folder / "server.pem", "--tls-key", self.folder / "server.key"],
                stdout=output, stderr=output)
        deadline = time.monotonic() + 120
        while not (found := re.search(r"listening on https://127.0.0.1:(\d+)", log.read_text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("lagtrap-server does not listen: " + log.read_text())
            time.sleep(0.05)
        self.port = int(found.group(1))
        self.url = f"https://{ADDRESS_IN_MACHINE}:{self.port}"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.temporary.cleanup()

    def bundles(self):
        return self.get("bundles")["bundles"]

    def get(self, path):
        """What the server answers at /api/v1/ and the path."""
        trust = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}/api/v1/{path}",
                                         headers={"Authorization": f"Bearer {self.read_token}"})
        with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
            return json.load(answer)
