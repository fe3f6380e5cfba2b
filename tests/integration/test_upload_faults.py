"""The real uploader against misbehaving servers, proxies and name servers: nothing is lost,
nothing is sent where it does not belong, and no server is contacted more often than the
documented back-off allows."""

import contextlib
import datetime
import email.utils
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from lagtrap_test import wait_for
from upload_world import Port, Service, SpoolCase, confirm, confirmation, read_head, relay

TOKEN = "lt_a-token-that-nobody-else-may-see"


class Proxy(Port):
    """A forward proxy that supports CONNECT. With `refusal`, a complete answer, it forwards
    nothing."""

    def __init__(self, refusal=None):
        self.refusal = refusal
        self.heads = []  # the beginning of each request, up to the empty line
        super().__init__()

    def serve(self, client):
        head = read_head(client)
        if head is None:
            return
        self.heads.append(head.partition(b"\r\n\r\n")[0].decode())
        if self.refusal:
            client.sendall(self.refusal)
            return
        method, address, _ = head.split(b" ", 2)
        place = address if method == b"CONNECT" else re.match(rb"http://([^/]+)", address).group(1)
        host, port = place.rsplit(b":", 1)
        with socket.create_connection((host.decode(), int(port))) as server:
            if method == b"CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(head.replace(b"http://" + place, b"", 1))
            relay(client, server)


class RawServer(Port):
    """Reads the request's head, answers PUT with `answer` (HEAD with 404), and closes the
    connection."""

    def __init__(self, answer):
        self.answer = answer
        super().__init__()

    def serve(self, client):
        head = read_head(client)
        if head is None:
            return
        if head.startswith(b"HEAD"):
            client.sendall(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            return
        client.sendall(self.answer)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):  # a reset would overtake the answer
            pass


class Case(SpoolCase):
    def proxy(self, refusal=None):
        proxy = Proxy(refusal)
        self.addCleanup(proxy.close)
        return proxy

    def add_one(self, size=20_000):
        """A bundle in ready/; returns its name."""
        return self.add_bundle(size=size)[0]

    def token_file(self):
        path = self.root / "token"
        path.write_text(TOKEN + "\n")
        path.chmod(0o600)
        return path

    def assert_tried_later(self, outcome, *said):
        code, lines = outcome
        self.assertEqual(code, 1, lines)
        for text in ("try later", *said):
            self.assertIn(text, lines)
        self.assertEqual(
            self.in_state("sent") + self.in_state("rejected") + self.in_state("sending"), []
        )


class BackOff(Case):
    def assert_schedule_kept(self, service, server, failures):
        """Each wait is below the documented ceiling, and the server was contacted when the waits
        were over: not sooner, and not more often."""
        waits = service.wait_for_failures(failures)[:failures]
        for index, wait in enumerate(waits):
            self.assertLessEqual(wait, 2**index + 0.1, waits)
        asked = [when for *_, when in server.of("HEAD")]
        self.assertLessEqual(len(asked), len(service.waits_s()) + 1, service.log())
        for first, second, wait in zip(asked, asked[1:], waits):
            self.assertGreaterEqual(second - first, wait - 0.2, f"{asked} {waits}")

    def test_a_server_in_trouble_is_asked_as_documented(self):
        server = self.odd_server(head=lambda request: request.reply(503))
        names = [self.add_one() for _ in range(5)]
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            self.assert_schedule_kept(service, server, 5)
            self.assertEqual(server.of("PUT"), [])
            self.assertEqual(self.in_state("ready"), sorted(names))
            self.assertEqual(service.stop(), 0)

    def test_a_server_that_comes_back_gets_everything(self):
        down = threading.Event()
        down.set()

        def answer(request, body):
            request.reply(500) if down.is_set() else confirm(request, body)

        server = self.odd_server(answer)
        names = [self.add_one() for _ in range(3)]
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            service.wait_for_failures(6)
            self.assertEqual(self.in_state("sent"), [])
            down.clear()
            wait_for(lambda: self.in_state("sent") == sorted(names), "all bundles to be sent", 120)
            service.wait_for_status("3 delivered, 0 rejected")

    def test_a_server_that_is_gone_for_long_costs_nothing(self):
        """Down, answering and down again: the number of descriptors and the memory stay
        constant, and the CPU is idle in between."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for _ in range(3):
            self.add_one()
        with Service(self, "--spool", self.spool, "--url", f"http://127.0.0.1:{port}") as service:
            service.wait_for_failures(2)
            descriptors, ticks = service.descriptors(), service.cpu_ticks()
            service.wait_for_failures(6)
            # A running attempt has a socket; between attempts there are no additional ones.
            wait_for(lambda: service.descriptors() <= descriptors, "descriptors to be closed")
            # Four attempts take milliseconds; a busy loop would take all of the seconds between
            # them.
            self.assertLess(service.cpu_ticks() - ticks, 50, "of 100 a second")

    def test_many_failures_leave_nothing_behind(self):
        server = self.odd_server(lambda request, _: request.reply(500, b"x" * 10_000))
        for _ in range(300):
            self.add_one(2_000)
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            service.wait_for_failures(100)
            descriptors, resident = service.descriptors(), service.resident_bytes()
            service.wait_for_failures(300)
            self.assertLessEqual(
                service.descriptors(), descriptors + 1
            )  # one connection, open or not
            self.assertLess(service.resident_bytes() - resident, 4 << 20)
            self.assertEqual(service.stop(), 0)  # moving files cannot be counted
        self.assertEqual(len(self.in_state("ready")), 300)

    def test_one_at_which_the_connection_breaks_keeps_none_back(self):
        poisoned = self.add_one(50_001)

        def answer(request, body):
            if len(body) == 50_001:
                request.close_connection = True
                request.connection.shutdown(socket.SHUT_RDWR)
            else:
                confirm(request, body)

        server = self.odd_server(answer)
        # The oldest is tried first.
        os.utime(self.spool / "ready" / poisoned, (time.time() - 1000,) * 2)
        names = [self.add_one() for _ in range(5)]
        with Service(self, "--spool", self.spool, "--url", server.url):
            wait_for(lambda: self.in_state("sent") == sorted(names), "the others to be sent")
            wait_for(lambda: self.in_state("ready") == [poisoned], "the broken one to wait")


class Answers(Case):
    def test_retry_after_as_a_date(self):
        now = datetime.datetime(2021, 3, 4, 5, 6, 7, tzinfo=datetime.timezone.utc)
        after = email.utils.format_datetime(now + datetime.timedelta(seconds=7200), usegmt=True)
        # Compared with the answer's own date, so that a host with a wrong clock waits neither
        # shorter nor longer.
        server = self.odd_server(
            lambda request, _: request.reply(
                429, date=email.utils.format_datetime(now, usegmt=True), Retry_After=after
            )
        )
        self.add_one()
        self.assert_tried_later(self.upload(server.url), "HTTP 429", "retry after 7200 s")

    def test_the_service_waits_for_a_date(self):
        after = email.utils.formatdate(time.time() + 3600, usegmt=True)
        server = self.odd_server(head=lambda request: request.reply(503, Retry_After=after))
        self.add_one()
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            (wait,) = service.wait_for_failures(1)
            self.assertGreater(wait, 3000)
            self.add_one()
            service.wait_for_status("1 failed attempts, 2 waiting")
            self.assertEqual(len(server.requests), 1)

    def test_a_senseless_retry_after_is_ignored(self):
        for value in ("-5", "soon", "1e9", "Thu, 32 Foo 2021 99:99:99 GMT", "9" * 400):
            with self.subTest(value):
                server = self.odd_server(
                    lambda request, _, value=value: request.reply(429, Retry_After=value)
                )
                self.add_one()
                code, lines = self.upload(server.url)
                self.assertEqual(code, 1)
                asked = re.findall(r"retry after (\d+) s", lines)
                self.assertEqual(asked, ["86400"] if value.startswith("9") else [], lines)

    def test_413_is_never_sent_again(self):
        body = json.dumps(
            {"error": {"message": "larger than 1 MiB", "hint": "raise --max-bundle"}}
        ).encode()
        server = self.odd_server(lambda request, _: request.reply(413, body))
        name = self.add_one()
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            service.wait_for_status("0 delivered, 1 rejected")
            self.assertIn("HTTP 413: larger than 1 MiB", service.log())
            self.assertEqual(self.in_state("rejected"), [name])
            self.assertIn("HTTP 413", (self.spool / "rejected" / (name + ".reason")).read_text())
            self.assertEqual(service.stop(), 0)
        code, lines = self.upload(server.url)
        self.assertIn("nothing to send", lines)
        self.assertEqual(len(server.of("PUT")), 1)
        self.assertEqual(self.in_state("rejected"), [name])

    def test_413_before_the_body_is_read(self):
        """As proxies answer: at once, and then they close the connection."""
        with contextlib.closing(
            RawServer(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        ) as server:
            name = self.add_one(8 << 20)
            code, lines = self.upload(server.url)
            self.assertIn("rejected: HTTP 413", lines)
            self.assertEqual(self.in_state("rejected"), [name])

    def test_answers_that_stop_in_the_middle(self):
        for cut in (
            b"HTTP/1.",
            b"HTTP/1.1 201 Created\r\nContent-Le",
            b"HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{",
            b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"digest":',
            b"\0\xff" * 100,
            b"",
        ):
            with self.subTest(cut), contextlib.closing(RawServer(cut)) as server:
                self.add_one()
                self.assert_tried_later(self.upload(server.url))

    def test_headers_without_end_are_cut(self):
        with contextlib.closing(
            RawServer(b"HTTP/1.1 201 Created\r\n" + b"X-More: 1234567890\r\n" * 10_000)
        ) as server:
            self.add_one()
            self.assert_tried_later(self.upload(server.url), "longer than 65536 bytes")

    def test_a_redirect_does_not_carry_the_token_away(self):
        elsewhere = self.odd_server()
        for status in (301, 302, 303, 307, 308):
            server = self.odd_server(
                lambda request, _, status=status: request.reply(
                    status, Location=elsewhere.url + request.path
                ),
                head=lambda request, status=status: request.reply(
                    status, Location=elsewhere.url + request.path
                ),
            )
            with self.subTest(status):
                self.add_one()
                self.assert_tried_later(
                    self.upload(server.url, "--token-file", self.token_file()),
                    f"HTTP {status}",
                    "redirects are not followed",
                )
                self.assertEqual(server.requests[0][2]["Authorization"], "Bearer " + TOKEN)
        self.assertEqual(elsewhere.requests, [])


class Slow(Case):
    def test_a_server_that_trickles_is_given_up(self):
        """A server that sends a byte now and then cannot hold up the uploader forever: <upload
        timeout> bounds the whole transfer."""
        stopped = threading.Event()
        self.addCleanup(stopped.set)

        def trickle(request, body):
            text = confirmation(body)
            request.reply(201, b"", length=len(text) + 100_000)
            with contextlib.suppress(OSError):
                while not stopped.wait(0.05):
                    request.wfile.write(b" ")

        server = self.odd_server(trickle)
        name = self.add_one()
        self.assert_tried_later(
            self.run_uploader(*self.settings(server.url, 'timeout="2s"')), "timed out"
        )
        self.assertEqual(self.in_state("ready"), [name])

    def test_a_stop_does_not_wait_for_a_slow_server(self):
        asked, stopped = threading.Event(), threading.Event()
        self.addCleanup(stopped.set)

        def stall(request, _):
            asked.set()
            stopped.wait(300)

        server = self.odd_server(stall)
        name = self.add_one()
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            self.assertTrue(asked.wait(60))
            self.assertEqual(self.in_state("sending"), [name])
            self.assertEqual(service.stop(), 0)  # after the grace period of 10 s
        self.assertEqual(self.in_state("ready"), [name])

    def test_a_server_that_reads_nothing_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            name = self.add_one(8 << 20)
            self.assert_tried_later(
                self.run_uploader(
                    *self.settings(f"http://127.0.0.1:{deaf.getsockname()[1]}", 'timeout="2s"')
                )
            )
            self.assertEqual(self.in_state("ready"), [name])


class TlsCase(Case):
    def make(self, begins, ends, address="127.0.0.1"):
        """A self-signed certificate for this address, valid between these days from now; returns
        a server's SSLContext with it, and its file."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        (folder / "index").touch()
        (folder / "settings").write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {folder}/index\nnew_certs_dir = {folder}\n"
            "default_md = sha256\n"
            "policy = any\nrand_serial = yes\n[any]\ncommonName = supplied\n"
        )
        (folder / "extensions").write_text(
            f"subjectAltName = IP:{address}\nbasicConstraints = critical, CA:TRUE\n"
        )

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

        def day(offset):
            return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + offset * 86400))

        openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            "key",
            "-out",
            "request",
            "-subj",
            "/CN=lagtrap test",
        )
        openssl(
            "ca",
            "-batch",
            "-notext",
            "-config",
            "settings",
            "-selfsign",
            "-keyfile",
            "key",
            "-in",
            "request",
            "-out",
            "certificate",
            "-startdate",
            day(begins),
            "-enddate",
            day(ends),
            "-extfile",
            "extensions",
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        return context, folder / "certificate"


class Certificates(TlsCase):
    def test_a_good_one_is_taken(self):
        context, trusted = self.make(-1, 2)
        server = self.odd_server(tls=context)
        name = self.add_one()
        code, lines = self.upload(server.url, "--ca-file", trusted)
        self.assertEqual(code, 0, lines)
        self.assertEqual(self.in_state("sent"), [name])

    def test_bad_ones_get_neither_token_nor_bundle(self):
        good, _ = self.make(-1, 2)
        for what, said, made in (
            ("expired", "certificate has expired", self.make(-10, -1)),
            ("not yet valid", "certificate is not yet valid", self.make(1, 2)),
            (
                "of another host",
                "no alternative certificate subject name",
                self.make(-1, 2, "192.0.2.1"),
            ),
            ("of another signer", "certificate", (good, self.make(-1, 2)[1])),
        ):
            with self.subTest(what):
                server = self.odd_server(tls=made[0])
                self.add_one()
                self.assert_tried_later(
                    self.upload(
                        server.url, "--ca-file", made[1], "--token-file", self.token_file()
                    ),
                    said,
                )
                self.assertEqual(server.requests, [])

    def test_a_server_without_tls_gets_nothing(self):
        heard = []
        with socket.create_server(("127.0.0.1", 0)) as plain:

            def serve():
                client, _ = plain.accept()
                with client:
                    heard.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

            threading.Thread(target=serve, daemon=True).start()
            self.add_one()
            self.assert_tried_later(
                self.upload(
                    f"https://127.0.0.1:{plain.getsockname()[1]}", "--token-file", self.token_file()
                )
            )
        self.assertNotIn(TOKEN.encode(), heard[0])


class Proxies(TlsCase):
    def test_plain_http_goes_through_the_proxy(self):
        server, proxy = self.odd_server(), self.proxy()
        name = self.add_one()
        code, lines = self.run_uploader(*self.settings(server.url, f'proxy="{proxy.url}"'))
        self.assertEqual(code, 0, lines)
        self.assertEqual(self.in_state("sent"), [name])
        self.assertTrue(proxy.heads[0].startswith(f"HEAD {server.url}/"), proxy.heads)

    def test_https_goes_through_a_tunnel_that_hides_the_token(self):
        context, trusted = self.make(-1, 2)
        server, proxy = self.odd_server(tls=context), self.proxy()
        name = self.add_one()
        code, lines = self.run_uploader(
            *self.settings(
                server.url,
                f'proxy="{proxy.url}" ca-file="{trusted}" ' f'token-file="{self.token_file()}"',
            )
        )
        self.assertEqual(code, 0, lines)
        self.assertEqual(self.in_state("sent"), [name])
        self.assertEqual(server.of("PUT")[0][2]["Authorization"], "Bearer " + TOKEN)
        self.assertTrue(proxy.heads)
        for head in proxy.heads:
            self.assertTrue(head.startswith(f"CONNECT 127.0.0.1:{server.port} "), head)
            self.assertNotIn(TOKEN, head)

    def test_a_proxy_in_trouble(self):
        context, trusted = self.make(-1, 2)
        server = self.odd_server(tls=context)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        refusing = self.proxy(
            b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
        )
        failing = self.proxy(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        for address, said in (
            (gone, "Failed to connect"),
            (refusing.url, "407"),
            (failing.url, "502"),
        ):
            with self.subTest(said):
                self.add_one()
                self.assert_tried_later(
                    self.run_uploader(
                        *self.settings(server.url, f'proxy="{address}" ca-file="{trusted}"')
                    ),
                    said,
                )
        self.assertEqual(server.requests, [])

    def test_the_environment_names_no_proxy(self):
        server, proxy = self.odd_server(), self.proxy()
        self.add_one()
        environment = {
            name: proxy.url
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")
        }
        code, lines = self.upload(server.url, environment={**environment, "no_proxy": ""})
        self.assertEqual(code, 0, lines)
        self.assertEqual(proxy.heads, [])


class Names(Case):
    def test_a_name_that_nobody_knows(self):
        name = self.add_one()
        self.assert_tried_later(self.upload("https://lagtrap.invalid"), "lagtrap.invalid")
        self.assertEqual(self.in_state("ready"), [name])

    def test_a_silent_name_server_holds_nobody_up(self):
        """A name server that never answers: the attempt ends after the connection timeout, and a
        stop is obeyed meanwhile."""
        name = self.add_one()
        resolver = self.root / "resolv.conf"
        resolver.write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
        # A socket that nobody reads is inherited by the uploader.
        script = (
            "import os, socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            "s.bind(('127.0.0.1', 53)); s.set_inheritable(True); "
            "os.execv(sys.argv[1], sys.argv[1:])"
        )
        prefix = [
            "unshare",
            "--net",
            "--mount",
            "--map-root-user",
            "sh",
            "-c",
            f'ip link set lo up && mount --bind {resolver} /etc/resolv.conf && exec "$@"',
            "sh",
            sys.executable,
            "-c",
            script,
        ]
        with Service(
            self, "--spool", self.spool, "--url", "https://lagtrap.example", prefix=prefix
        ) as service:
            service.wait_for_failures(1)
            self.assertIn("Resolving timed out", service.log())
            wait_for(lambda: self.in_state("sending") == [name], "the next attempt")
            self.assertEqual(
                service.stop(), 0
            )  # after the grace period of 10 s; the name server would take 150 s
        self.assertEqual(self.in_state("ready"), [name])


if __name__ == "__main__":
    unittest.main(verbosity=2)
