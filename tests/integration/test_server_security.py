"""Refusals of the server: passwords, sessions, tokens, foreign pages, floods, hostile bundles."""

import contextlib
import http.client
import http.server
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import unittest.mock

from lagtrap_server import PASSWORD, add_user, sha256
from lagtrap_test import SERVER, check_memory, wait_for
from server_case import Checker, ServerCase, memory_peak_bytes
import test_upload_limits
from upload_world import MIB


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
    certificate = test_upload_limits.Tls.certificate

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
