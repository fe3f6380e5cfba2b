"""Limits of the real server and the real uploader: requests, tokens, TLS, a full disk, and users
without privileges.

Arguments: names of test classes.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from lagtrap_server import sha256
from lagtrap_test import SERVER, UPLOADER, skip, wait_for
from upload_world import FOLDERS, MIB, SpoolCase


class Limits(SpoolCase):
    def test_requests_are_bounded(self):
        server = self.server("--max-bundle", "1MiB")
        digest = sha256(b"x")
        large = {"Content-Length": str(2 * MIB), "Expect": "100-continue"}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest("PUT", f"/api/v1/bundles/{digest}")
            for name, value in large.items():
                connection.putheader(name, value)
            connection.endheaders()  # without a body: the answer comes before it
            response = connection.getresponse()
            self.assertEqual(response.status, 413)
            self.assertIn("--max-bundle", json.loads(response.read())["error"]["message"])
        self.assertEqual(server.put(os.urandom(2 * MIB))[0].status, 413)
        self.assertEqual(server.put(b"")[0].status, 400)
        chunked = server.request(
            "PUT", f"/api/v1/bundles/{digest}", iter([b"x"]), {"Transfer-Encoding": "chunked"}
        )
        self.assertEqual(chunked[0].status, 411)
        typed = server.request(
            "PUT", f"/api/v1/bundles/{digest}", b"x", {"Content-Type": "text/html"}
        )
        self.assertEqual(typed[0].status, 415)
        self.assertEqual(
            server.request("GET", "/", headers={"X-Long": "x" * 20_000})[0].status, 431
        )
        self.assertEqual(
            server.request("GET", "/", headers={"Host": "delays.example.org"})[0].status, 421
        )
        self.assertEqual(server.bundles(), [])

    def test_a_curl_that_expects_100_continue_is_served(self):
        server = self.server()
        content = os.urandom(2 * MIB)
        digest = sha256(content)
        with contextlib.closing(
            socket.create_connection(("127.0.0.1", server.port), timeout=60)
        ) as upload:
            upload.sendall(
                f"PUT /api/v1/bundles/{digest} HTTP/1.1\r\nHost: localhost\r\n"
                "Expect: 100-continue\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
            )
            interim = b""
            while b"\r\n\r\n" not in interim:
                interim += upload.recv(1)
            self.assertTrue(interim.startswith(b"HTTP/1.1 100 "), interim)
            upload.sendall(content)
            response = http.client.HTTPResponse(upload)
            response.begin()
            self.assertEqual(response.status, 201)

    def test_slow_senders_are_dropped(self):
        server = self.server("--header-timeout", "200ms", "--body-timeout", "200ms")
        with contextlib.closing(
            socket.create_connection(("127.0.0.1", server.port), timeout=60)
        ) as quiet:
            quiet.sendall(b"GET / HT")
            self.assertEqual(quiet.recv(100), b"")
        content = os.urandom(MIB)
        with contextlib.closing(
            socket.create_connection(("127.0.0.1", server.port), timeout=60)
        ) as quiet:
            quiet.sendall(
                f"PUT /api/v1/bundles/{sha256(content)} HTTP/1.1\r\nHost: localhost\r\n"
                f"Content-Length: {MIB}\r\n\r\n".encode() + content[:1000]
            )
            self.assertEqual(quiet.recv(100), b"")
        wait_for(lambda: server.metric("uploads_aborted_total") == 1, "the upload to be counted")
        self.assertEqual(server.incoming(), [])

    def test_connections_are_counted(self):
        server = self.server("--max-connections", "2")
        held = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(2)]
        try:
            # A connection that was answered has certainly been admitted.
            for one in held:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(one.recv(100).startswith(b"HTTP/1.1 200"))
            with contextlib.closing(
                socket.create_connection(("127.0.0.1", server.port), timeout=60)
            ) as third:
                self.assertTrue(third.recv(100).startswith(b"HTTP/1.1 503"))
        finally:
            for one in held:
                one.close()
        wait_for(lambda: self.request_works(server), "room for a connection")
        self.assertGreaterEqual(server.metric("connections_refused_total"), 1)

    @staticmethod
    def request_works(server):
        with contextlib.suppress(http.client.HTTPException, OSError):
            return server.request("GET", "/healthz")[0].status == 200
        return False

    def test_retention_keeps_the_newest(self):
        server = self.server("--keep-size", "250KiB")
        contents = [os.urandom(100 * 1024) for _ in range(4)]
        for content in contents:
            server.put(content)
        self.assertEqual(
            [row["digest"] for row in server.bundles()], [sha256(contents[3]), sha256(contents[2])]
        )
        self.assertEqual(
            server.request("GET", f"/api/v1/bundles/{sha256(contents[0])}")[0].status, 404
        )
        self.assertEqual(server.metric("bundles_expired_total"), 2)


class Tokens(SpoolCase):
    def make_token(self, name, scope):
        lines = subprocess.run(
            [SERVER, "token", name, "--scope", scope], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        token = next(line for line in lines if line.startswith("lt_"))
        path = self.root / f"{name}.token"
        path.write_text(token + "\n")
        path.chmod(0o600)
        return token, lines[-1], path

    def test_scopes(self):
        sender, sender_line, sender_file = self.make_token("sender", "upload")
        reader, reader_line, reader_file = self.make_token("reader", "read")
        table = self.root / "tokens"
        table.write_text(f"# hosts\n{sender_line}\n{reader_line}\n")
        server = self.server("--token-file", str(table))
        name, content = self.add_bundle()

        code, lines = self.upload(server.url)
        self.assertIn("HTTP 401", lines)
        code, lines = self.upload(server.url, "--token-file", reader_file)
        self.assertEqual(code, 1)
        self.assertIn("HTTP 403: the token may not do this; it needs scope upload", lines)
        self.assertEqual(self.in_state("ready"), [name])
        sender_file.chmod(0o644)
        self.assertIn("chmod", self.upload(server.url, "--token-file", sender_file)[1])
        sender_file.chmod(0o600)
        code, lines = self.upload(server.url, "--token-file", sender_file)
        self.assertEqual(code, 0, lines)

        def status(path, token=None):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return server.request("GET", path, headers=headers)[0].status

        address = f"/api/v1/bundles/{sha256(content)}"
        for path in ("/api/v1/events", "/api/v1/bundles", address, "/metrics"):
            self.assertEqual(status(path), 401, path)
            self.assertEqual(status(path, sender), 403, path)
            self.assertEqual(status(path, reader), 200, path)
        self.assertEqual(status("/healthz"), 200)
        rows = json.loads(
            server.request("GET", "/api/v1/bundles", headers={"Authorization": f"Bearer {reader}"})[
                1
            ]
        )
        self.assertEqual(rows["bundles"][0]["sender"], "sender")
        self.assertNotIn(sender, server.log())

        table.write_text(sender_line + "\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "read 1 token(s)" in server.log(), "the tokens to be read again")
        self.assertEqual(status("/api/v1/bundles", reader), 401)

    def test_without_tokens_only_loopback(self):
        outcome = subprocess.run(
            [SERVER, "--listen", "0.0.0.0:0", "--data", self.root / "data"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(outcome.returncode, 2)
        self.assertIn("without accounts, tokens or --token-file", outcome.stderr)


class Tls(SpoolCase):
    def certificate(self, name, subject_name):
        """A CA and a server certificate issued by it; returns paths of CA, certificate and key."""

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.root, check=True, capture_output=True)

        openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            f"{name}-ca.key",
            "-out",
            f"{name}-ca.pem",
            "-days",
            "2",
            "-subj",
            f"/CN={name} test CA",
        )
        openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            "/CN=lagtrap",
        )
        (self.root / "extensions").write_text(f"subjectAltName={subject_name}\n")
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            f"{name}-ca.pem",
            "-CAkey",
            f"{name}-ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "extensions",
            "-out",
            f"{name}.pem",
        )
        return tuple(str(self.root / f"{name}{suffix}") for suffix in ("-ca.pem", ".pem", ".key"))

    def test_only_the_right_certificate_gets_the_bundle(self):
        ca, certificate, key = self.certificate("right", "IP:127.0.0.1")
        other_ca, _, _ = self.certificate("other", "IP:127.0.0.1")
        server = self.server("--tls-certificate", certificate, "--tls-key", key)
        self.assertTrue(server.url.startswith("https://"))
        name, _ = self.add_bundle(size=3 * MIB)
        for options in ((), ("--ca-file", other_ca)):
            code, lines = self.upload(server.url, *options)
            self.assertEqual(code, 1)
            self.assertIn("certificate problem", lines)
            self.assertEqual(self.in_state("ready"), [name])
        code, lines = self.upload(server.url, "--ca-file", ca)
        self.assertEqual(code, 0, lines)
        self.assertEqual(self.in_state("sent"), [name])
        self.assertEqual(server.stop(), 0)

    def test_a_certificate_for_another_name_is_refused(self):
        ca, certificate, key = self.certificate("named", "DNS:delays.example.org")
        server = self.server("--tls-certificate", certificate, "--tls-key", key)
        name, _ = self.add_bundle()
        code, lines = self.upload(server.url, "--ca-file", ca)
        self.assertEqual(code, 1)
        self.assertIn("no alternative certificate subject name matches", lines)
        self.assertEqual(self.in_state("ready"), [name])


def mount_small_disk(folder, check):
    return subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=check,
    )


def require_small_disk():
    with tempfile.TemporaryDirectory() as folder:
        mounted = mount_small_disk(folder, check=False)
        if mounted.returncode != 0:
            skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
        subprocess.run(["umount", folder], check=True)


class DiskFull(SpoolCase):
    def setUp(self):
        super().setUp()
        self.disk = self.root / "disk"
        self.disk.mkdir()
        mount_small_disk(self.disk, check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def test_a_full_disk_is_said_and_keeps_nothing_half(self):
        server = self.server(data="disk/data")
        content = os.urandom(4 * MIB)
        with contextlib.closing(server.begin_upload(content, MIB)) as upload:
            with self.assertRaises(OSError), open(
                self.disk / "filler", "wb", buffering=0
            ) as filler:
                while True:
                    filler.write(b"x" * 4096)
            upload.sendall(content[MIB:])
            response = http.client.HTTPResponse(upload)
            response.begin()
            self.assertEqual(response.status, 507)
            self.assertIn("disk is full", json.loads(response.read())["error"]["message"])
        self.assertEqual(server.incoming(), [])
        name, _ = self.add_bundle()
        code, lines = self.upload(server.url)
        self.assertIn("HTTP 507", lines)
        self.assertEqual(self.in_state("ready"), [name])
        (self.disk / "filler").unlink()
        self.assertEqual(self.upload(server.url)[0], 0)
        self.assertEqual(len(server.bundles()), 1)


class Unprivileged(SpoolCase):
    """Files of root, folders of a group, an uploader with nothing but its groups."""

    READERS, WRITERS, USER = 54321, 54323, 54322

    def prepare(self, group, mode):
        """Two bundles, the second of them damaged, in folders of this group and mode; returns
        their names."""
        self.root.chmod(0o755)
        os.chown(self.spool, 0, self.READERS)
        self.spool.chmod(0o750)
        for folder in FOLDERS[1:]:
            os.chown(self.spool / folder, 0, group)
            (self.spool / folder).chmod(mode)
        os.umask(0o027)
        names = []
        for content in (b"good" * 1000, None):
            name, _ = self.add_bundle(
                content or b"damaged", digest=None if content else sha256(b"as written")
            )
            os.chown(self.spool / "ready" / name, 0, self.READERS)
            (self.spool / "ready" / name).chmod(0o640)
            names.append(name)
        return names

    def send(self, server, groups):
        return subprocess.run(
            [UPLOADER, "--spool", self.spool, "--url", server.url, "--once"],
            capture_output=True,
            text=True,
            user=self.USER,
            group=self.USER,
            extra_groups=groups,
            cwd="/",
        )

    def check_sent(self, names, groups):
        server = self.server()
        outcome = self.send(server, groups)
        self.assertEqual(outcome.returncode, 1, outcome.stderr)
        self.assertEqual(self.in_state("sent"), names[:1], outcome.stdout + outcome.stderr)
        self.assertEqual(self.in_state("rejected"), names[1:])
        for fewer in ([], groups[:-1]):
            outcome = self.send(server, fewer)
            self.assertEqual(outcome.returncode, 1)
            self.assertIn("this user must be in the folder's group", outcome.stderr)

    def test_where_one_group_may_read_and_write(self):
        self.check_sent(self.prepare(self.READERS, 0o2770), [self.READERS])

    def test_where_writers_are_a_group_of_their_own(self):
        """As the packages set it up."""
        names = self.prepare(self.WRITERS, 0o775)
        self.check_sent(names, [self.READERS, self.WRITERS])
        # Users who may only read can see why.
        reason = subprocess.run(
            ["cat", self.spool / "rejected" / f"{names[1]}.reason"],
            capture_output=True,
            text=True,
            user=self.USER,
            group=self.USER,
            extra_groups=[self.READERS],
            cwd="/",
        )
        self.assertEqual(reason.returncode, 0, reason.stderr)


if __name__ == "__main__":
    if "DiskFull" in sys.argv:
        if os.geteuid() != 0:
            skip("needs root, to fill a disk and to act as another user")
        require_small_disk()
    unittest.main(verbosity=2)
