"""Refusals of the server: passwords, sessions, tokens, foreign pages, floods, hostile bundles."""

import concurrent.futures
import contextlib
import http.client
import http.server
import io
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import unittest.mock

from lagtrap_server import PASSWORD, add_user, sha256
from lagtrap_test import SERVER, check_memory, wait_for
from test_server_api import Checker, ServerCase
from test_upload import Tls
from upload_world import MIB


def memory_peak_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", status.read(), re.M).group(1)) * 1024


class StalledBucket(http.server.ThreadingHTTPServer):
    """An S3 store that lists nothing and receives uploads, but acknowledges none until it is
    left."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self):
            with self.server.lock:
                self.server.held += 1
            self.server.released.wait()
            self.close_connection = True

        do_HEAD = do_PUT

        def log_message(self, *_):
            pass

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.held = 0

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self.server_close()


class SignIn(ServerCase):
    def test_a_wrong_password_and_an_unknown_account_look_alike(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server()
        answers = [
            server.request(
                "POST",
                "/api/v1/session",
                json.dumps({"account": name, "password": "wrong"}),
                {"Content-Type": "application/json"},
            )
            for name in ("ann", "nobody")
        ]
        self.assertEqual([response.status for response, _ in answers], [401, 401])
        self.assertEqual(answers[0][1], answers[1][1])

    def test_attempts_are_limited(self):
        add_user(self.root / "data", "ann", "admin")
        checker = Checker(self, self.server())
        for _ in range(20):
            checker.sign_in("ann")  # knows the password: not limited
        checker.cookie = None
        # Ten a minute, plus what the elapsed time allows.
        guesses, began = [], time.monotonic()
        while len(guesses) < 60 and 429 not in guesses:
            guesses.append(
                checker.server.request(
                    "POST",
                    "/api/v1/session",
                    json.dumps({"account": "ann", "password": "guess"}),
                    {"Content-Type": "application/json"},
                )[0].status
            )
        self.assertEqual(guesses, [401] * (len(guesses) - 1) + [429])
        self.assertGreater(len(guesses), 10)
        self.assertLessEqual(len(guesses) - 1, 10 + (time.monotonic() - began) * 10 / 60)
        response, _ = checker.ask(
            "POST", "/api/v1/session", {"account": "ann", "password": PASSWORD}, 429
        )
        self.assertGreater(int(response.headers["Retry-After"]), 0)

    def test_many_sign_ins_at_once_do_not_fill_the_memory(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server()

        def attempt(number):
            body = json.dumps({"account": f"guess{number}", "password": "x" * 100})
            return server.request(
                "POST", "/api/v1/session", body, {"Content-Type": "application/json"}
            )[0].status

        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            statuses = set(pool.map(attempt, range(200)))
        self.assertLessEqual(statuses, {401, 429})
        self.assertIn(429, statuses)
        # Two hash at a time, 46 MiB each.
        check_memory(SERVER, memory_peak_bytes(server.process), 200 * MIB, "200 sign-ins at once")

    def test_the_cookie(self):
        add_user(self.root / "data", "ann", "admin")
        checker = Checker(self, self.server())
        cookie = checker.sign_in("ann").headers["Set-Cookie"]
        self.assertTrue(cookie.startswith("lagtrap="))
        for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
            self.assertIn(part, cookie)
        stolen = checker.cookie
        checker.ask("DELETE", "/api/v1/session", expect=204)
        checker.cookie = stolen
        checker.ask("GET", "/api/v1/session", expect=401)
        checker.cookie = "lagtrap=" + "A" * 43
        checker.ask("GET", "/api/v1/session", expect=401)

    def test_behind_a_proxy_passwords_need_https(self):
        add_user(self.root / "data", "ann", "admin")
        checker = Checker(self, self.server("--behind-proxy"))
        body = {"account": "ann", "password": PASSWORD}
        checker.ask("POST", "/api/v1/session", body, 403, {"X-Forwarded-For": "192.0.2.1"})
        response, _ = checker.ask(
            "POST",
            "/api/v1/session",
            body,
            204,
            {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"},
        )
        cookie = response.headers["Set-Cookie"]
        self.assertTrue(cookie.startswith("__Host-lagtrap="))
        self.assertIn("; Secure", cookie)

    def test_a_header_of_a_proxy_is_not_believed_without_one(self):
        add_user(self.root / "data", "ann", "admin")
        checker = Checker(self, self.server())
        response, _ = checker.ask(
            "POST",
            "/api/v1/session",
            {"account": "ann", "password": PASSWORD},
            204,
            {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"},
        )
        self.assertTrue(response.headers["Set-Cookie"].startswith("lagtrap="))

    def guess(self, server, account, forwarded):
        """The status of a wrong password, with these lines of X-Forwarded-For."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        with contextlib.closing(connection):
            body = json.dumps({"account": account, "password": "guess"})
            connection.putrequest("POST", "/api/v1/session")
            for line in forwarded:
                connection.putheader("X-Forwarded-For", line)
            for name, value in {
                "X-Forwarded-Proto": "https",
                "Content-Type": "application/json",
                "Sec-Fetch-Site": "same-origin",
                "Content-Length": str(len(body)),
            }.items():
                connection.putheader(name, value)
            connection.endheaders(body.encode())
            return connection.getresponse().status

    def test_a_client_does_not_choose_its_address_by_a_line_of_its_own(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server("--behind-proxy")
        lines = [[f"203.0.113.{number}", "2001:db8:1:2::%x" % number] for number in range(11)]
        # By the proxy's own line, all come from one /64 network.
        self.assertEqual([self.guess(server, "ann", pair) for pair in lines], [401] * 10 + [429])

    def test_headers_are_believed_from_trusted_proxies_alone(self):
        add_user(self.root / "data", "ann", "admin")
        body = {"account": "ann", "password": PASSWORD}
        headers = {"X-Forwarded-For": "192.0.2.1, 127.0.0.1", "X-Forwarded-Proto": "https"}
        for network, cookie in (("10.0.0.0/8", "lagtrap="), ("127.0.0.0/8", "__Host-lagtrap=")):
            checker = Checker(self, self.server("--behind-proxy", "--trusted-proxy", network))
            response, _ = checker.ask("POST", "/api/v1/session", body, 204, headers)
            self.assertTrue(response.headers["Set-Cookie"].startswith(cookie), network)

    def test_a_client_on_the_proxys_own_machine(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server("--behind-proxy", "--trusted-proxy", "127.0.0.1")
        body = {"account": "ann", "password": PASSWORD}
        checker = Checker(self, server)
        response, _ = checker.ask(
            "POST",
            "/api/v1/session",
            body,
            204,
            {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"},
        )
        self.assertTrue(response.headers["Set-Cookie"].startswith("__Host-lagtrap="))
        # The proxy names a client without TLS, however near it is.
        checker.ask(
            "POST",
            "/api/v1/session",
            body,
            403,
            {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http"},
        )
        # No forwarded client: an operator on the server's machine.
        response, _ = checker.ask("POST", "/api/v1/session", body, 204)
        self.assertTrue(response.headers["Set-Cookie"].startswith("lagtrap="))

    def test_one_sender_keeps_nobody_from_signing_in(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server("--behind-proxy")
        stop = threading.Event()
        heard = set()

        def flood(number):
            while not stop.is_set():
                heard.add(self.guess(server, f"guess{number}-{len(heard)}", ["192.0.2.66"]))

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            floods = [pool.submit(flood, number) for number in range(32)]
            try:
                wait_for(lambda: 429 in heard, "the flood to be refused")
                checker = Checker(self, server)
                for number in range(11):  # more guesses than one sender may make in a minute
                    checker.ask(
                        "POST",
                        "/api/v1/session",
                        {"account": "ann", "password": PASSWORD},
                        204,
                        {"X-Forwarded-For": f"192.0.2.{number}", "X-Forwarded-Proto": "https"},
                    )
            finally:
                stop.set()
            for one in floods:
                one.result()


class Rights(ServerCase):
    def test_roles(self):
        checker = self.open_world()
        self.upload_all(checker)
        run = checker.ask("GET", "/api/v1/events/query/runs?limit=1")[1]["runs"][0]["id"]
        add_user(self.root / "data", "ulla", "uploader")
        content = self.make_runs(9)
        reads = ["/api/v1/events", "/api/v1/bundles", "/metrics", "/api/v1/session"]
        for account, may_upload in (("rita", False), ("ulla", True)):
            checker.sign_in(account)
            for path in reads:
                checker.ask("GET", path)
            checker.ask("POST", "/api/v1/compare", {"a": [run], "b": [run]})
            checker.ask(
                "PUT",
                f"/api/v1/batches/{sha256(content)}",
                content,
                201 if may_upload else 403,
                content_type="application/zstd",
            )
            checker.ask(
                "PUT",
                f"/api/v1/runs/{run}/dirty",
                {"dirty": False, "reason": ""},
                200 if may_upload else 403,
            )
            for path in ("/api/v1/accounts", "/api/v1/tokens", "/api/v1/audit"):
                checker.ask("GET", path, expect=403)
            checker.ask("POST", "/api/v1/tokens", {"name": "x", "scope": "admin"}, 403)
            checker.ask("DELETE", "/api/v1/accounts/ann", expect=403)
        checker.cookie = None
        for path in reads:
            checker.ask("GET", path, expect=401)
        self.assertEqual(checker.server.request("GET", "/")[0].status, 200)

    def test_foreign_pages_change_nothing(self):
        checker = self.open_world()
        new = {"name": "x", "scope": "admin"}
        host = f"127.0.0.1:{checker.server.port}"
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "", "Origin": "null"},
            {"Sec-Fetch-Site": ""},
        ):
            checker.ask("POST", "/api/v1/tokens", new, 403, headers)
        checker.ask("POST", "/api/v1/tokens", new, 400, content_type="text/plain")
        self.assertEqual(checker.ask("GET", "/api/v1/tokens")[1]["tokens"], [])
        checker.ask(
            "POST", "/api/v1/tokens", new, 201, {"Sec-Fetch-Site": "", "Origin": f"http://{host}"}
        )

    def test_an_open_server_answers_this_machine_alone(self):
        server = self.server()
        self.assertEqual(
            server.request("GET", "/api/v1/session", headers={"Host": "evil.example"})[0].status,
            421,
        )
        # Pages contain no foreign address unless the operator configures one.
        self.assertNotIn(b"perfetto.dev", server.request("GET", "/")[1])
        for name in ("Via", "Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Real-IP"):
            self.assertEqual(
                server.request("GET", "/api/v1/session", headers={name: "192.0.2.1"})[0].status,
                421,
                name,
            )
        new = json.dumps({"account": "ann", "password": PASSWORD, "role": "admin"})
        kind = {"Content-Type": "application/json"}
        self.assertEqual(
            server.request(
                "POST", "/api/v1/accounts", new, {**kind, "Origin": "https://evil.example"}
            )[0].status,
            403,
        )
        self.assertEqual(server.request("POST", "/api/v1/accounts", new, kind)[0].status, 201)
        # The first account ends open access.
        self.assertEqual(server.request("GET", "/api/v1/accounts")[0].status, 401)

    def test_nobody_else_may_read_its_files(self):
        before = os.umask(0)
        try:
            checker = self.open_world()
        finally:
            os.umask(before)
        self.upload_all(checker)
        subprocess.run(
            [SERVER, "--data", self.root / "data", "backup", self.root / "data" / "copy.sqlite"],
            check=True,
            capture_output=True,
            umask=0,
        )
        paths = [path for path in (self.root / "data").rglob("*")]
        self.assertGreater(len(paths), 6)
        for path in paths:
            self.assertEqual(path.stat().st_mode & 0o077, 0, f"{path}: {path.stat().st_mode:o}")

    def test_a_token_made_on_the_command_line_closes_the_server_too(self):
        server = self.server()
        made = subprocess.run(
            [SERVER, "--data", self.root / "data", "token", "add", "rack", "--scope", "upload"],
            check=True,
            capture_output=True,
            text=True,
        )
        self.assertIn("lagtrap-server user add NAME --role admin", made.stderr)
        wait_for(
            lambda: server.request("GET", "/api/v1/tokens")[0].status == 401, "the server to close"
        )

    def test_tokens_of_one_host(self):
        checker = self.open_world()
        _, made = checker.ask(
            "POST", "/api/v1/tokens", {"name": "db1", "scope": "upload", "host": "db1"}, 201
        )
        headers = {"Authorization": f"Bearer {made['token']}"}
        own, other = self.make_runs(1, host="db1"), self.make_runs(1, host="db2")
        request = checker.server.request
        self.assertEqual(
            request("PUT", f"/api/v1/batches/{sha256(own)}", own, headers)[0].status, 201
        )
        response, body = request("PUT", f"/api/v1/batches/{sha256(other)}", other, headers)
        self.assertEqual(
            (response.status, json.loads(body)["error"]["message"]),
            (403, "the token may speak for host db1 alone, not for db2"),
        )
        foreign = self.make_bundle(5, host="db2")
        self.assertEqual(
            request("PUT", f"/api/v1/bundles/{sha256(foreign)}", foreign, headers)[0].status, 201
        )

        def reason():
            (row,) = checker.ask("GET", "/api/v1/bundles")[1]["bundles"]
            return row["bad_reason"]

        self.assertIn("it is of host db2", wait_for(reason, "the bundle to be marked"))
        self.assertEqual(request("GET", "/api/v1/events", headers=headers)[0].status, 403)
        broken = {"Authorization": f"Bearer {made['token'][:-1]}"}
        self.assertEqual(request("GET", "/api/v1/events", headers=broken)[0].status, 401)


class Floods(ServerCase):
    def status_of(self, server, path="/api/v1/events"):
        return server.request("GET", path)[0]

    def test_requests_of_one_sender_are_limited(self):
        server = self.server("--requests-per-second", "5")
        answers = [self.status_of(server) for _ in range(60)]
        refused = [answer for answer in answers if answer.status == 429]
        self.assertEqual(sum(answer.status == 200 for answer in answers[:20]), 20)
        self.assertTrue(refused)
        self.assertGreater(int(refused[0].headers["Retry-After"]), 0)
        self.assertEqual(self.status_of(server, "/healthz").status, 200)

    def test_bytes_of_one_sender_are_limited(self):
        server = self.server("--upload-rate", "10KiB")
        self.assertEqual(server.put(os.urandom(500_000))[0].status, 201)
        response, _ = server.put(os.urandom(500_000))
        self.assertEqual(response.status, 429)
        self.assertGreater(int(response.headers["Retry-After"]), 1)

    def test_the_quota_of_a_day(self):
        server = self.server("--daily-quota", "1MiB")
        self.assertEqual(server.put(os.urandom(700_000))[0].status, 201)
        response, body = server.put(os.urandom(700_000))
        self.assertEqual(response.status, 429)
        self.assertIn("quota", json.loads(body)["error"]["message"])
        self.assertEqual(server.put(os.urandom(200_000))[0].status, 201)
        server.stop()
        server = self.server("--daily-quota", "1MiB")
        self.assertEqual(
            server.put(os.urandom(700_000))[0].status, 429, "another start is no other day"
        )

    def test_uploads_at_once_are_limited(self):
        server = self.server("--max-uploads", "1")
        content = os.urandom(2 * MIB)
        with contextlib.closing(server.begin_upload(content, MIB)):
            self.assertEqual(server.put(b"another")[0].status, 429)
            self.assertEqual(server.metric("uploads"), 1)
        wait_for(
            lambda: server.put(b"another")[0].status == 201, "the place of the upload that ended"
        )

    def large_trace(self):
        """The digest of a bundle whose trace is larger than socket buffers."""
        raw = subprocess.run(
            ["zstd", "-dcq"], input=self.make_bundle(7), stdout=subprocess.PIPE, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            system = archive.extractfile("system.xml").read()
        return packed([("system.xml", system), ("trace.pftrace", os.urandom(64 * MIB))])

    def test_slow_downloads_hold_few_parsers(self):
        checker = self.open_world()
        content = self.large_trace()
        address = f"/api/v1/bundles/{sha256(content)}"
        checker.ask("PUT", address, content, 201, content_type="application/zstd")
        wait_for(
            lambda: checker.ask("GET", "/api/v1/bundles")[1]["bundles"][0]["parsed"],
            "the bundle to be looked into",
        )
        rita = Checker(self, checker.server)
        rita.sign_in("rita")

        def begin(who):
            """A download of the trace of which only the beginning is read."""
            connection = socket.create_connection(("127.0.0.1", checker.server.port), timeout=60)
            self.addCleanup(connection.close)
            connection.sendall(
                f"GET {address}/trace HTTP/1.1\r\nHost: localhost\r\nCookie: {who.cookie}\r\n"
                "\r\n".encode()
            )
            return connection, connection.recv(12)

        slow = [begin(checker) for _ in range(3)]
        self.assertEqual(
            [status for _, status in slow], [b"HTTP/1.1 200", b"HTTP/1.1 200", b"HTTP/1.1 429"]
        )
        checker.ask("GET", f"{address}/delays/1/export?format=pprof", expect=429)
        self.assertEqual(begin(rita)[1], b"HTTP/1.1 200")
        # A bundle needs no parser.
        self.assertEqual(checker.ask("GET", address)[1], content)
        slow[0][0].close()
        wait_for(lambda: begin(checker)[1] == b"HTTP/1.1 200", "the place of a download that ended")
        entries = {
            (entry["who"], entry["action"], entry["object"])
            for entry in checker.ask("GET", "/api/v1/audit")[1]["entries"]
        }
        for entry in (
            ("ann", "download trace"),
            ("rita", "download trace"),
            ("ann", "download bundle"),
        ):
            self.assertIn((*entry, sha256(content)), entries)

    def test_connections_of_one_address_are_limited(self):
        server = self.server("--max-connections-of-address", "2", "--max-connections", "8")
        others = []
        held = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(2)]
        try:
            for one in held:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(one.recv(100).startswith(b"HTTP/1.1 200"))
            with contextlib.closing(
                socket.create_connection(("127.0.0.1", server.port), timeout=60)
            ) as third:
                self.assertTrue(third.recv(100).startswith(b"HTTP/1.1 429"))
            # Another address of this machine.
            others = [
                socket.create_connection(("127.0.0.1", server.port), 60, ("127.0.0.2", 0))
                for _ in range(2)
            ]
            for one in others:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(one.recv(100).startswith(b"HTTP/1.1 200"))
        finally:
            for one in held + others:
                one.close()

        def answers():
            with contextlib.suppress(http.client.HTTPException, OSError):
                return self.status_of(server, "/healthz").status == 200
            return False

        wait_for(answers, "room for a connection")
        self.assertEqual(
            server.metric("connections_refused_of_address_total"),
            server.metric("connections_refused_total"),
        )
        self.assertGreaterEqual(server.metric("connections_refused_of_address_total"), 1)

    def test_a_proxy_that_is_believed_may_have_all(self):
        for trusted, refused in (
            (["--trusted-proxy", "127.0.0.1"], False),
            (["--trusted-proxy", "10.0.0.1"], True),
            ([], False),
        ):
            server = self.server(
                "--max-connections-of-address",
                "1",
                "--behind-proxy",
                *trusted,
                "--token-file",
                self.tokens(),
                data=f"data-{len(trusted)}-{refused}",
            )
            with contextlib.ExitStack() as stack:
                for number in range(3):
                    one = stack.enter_context(
                        contextlib.closing(
                            socket.create_connection(("127.0.0.1", server.port), timeout=60)
                        )
                    )
                    one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    want = b"HTTP/1.1 429" if refused and number else b"HTTP/1.1 200"
                    self.assertTrue(one.recv(100).startswith(want), (trusted, number))

    def tokens(self):
        path = self.root / "tokens"
        path.write_text(f"somebody upload {sha256(os.urandom(8))}\n")
        return path

    def test_a_slow_loris_keeps_nobody_out(self):
        server = self.server("--header-timeout", "1s", "--max-connections", "300")
        lorises = [
            socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(250)
        ]
        try:
            for one in lorises:
                one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            self.assertEqual(server.put(os.urandom(MIB))[0].status, 201)

            def ended():
                # An occasional byte does not help: the whole header has a deadline.
                for one in lorises:
                    with contextlib.suppress(OSError):
                        one.send(b"x")
                return server.metric("connections") <= 1

            wait_for(ended, "the slow connections to be dropped")
        finally:
            for one in lorises:
                one.close()

    def test_storage_that_stands_still_holds_up_nothing_else(self):
        """More uploads than the server has threads wait for a bucket that receives them and
        never answers."""
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        with StalledBucket() as bucket, unittest.mock.patch.dict(
            os.environ, keys
        ), contextlib.ExitStack() as sockets:
            server = self.server("--blobs", f"s3://lagtrap?endpoint={bucket.address}")
            for content in (os.urandom(1000) for _ in range(40)):
                one = sockets.enter_context(
                    socket.create_connection(("127.0.0.1", server.port), timeout=60)
                )
                one.sendall(
                    f"PUT /api/v1/bundles/{sha256(content)} HTTP/1.1\r\nHost: localhost\r\n"
                    f"Content-Length: {len(content)}\r\n\r\n".encode() + content
                )
            wait_for(lambda: bucket.held > 0, "the first upload to wait for the bucket")
            wait_for(
                lambda: server.metric("upload_bytes_total") == 40_000,
                "the others to wait behind it",
            )
            for path in ("/healthz", "/api/v1/events", "/metrics"):
                self.assertEqual(server.request("GET", path)[0].status, 200, path)

    def test_two_hundred_uploads_at_once(self):
        server = self.server()
        contents = [os.urandom(MIB) for _ in range(200)]
        sockets = [
            socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in contents
        ]
        heads = [
            f"PUT /api/v1/bundles/{sha256(content)} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n".encode()
            for content in contents
        ]
        for one, head, content in zip(sockets, heads, contents):
            one.sendall(head + content[: MIB // 2])
        wait_for(lambda: server.metric("uploads") == 200, "200 uploads to run at once")
        for one, content in zip(sockets, contents):
            one.sendall(content[MIB // 2 :])
        for one in sockets:
            response = http.client.HTTPResponse(one)
            response.begin()
            self.assertEqual(response.status, 201)
            one.close()
        check_memory(SERVER, memory_peak_bytes(server.process), 64 * MIB, "200 uploads at once")
        self.assertEqual(server.metric("bundles"), 200)
        self.assertEqual(server.incoming(), [])


class Certificates(ServerCase):
    certificate = Tls.certificate

    def peer_of(self, server, ca):
        context = ssl.create_default_context(cafile=ca)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(
                    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                )
                answer = b""
                while piece := secure.recv(4096):
                    answer += piece
                return secure.getpeercert()["serialNumber"], answer

    def test_a_certificate_is_read_again_at_sighup(self):
        ca, certificate, key = self.certificate("first", "IP:127.0.0.1")
        other_ca, other_certificate, other_key = self.certificate("second", "IP:127.0.0.1")
        server = self.server("--tls-certificate", certificate, "--tls-key", key)
        first, answer = self.peer_of(server, ca)
        self.assertIn(b"Strict-Transport-Security: max-age=", answer)
        os.replace(other_certificate, certificate)
        server.process.send_signal(signal.SIGHUP)
        wait_for(
            lambda: "is not the key of" in server.log()
            or "the certificate is unchanged" in server.log(),
            "the wrong pair to be refused",
        )
        self.assertEqual(self.peer_of(server, ca)[0], first)
        os.replace(other_key, key)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "reloaded the certificate" in server.log(), "the certificate to be read")
        self.assertNotEqual(self.peer_of(server, other_ca)[0], first)

    def test_sessions_over_tls(self):
        add_user(self.root / "data", "ann", "admin")
        ca, certificate, key = self.certificate("first", "IP:127.0.0.1")
        server = self.server("--tls-certificate", certificate, "--tls-key", key)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=60, context=ssl.create_default_context(cafile=ca)
        )
        with contextlib.closing(connection):
            connection.request(
                "POST",
                "/api/v1/session",
                json.dumps({"account": "ann", "password": PASSWORD}),
                {"Content-Type": "application/json"},
            )
            response = connection.getresponse()
            response.read()
            cookie = response.headers["Set-Cookie"]
            self.assertTrue(cookie.startswith("__Host-lagtrap="))
            self.assertIn("; Secure", cookie)
            connection.request("GET", "/api/v1/session", headers={"Cookie": cookie.split(";")[0]})
            self.assertEqual(json.loads(connection.getresponse().read())["account"], "ann")


def packed(members, compress=True):
    """A bundle of (name, content or TarInfo)."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            if not isinstance(content, tarfile.TarInfo):
                info.size = len(content)
            archive.addfile(
                info, None if isinstance(content, tarfile.TarInfo) else io.BytesIO(content)
            )
    return subprocess.run(
        ["zstd", "-q", "-1"], input=raw.getvalue(), stdout=subprocess.PIPE, check=True
    ).stdout


def bomb_of(system, trace_bytes):
    """A bundle whose trace is zeros, generated piece by piece."""
    with tempfile.TemporaryFile() as packed_file, subprocess.Popen(
        ["zstd", "-q", "-1"], stdin=subprocess.PIPE, stdout=packed_file
    ) as zstd:
        with open("/dev/zero", "rb") as zeros, tarfile.open(
            fileobj=zstd.stdin, mode="w|", format=tarfile.PAX_FORMAT, bufsize=MIB, copybufsize=MIB
        ) as archive:
            for name, content, size in (
                ("system.xml", io.BytesIO(system), len(system)),
                ("trace.pftrace", zeros, trace_bytes),
            ):
                info = tarfile.TarInfo(name)
                info.size = size
                archive.addfile(info, content)
        zstd.communicate()
        packed_file.seek(0)
        return packed_file.read()


class HostileBundles(ServerCase):
    def system_file(self):
        raw = subprocess.run(
            ["zstd", "-dcq"], input=self.make_bundle(1), stdout=subprocess.PIPE, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            return archive.extractfile("system.xml").read()

    def test_they_are_kept_marked_and_harm_nothing(self):
        system = self.system_file()
        link = tarfile.TarInfo("system.xml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        entities = (
            b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(
                b'<!ENTITY %c "&%c;&%c;&%c;&%c;">' % (98 + i, 97 + i, 97 + i, 97 + i, 97 + i)
                for i in range(20)
            )
            + b"]><x>&u;</x>"
        )
        hostile = {
            "a link": packed([("system.xml", link), ("trace.pftrace", b"x")]),
            "another name": packed([("../../etc/passwd", b"x"), ("system.xml", system)]),
            "no system file": packed([("trace.pftrace", b"x")]),
            "a bomb": bomb_of(system, 600 * MIB),
            "a bomb of XML": packed([("system.xml", entities), ("trace.pftrace", b"x")]),
            "a large system file": packed(
                [("system.xml", bytes(20 * MIB)), ("trace.pftrace", b"x")]
            ),
            "cut short": self.make_bundle(2)[:1000],
            "no archive": os.urandom(100_000),
            "zeros": subprocess.run(
                ["zstd", "-q"], input=bytes(64 * MIB), stdout=subprocess.PIPE, check=True
            ).stdout,
        }
        server = self.server()
        for name, content in hostile.items():
            self.assertEqual(server.put(content)[0].status, 201, name)
        good = self.make_bundle(3)
        self.assertEqual(server.put(good)[0].status, 201)
        rows = {row["digest"]: row for row in server.parsed_bundles()}
        for name, content in hostile.items():
            row = rows[sha256(content)]
            self.assertTrue(row["bad_reason"], name)
            self.assertNotIn(str(self.root), row["bad_reason"])
            print(f"{name}: {row['bad_reason']}", file=sys.stderr)
            address = f"/api/v1/bundles/{row['digest']}"
            self.assertEqual(server.request("GET", address)[1], content, name)
            for part in ("/system", "/trace", "/delays", "/delays/1/timeline", "/delays/1/machine"):
                self.assertEqual(server.request("GET", address + part)[0].status, 422, name + part)
        self.assertIsNone(rows[sha256(good)]["bad_reason"])
        # A damaged trace beside a valid system file loses the profiles, not the list.
        torn = packed([("system.xml", system), ("trace.pftrace", b"no packets")])
        server.put(torn)
        (row,) = [row for row in server.parsed_bundles() if row["digest"] == sha256(torn)]
        self.assertIsNone(row["bad_reason"])
        delays = json.loads(server.request("GET", f"/api/v1/bundles/{sha256(torn)}/delays")[1])
        self.assertIn("the trace cannot be read", delays["quality"]["notes"][0])
        self.assertEqual(
            server.request("GET", f"/api/v1/bundles/{sha256(torn)}/delays/1/profile")[0].status, 422
        )
        check_memory(SERVER, memory_peak_bytes(server.process), 150 * MIB, "the server itself")
        self.assertEqual(server.metric("bundles_bad"), len(hostile))

    def test_hostile_batches_are_refused(self):
        server = self.server()
        bomb = subprocess.run(
            ["zstd", "-q"], input=bytes(64 * MIB), stdout=subprocess.PIPE, check=True
        ).stdout
        good = self.make_runs(1)
        for content in (bomb, os.urandom(1000), good[:-10], b"x"):
            response, body = server.request("PUT", f"/api/v1/batches/{sha256(content)}", content)
            self.assertEqual(response.status, 422, body)
        large = os.urandom(MIB + 1)
        self.assertEqual(
            server.request("PUT", f"/api/v1/batches/{sha256(large)}", large)[0].status, 413
        )
        self.assertEqual(
            server.request("PUT", f"/api/v1/batches/{sha256(b'other')}", good)[0].status, 422
        )
        wrong = {"Content-Digest": "sha-256=:AAAA:"}
        self.assertEqual(
            server.request("PUT", f"/api/v1/batches/{sha256(good)}", good, wrong)[0].status, 400
        )
        self.assertEqual(server.metric("runs"), 0)
        self.assertEqual(
            server.request("PUT", f"/api/v1/batches/{sha256(good)}", good)[0].status, 201
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
