"""The server below a path of its host, behind nginx with TLS: pages in a browser, API, uploader,
links in messages."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import unittest

from lagtrap_server import PASSWORD, add_token, add_user, sha256
from lagtrap_test import SERVER, OwnedProcess, skip, wait_for
from rule_checks import LOSSES, Webhook
from server_case import ServerCase
from test_server_people import run_browser_tests

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
BASE = "/tools/lagtrap"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class Nginx(OwnedProcess):
    """Passes everything below the path to the server unchanged, and has another page elsewhere."""

    def __init__(self, folder, server_port):
        self.folder, self.port = folder, free_port()
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
                folder / "key.pem",
                "-out",
                folder / "certificate.pem",
            ],
            check=True,
            capture_output=True,
        )
        temporary = " ".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"""daemon off; master_process off; user root;
pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; {temporary}
  server {{
    listen 127.0.0.1:{self.port} ssl;
    ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
    client_max_body_size 0;
    location {BASE}/ {{
      proxy_pass http://127.0.0.1:{server_port};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto https;
    }}
    location / {{ default_type text/plain; return 200 "another page of this host\n"; }}
  }}
}}
"""
        )
        self.process = subprocess.Popen(
            [NGINX, "-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"]
        )
        wait_for(lambda: (folder / "nginx.pid").exists(), "nginx to listen")

    def ask(self, path, method="GET", body=None, headers=None):
        context = ssl.create_default_context(cafile=self.folder / "certificate.pem")
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=context
        )
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content


class BasePath(ServerCase):
    def setUp(self):
        super().setUp()
        if not NGINX:
            skip("Debian's nginx-light is needed")
        add_user(self.root / "data", "ann", "admin")
        self.token = add_token(self.root / "data", "rack", "admin")
        self.signed = {"Authorization": f"Bearer {self.token}"}

    def behind_nginx(self, *options):
        server = self.server("--base-path", BASE, "--behind-proxy", *options)
        nginx = Nginx(self.root, server.port)
        self.addCleanup(nginx.__exit__)
        return server, nginx

    def test_in_a_browser(self):
        server, nginx = self.behind_nginx("--requests-per-second", "0")
        bundle, batch = self.make_bundle(1), self.make_runs(1)
        for kind, content in (("bundles", bundle), ("batches", batch)):
            self.assertEqual(
                nginx.ask(f"{BASE}/api/v1/{kind}/{sha256(content)}", "PUT", content, self.signed)[
                    0
                ].status,
                201,
            )
        wait_for(
            lambda: json.loads(nginx.ask(f"{BASE}/api/v1/bundles", headers=self.signed)[1])[
                "bundles"
            ][0]["parsed"],
            "the bundle to be looked into",
        )
        run_browser_tests(
            self,
            {
                "url": f"https://127.0.0.1:{nginx.port}{BASE}",
                "own_certificate": True,
                "event": {"name": "query"},
                "delay": {"bundle": sha256(bundle), "number": 2, "function": "exec_query"},
                "accounts": {"admin": {"account": "ann", "password": PASSWORD}},
            },
            "below_path.mjs",
        )

    def test_what_lies_where(self):
        server, nginx = self.behind_nginx()

        def direct(path):
            response, body = server.request("GET", path)
            return response.status, response.headers.get("Location"), body

        self.assertEqual(direct("/")[:2], (308, BASE + "/"))
        self.assertEqual(direct(BASE)[:2], (308, BASE + "/"))
        self.assertEqual(direct("/healthz")[::2], (200, b"ok\n"))
        self.assertEqual(direct("/api/v1/session")[0], 404)
        self.assertIn(
            f"begin with {BASE}/", json.loads(direct("/api/v1/session")[2])["error"]["hint"]
        )
        self.assertEqual(direct(BASE + "/api/v1/session")[0], 401)
        description = nginx.ask(BASE + "/api/v1/openapi.yaml")[1].decode()
        self.assertIn(f"{{url: {BASE},", description)
        response, _ = nginx.ask(
            BASE + "/api/v1/session",
            "POST",
            json.dumps({"account": "ann", "password": PASSWORD}),
            {"Content-Type": "application/json"},
        )
        self.assertRegex(
            response.headers["Set-Cookie"],
            rf"^__Secure-lagtrap=\S+; Path={BASE}/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$",
        )

    def test_the_uploader_goes_through(self):
        _, nginx = self.behind_nginx()
        name, _ = self.add_bundle(self.make_bundle(1))
        token = self.root / "token"
        token.write_text(self.token + "\n")
        token.chmod(0o600)
        code, lines = self.upload(
            f"https://127.0.0.1:{nginx.port}{BASE}/",
            "--ca-file",
            self.root / "certificate.pem",
            "--token-file",
            token,
        )
        self.assertEqual((code, self.in_state("sent")), (0, [name]), lines)

    def test_links_in_messages_have_it(self):
        _, nginx = self.behind_nginx(
            "--public-url",
            f"https://intranet.example{BASE}",
            "--rule-interval",
            "1s",
            "--allow-local-receivers",
        )
        hook = Webhook()
        self.addCleanup(hook.close)
        rule = {**LOSSES, "name": "losses", "address": hook.url + "/hook"}
        response, body = nginx.ask(
            BASE + "/api/v1/rules",
            "POST",
            json.dumps(rule),
            {**self.signed, "Content-Type": "application/json"},
        )
        self.assertEqual(response.status, 201, body)
        batch = self.make_runs(1, lost=9)
        self.assertEqual(
            nginx.ask(f"{BASE}/api/v1/batches/{sha256(batch)}", "PUT", batch, self.signed)[
                0
            ].status,
            201,
        )
        (message,) = wait_for(hook.messages, "the message")
        self.assertTrue(
            message["findings"][0]["link"].startswith(f"https://intranet.example{BASE}/"), message
        )

    def test_wrong_paths_are_refused_at_the_start(self):
        for options, expected in (
            (
                ("--base-path", "lagtrap"),
                '--base-path: "lagtrap" is no path; expected one such as /lagtrap',
            ),
            (("--base-path", "/a/../b"), "is no path"),
            (
                ("--base-path", "/lagtrap", "--public-url", "https://a.example"),
                "such as https://a.example/lagtrap",
            ),
        ):
            outcome = subprocess.run(
                [SERVER, "--data", self.root / "data", "--listen", "127.0.0.1:0", *options],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(outcome.returncode, 2)
            self.assertIn(expected, outcome.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
