"""Who may sign in to the server, and what each role and token may do."""

import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import subprocess
import threading
import time
import unittest
import unittest.mock

from lagtrap_server import PASSWORD, add_user, sha256
from lagtrap_test import SERVER, check_memory, wait_for
from server_case import Checker, ServerCase, memory_peak_bytes
from upload_world import MIB


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
