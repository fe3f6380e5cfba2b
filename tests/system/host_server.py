"""lagtrap-server on this machine, set up like a server in a network: with TLS, and a token for
uploaders."""

import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from lagtrap_server import Server, add_token  # noqa: E402  (the path is set above)

ADDRESS_IN_MACHINE = "10.0.2.2"


def make_certificate(folder):
    """A certificate for the name by which the machine reaches the host, and its CA."""
    (folder / "extensions").write_text(f"subjectAltName=IP:{ADDRESS_IN_MACHINE},IP:127.0.0.1\n")
    for command in (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 30 "
        "-keyout ca.key -out ca.pem",
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout "
        "server.key -out server.csr",
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 30 -extfile extensions -out "
        "server.pem",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


class HostCollector:
    """An OpenTelemetry collector on this machine, with what the uploader needs: `requests` has
    path, kind and body of each."""

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


class HostServer(Server):
    """The machine reaches it over TLS with one of its two tokens. The test's requests use TLS
    too."""

    def __init__(self):
        self.certificates = tempfile.TemporaryDirectory(prefix="lagtrap-system-")
        self.folder = pathlib.Path(self.certificates.name)
        make_certificate(self.folder)
        data = self.folder / "data"
        self.upload_token, self.read_token = (
            add_token(data, f"system-{scope}", scope) for scope in ("upload", "read")
        )
        super().__init__(
            "--tls-certificate",
            self.folder / "server.pem",
            "--tls-key",
            self.folder / "server.key",
            data=data,
        )
        self.url = f"https://{ADDRESS_IN_MACHINE}:{self.port}"

    def __exit__(self, *parts):
        super().__exit__(*parts)
        self.certificates.cleanup()

    def get(self, path):
        trust = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}",
            headers={"Authorization": f"Bearer {self.read_token}"},
        )
        with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
            return json.load(answer)
