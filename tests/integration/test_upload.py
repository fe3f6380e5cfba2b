"""The real server and the real uploader over loopback, with misbehaving servers between them.

Arguments: names of test classes.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import unittest
import uuid

from lagtrap_server import sha256
from lagtrap_test import UPLOADER, make_bundle, wait_for
from upload_world import MIB, Port, Service, SpoolCase, confirmation, pump


class StallingProxy(Port):
    """Passes `limit` bytes of each connection, and then nothing more."""

    def __init__(self, target_port, limit):
        self.target_port = target_port
        self.limit = limit
        self.stalled = threading.Event()
        self.closed = threading.Event()
        super().__init__()

    def serve(self, client):
        with socket.create_connection(("127.0.0.1", self.target_port)) as server:
            threading.Thread(target=pump, args=(server, client), daemon=True).start()
            left = self.limit
            while left > 0 and (data := client.recv(min(65536, left))):
                server.sendall(data)
                left -= len(data)
            if left == 0:
                self.stalled.set()
                self.closed.wait()
            server.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the receiving thread

    def close(self):
        self.closed.set()
        super().close()


class Delivery(SpoolCase):
    def test_a_bundle_arrives_whole_and_is_shown(self):
        server = self.server()
        session = str(uuid.uuid4())
        path = make_bundle(self.spool / "ready", host="host-<1>", session=session)
        content = path.read_bytes()
        code, lines = self.upload(server.url)
        self.assertEqual(code, 0, lines)
        self.assertIn("delivered: sent", lines)
        self.assertEqual(self.in_state("sent"), [path.name])
        self.assertEqual(self.in_state("ready"), [])

        (row,) = server.parsed_bundles()
        self.assertEqual(row["digest"], sha256(content))
        self.assertEqual(row["session"], session)
        self.assertEqual(
            (row["host"], row["event"], row["process"]), ("host-<1>", "query", "postgres")
        )
        self.assertEqual((row["delays"], row["longest_delay_ns"]), (2, 81_000_000))
        address = f"/api/v1/bundles/{row['digest']}"
        response, body = server.request("GET", address)
        self.assertEqual(body, content)
        self.assertTrue(response.headers["Content-Disposition"].startswith("attachment"))
        self.assertIn(b"<delay", server.request("GET", address + "/system")[1])

    def test_a_repeated_upload_is_free(self):
        server = self.server()
        _, content = self.add_bundle()
        self.assertEqual(self.upload(server.url)[0], 0)
        received = server.metric("upload_bytes_total")
        self.add_bundle(content)
        code, lines = self.upload(server.url)
        self.assertEqual(code, 0, lines)
        self.assertIn("already has it; nothing sent", lines)
        self.assertEqual(server.metric("upload_bytes_total"), received)
        self.assertEqual(len(server.bundles()), 1)
        self.assertEqual(len(self.in_state("sent")), 2)

    def test_the_settings_file_says_where_from_and_where_to(self):
        server = self.server()
        name, _ = self.add_bundle()
        code, lines = self.run_uploader(*self.settings(server.url))
        self.assertEqual(code, 0, lines)
        self.assertEqual(self.in_state("sent"), [name])

    def test_many_at_once_arrive_once_each(self):
        server = self.server()
        contents = [os.urandom(300_000) for _ in range(60)] + [b"the same" * 40_000] * 40
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = [json.loads(body) for _, body in pool.map(server.put, contents)]
        self.assertEqual(
            [answer["digest"] for answer in answers], [sha256(content) for content in contents]
        )
        self.assertEqual(sum(answer["stored"] == "new" for answer in answers), 61)
        self.assertEqual(sum(answer["stored"] == "new" for answer in answers[60:]), 1)
        self.assertEqual(
            {row["digest"] for row in server.bundles()}, {sha256(content) for content in contents}
        )
        self.assertEqual(server.incoming(), [])

    def test_the_service_sends_what_comes_and_ends_on_sigterm(self):
        server = self.server()
        first, _ = self.add_bundle()
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            wait_for(lambda: self.in_state("sent") == [first], "the first bundle to be sent")
            second, _ = self.add_bundle()
            wait_for(
                lambda: self.in_state("sent") == sorted([first, second]),
                "the second bundle to be sent",
            )
            self.assertEqual(service.stop(), 0)
        self.assertIn("2 delivered", service.log())

    def test_only_one_uploader_works_on_a_spool(self):
        with Service(self, "--spool", self.spool, "--url", "http://127.0.0.1:9"):
            code, lines = self.upload("http://127.0.0.1:9")
            self.assertEqual(code, 1)
            self.assertIn("another lagtrap-uploader", lines)


class Damage(SpoolCase):
    def test_a_body_changed_on_the_way_is_refused(self):
        server = self.server()
        response, body = server.put(b"changed", sha256(b"as sent"))
        self.assertEqual(response.status, 422)
        self.assertIn(sha256(b"changed"), json.loads(body)["error"]["message"])
        self.assertEqual(server.bundles(), [])
        self.assertEqual(server.incoming(), [])
        self.assertEqual(list((server.data / "blobs").rglob("*")), [])

    def test_a_file_damaged_in_the_spool_is_rejected_with_its_reason(self):
        server = self.server()
        name, _ = self.add_bundle(b"damaged", digest=sha256(b"as written"))
        code, lines = self.upload(server.url)
        self.assertEqual(code, 1, lines)
        self.assertEqual(self.in_state("rejected"), [name])
        self.assertIn("damaged", (self.spool / "rejected" / (name + ".reason")).read_text())
        self.assertEqual(server.bundles(), [])

    def test_what_is_no_bundle_is_kept_and_marked(self):
        server = self.server()
        response, body = server.put(b"no bundle at all")
        self.assertEqual(response.status, 201)
        (row,) = server.parsed_bundles()
        self.assertRegex(row["bad_reason"], "is damaged|not a bundle")
        self.assertEqual(
            server.request("GET", f"/api/v1/bundles/{row['digest']}/system")[0].status, 422
        )
        self.assertEqual(
            server.request("GET", f"/api/v1/bundles/{row['digest']}")[1], b"no bundle at all"
        )

    def test_a_killed_uploader_leaves_exactly_one_bundle(self):
        server = self.server()
        name, content = self.add_bundle(size=20 * MIB)
        proxy = StallingProxy(server.port, 2 * MIB)
        self.addCleanup(proxy.close)
        with Service(self, "--spool", self.spool, "--url", proxy.url) as service:
            self.assertTrue(proxy.stalled.wait(60), service.log())
            self.assertEqual(self.in_state("sending"), [name])
            service.process.kill()
            service.process.wait()
        proxy.close()
        wait_for(lambda: server.metric("uploads_aborted_total") == 1, "the server to give up")
        self.assertEqual(server.bundles(), [])
        code, lines = self.upload(server.url)
        self.assertEqual(code, 0, lines)
        self.assertIn("1 interrupted upload(s) will be sent again", lines)
        self.assertEqual([row["digest"] for row in server.bundles()], [sha256(content)])
        self.assertEqual(self.in_state("sent"), [name])
        self.assertEqual(server.incoming(), [])

    def test_a_killed_server_shows_no_half_bundle(self):
        server = self.server()
        whole = os.urandom(MIB)
        server.put(whole)
        content = os.urandom(4 * MIB)
        with contextlib.closing(server.begin_upload(content, MIB)):
            server.kill()
        server = self.server()
        self.assertIn("removed 1 half-received", server.log())
        self.assertEqual(server.incoming(), [])
        self.assertEqual([row["digest"] for row in server.bundles()], [sha256(whole)])
        self.assertEqual(server.put(content)[0].status, 201)
        self.assertEqual(len(server.bundles()), 2)

    def test_a_stopping_server_finishes_what_runs(self):
        server = self.server()
        content = os.urandom(2 * MIB)
        with contextlib.closing(server.begin_upload(content, MIB)) as upload:
            server.process.terminate()
            wait_for(lambda: "finishing running requests" in server.log(), "the server to stop")
            upload.sendall(content[MIB:])
            response = http.client.HTTPResponse(upload)
            response.begin()
            self.assertEqual(response.status, 201)
            self.assertEqual(response.headers["Connection"], "close")
            self.assertEqual(json.loads(response.read())["digest"], sha256(content))
        self.assertEqual(server.process.wait(60), 0)
        server = self.server()
        self.assertEqual(server.incoming(), [])
        self.assertEqual([row["digest"] for row in server.bundles()], [sha256(content)])


class Misbehaviour(SpoolCase):
    """The spool keeps every bundle until a server has truly confirmed it."""

    def assert_not_sent(self, server, *said):
        name, _ = self.add_bundle()
        code, lines = self.upload(server.url)
        self.assertEqual(code, 1, lines)
        for text in said:
            self.assertIn(text, lines)
        self.assertEqual(self.in_state("sent"), [])
        return name, lines

    def assert_tries_later(self, server, *said):
        name, lines = self.assert_not_sent(server, "try later", *said)
        self.assertEqual(self.in_state("ready"), [name], lines)

    def test_429_asks_to_wait(self):
        server = self.odd_server(lambda handler, _: handler.reply(429, Retry_After="120"))
        self.add_bundle()
        self.assert_not_sent(
            server, "HTTP 429", "retry after 120 s", "not tried: the server asks to wait 120 s"
        )
        self.assertEqual(len(server.of("PUT")), 1)
        self.assertEqual(len(self.in_state("ready")), 2)

    def test_the_service_obeys_retry_after(self):
        server = self.odd_server(lambda handler, _: handler.reply(429, Retry_After="120"))
        self.add_bundle()
        self.add_bundle()
        with Service(self, "--spool", self.spool, "--url", server.url) as service:
            service.wait_for_status("1 failed attempts, 2 waiting")  # after the attempt
            service.wait_for_status(
                "1 failed attempts, 2 waiting"
            )  # after the schedule was checked again
            self.add_bundle()
            service.wait_for_status("1 failed attempts, 3 waiting")
            self.assertEqual(len(server.of("PUT")), 1)
            self.assertIn("retry after 120 s", service.log())

    def test_500_is_tried_later(self):
        self.assert_tries_later(self.odd_server(lambda handler, _: handler.reply(500)), "HTTP 500")

    def test_refusals_are_kept_with_their_reason(self):
        body = json.dumps({"error": "not \x1b[31mours"}).encode()
        server = self.odd_server(lambda handler, _: handler.reply(415, body))
        name, _ = self.assert_not_sent(server, "rejected: HTTP 415: not \\x1b[31mours")
        self.assertEqual(self.in_state("rejected"), [name])
        self.assertIn("HTTP 415", (self.spool / "rejected" / (name + ".reason")).read_text())

    def test_a_refused_token_is_tried_later_and_said(self):
        self.assert_tries_later(
            self.odd_server(lambda handler, _: handler.reply(401)), "HTTP 401", "token"
        )

    def test_a_cut_off_answer_confirms_nothing(self):
        def answer(handler, body):
            text = confirmation(body)
            handler.reply(200, text[:-10], length=len(text))
            handler.close_connection = True

        self.assert_tries_later(self.odd_server(answer))

    def test_half_a_json_text_confirms_nothing(self):
        server = self.odd_server(lambda handler, body: handler.reply(200, confirmation(body)[:-10]))
        self.assert_tries_later(server, "not a JSON object")

    def test_another_page_confirms_nothing(self):
        self.assert_tries_later(
            self.odd_server(lambda handler, _: handler.reply(200, b"<html>log in</html>"))
        )

    def test_another_digest_confirms_nothing(self):
        server = self.odd_server(
            lambda handler, body: handler.reply(200, confirmation(body, digest="0" * 64))
        )
        self.assert_tries_later(server, "another digest")

    def test_another_size_confirms_nothing(self):
        server = self.odd_server(
            lambda handler, body: handler.reply(200, confirmation(body, bytes=5))
        )
        self.assert_tries_later(server, "5 bytes of 100000")

    def test_another_digest_at_head_is_no_reason_to_keep_it_back(self):
        server = self.odd_server(head=lambda handler: handler.reply(200, X_Lagtrap_Digest="0" * 64))
        self.add_bundle()
        self.assertEqual(self.upload(server.url)[0], 0)
        self.assertEqual(len(server.of("PUT")), 1)

    def test_endless_answers_are_cut(self):
        server = self.odd_server(
            lambda handler, body: handler.reply(200, confirmation(body) + b" " * MIB)
        )
        self.assert_tries_later(server, "longer than 65536 bytes")

    def test_redirects_are_not_followed(self):
        elsewhere = self.odd_server(lambda handler, body: handler.reply(200, confirmation(body)))
        server = self.odd_server(
            lambda handler, _: handler.reply(307, Location=elsewhere.url + handler.path),
            head=lambda handler: handler.reply(307, Location=elsewhere.url + handler.path),
        )
        self.assert_tries_later(server, "redirects are not followed", elsewhere.url)
        self.assertEqual(elsewhere.requests, [])

    def test_a_server_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        name, _ = self.add_bundle()
        code, lines = self.upload(f"http://127.0.0.1:{port}")
        self.assertEqual(code, 1)
        self.assertIn("Failed to connect", lines)
        self.assertEqual(self.in_state("ready"), [name])

    def test_plain_http_to_another_machine_is_refused(self):
        code, lines = self.upload("http://delays.example.org")
        self.assertEqual(code, 2)
        self.assertIn("plain http", lines)

    def test_bad_settings_are_told_with_their_place(self):
        settings = self.root / "settings.xml"
        settings.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<lagtrap version="1">\n'
            '<upload url="ftp://x"/></lagtrap>'
        )
        outcome = subprocess.run(
            [UPLOADER, "--settings", settings, "--once"], capture_output=True, text=True
        )
        self.assertEqual(outcome.returncode, 2)
        self.assertIn(f"{settings}:3:", outcome.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
