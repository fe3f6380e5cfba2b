"""The server's audit log: what it records, and who may read it."""

import json
import re
import subprocess
import time
import unittest

from lagtrap_server import PASSWORD, add_token, add_user, sha256
from lagtrap_test import SERVER, wait_for
from server_case import Checker, ServerCase


class Audit(ServerCase):
    @staticmethod
    def entries(checker, query="", headers=None):
        return checker.ask("GET", "/api/v1/audit" + query, headers=headers)[1]["entries"]

    def test_everything_is_written_down(self):
        checker = self.open_world()
        ours = "from 127.0.0.1"
        for account, password in (("ann", "wrong"), ("hunter2 is my password", "wrong")):
            checker.ask("POST", "/api/v1/session", {"account": account, "password": password}, 401)
        checker.ask(
            "POST",
            "/api/v1/accounts",
            {"account": "bob", "password": PASSWORD, "role": "reader"},
            201,
        )
        checker.ask("DELETE", "/api/v1/accounts/bob", expect=204)
        made = checker.ask("POST", "/api/v1/tokens", {"name": "rack", "scope": "admin"}, 201)[1]
        own, checker.cookie = checker.cookie, None
        by_token = {"Authorization": f"Bearer {made['token']}"}
        checker.ask("POST", "/api/v1/tokens", {"name": "more", "scope": "read"}, 201, by_token)
        checker.ask(
            "GET",
            "/api/v1/tokens",
            expect=401,
            headers={"Authorization": "Bearer " + made["token"][:-1] + "~"},
        )
        checker.cookie = own
        checker.ask("DELETE", f"/api/v1/tokens/{made['id']}", expect=204)
        subprocess.run(
            [SERVER, "--data", self.root / "data", "user", "role", "rita", "uploader"],
            check=True,
            capture_output=True,
        )
        checker.ask("DELETE", "/api/v1/session", expect=204)
        checker.sign_in("ann")
        found = [
            (e["who"], e["action"], e["object"], e["detail"])
            for e in reversed(self.entries(checker))
        ]
        begin = found.index(
            (None, "refuse sign-in", "ann", f"account and password do not fit, {ours}")
        )
        self.assertEqual(
            found[begin:],
            [
                (None, "refuse sign-in", "ann", f"account and password do not fit, {ours}"),
                (
                    None,
                    "refuse sign-in",
                    "an unknown account",
                    f"account and password do not fit, {ours}",
                ),
                ("ann", "add account", "bob", f"reader, {ours}"),
                ("ann", "delete account", "bob", ours),
                ("ann", "add token", "rack", f"admin, {ours}"),
                ("token rack", "add token", "more", f"read, {ours}"),
                (None, "refuse token", None, f"unknown or expired, {ours}"),
                ("ann", "revoke token", "rack", ours),
                ("command line", "change role", "rita", "uploader"),
                ("ann", "sign out", None, ours),
                ("ann", "sign in", None, ours),
            ],
        )
        whole = json.dumps(self.entries(checker)) + checker.server.log()
        for secret in (PASSWORD, made["token"], "hunter2"):
            self.assertNotIn(secret, whole)
        self.assertIn(f"audit: ann: revoke token rack ({ours})", checker.server.log())

    def test_what_retention_removes_is_written_down(self):
        checker = self.open_world()
        self.upload_all(checker)
        self.assertEqual(checker.server.stop(), 0)
        checker = Checker(self, self.server("--keep-size", "1KiB"))
        checker.sign_in("ann")
        removed = [entry for entry in self.entries(checker) if entry["action"] == "remove bundles"]
        self.assertTrue(removed and removed[0]["who"] == "retention", self.entries(checker))

    def test_what_is_too_old_goes_by_itself(self):
        """Nothing else happens that would make the server check."""
        checker = self.open_world("--keep-for", "1s", "--keep-runs-for", "1d")
        for kind, content in (("bundles", self.bundles[0]), ("batches", self.batches[0])):
            checker.ask(
                "PUT",
                f"/api/v1/{kind}/{sha256(content)}",
                content,
                201,
                content_type="application/zstd",
            )
        self.assertGreater(checker.ask("GET", "/api/v1/events/query/summary")[1]["runs"], 0)
        wait_for(
            lambda: not checker.ask("GET", "/api/v1/bundles")[1]["bundles"]
            and checker.ask("GET", "/api/v1/events/query/summary")[1]["runs"] == 0,
            "retention",
            200,
        )
        # The entry is written when the removal is done.
        wait_for(
            lambda: {
                entry["action"] for entry in self.entries(checker) if entry["who"] == "retention"
            }
            == {"remove bundles", "remove runs"},
            "both to be in the audit",
        )

    def test_runs_beyond_a_size_go_by_themselves(self):
        """The oldest runs, no more than necessary, and hidden runs count like others."""
        since_s = int(time.time()) // 86400 * 86400 - 86400
        batches = [self.make_runs(hour, count=500, since_s=since_s) for hour in range(24)]
        full = 500 * len(batches)

        def send_all(server):
            empty_bytes = server.metric("store_bytes")
            for batch in batches:
                self.assertEqual(
                    server.request("PUT", f"/api/v1/batches/{sha256(batch)}", batch)[0].status, 201
                )
            return empty_bytes

        measured = self.server(data="measured")
        limit = (send_all(measured) + measured.metric("store_bytes")) // 2
        measured.stop()
        server = self.server("--keep-runs-size", f"{limit}B")
        send_all(server)
        self.assertEqual(server.metric("runs"), full)
        checker = Checker(self, server)
        wait_for(lambda: server.metric("runs_expired_total"), "retention", 200)
        left = server.metric("runs")
        self.assertLessEqual(server.metric("store_bytes"), limit)
        self.assertTrue(full * 0.4 <= left <= full * 0.6, left)
        # Whole hours were removed; each remaining one has a suspended run, which is counted but not
        # listed.
        self.assertEqual(left % 500, 0)
        hours, runs = left // 500, "/api/v1/events/query/runs?limit=1"
        listed = checker.ask("GET", runs)[1]
        self.assertEqual((listed["total"], listed["hidden"]), (left, hours))
        self.assertEqual(listed["runs"][0]["begin_ns"], str((since_s + 23 * 3600 + 499) * 10**9))
        self.assertEqual(
            checker.ask("GET", runs + f"&to={(since_s + (24 - hours) * 3600) * 10**9}")[1]["total"],
            0,
        )
        self.assertEqual(
            [
                (entry["action"], entry["object"])
                for entry in self.entries(checker)
                if entry["who"] == "retention"
            ],
            [("remove runs", str(full - left))],
        )

    def test_it_is_read_part_by_part_and_by_admins_alone(self):
        checker = self.open_world()
        for number in range(5):
            checker.ask("POST", "/api/v1/tokens", {"name": f"t{number}", "scope": "read"}, 201)
        whole = self.entries(checker)
        parts, after = [], ""
        while after is not None:
            _, part = checker.ask("GET", "/api/v1/audit?limit=2" + after)
            parts += part["entries"]
            after = part["next"] and f"&after={part['next']}"
        self.assertEqual(parts, whole)
        self.assertEqual(
            [int(entry["id"]) for entry in parts],
            sorted((int(entry["id"]) for entry in parts), reverse=True),
        )
        checker.ask("GET", "/api/v1/audit?limit=0", expect=400)
        checker.ask("GET", "/api/v1/audit?who=ann", expect=400)
        for method in ("DELETE", "POST", "PUT"):
            headers = {
                "Cookie": checker.cookie,
                "Sec-Fetch-Site": "same-origin",
                "Content-Type": "application/json",
            }
            self.assertEqual(
                checker.server.request(method, "/api/v1/audit", "{}", headers)[0].status, 405
            )
        checker.sign_in("rita")
        checker.ask("GET", "/api/v1/audit", expect=403)
        checker.cookie = None
        checker.ask("GET", "/api/v1/audit", expect=401)

    def test_a_flood_of_attempts_is_no_flood_of_entries(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server()
        headers = {"Authorization": "Bearer ltu_00000000_" + "A" * 43}
        begun = time.monotonic()
        for _ in range(50):
            server.request("GET", "/api/v1/events", headers=headers)
        guess = json.dumps({"account": "ann", "password": "guess"})
        heard = [
            server.request("POST", "/api/v1/session", guess, {"Content-Type": "application/json"})[
                0
            ].status
            for _ in range(50)
        ]
        minutes = int((time.monotonic() - begun) / 60) + 1
        secret = add_token(server.data, "reading", "admin")
        entries = self.entries(
            Checker(self, server), "?limit=1000", {"Authorization": f"Bearer {secret}"}
        )
        kinds = [
            (entry["action"], entry["detail"].split(",")[0])
            for entry in entries
            if entry["action"].startswith("refuse")
        ]
        self.assertEqual(
            kinds.count(("refuse sign-in", "account and password do not fit")), heard.count(401)
        )
        self.assertLess(heard.count(401), 50)
        for kind in (
            ("refuse token", "unknown or expired"),
            ("refuse sign-in", "too many attempts"),
        ):
            self.assertTrue(1 <= kinds.count(kind) <= minutes, (kinds, minutes))
        metrics = server.request("GET", "/metrics", headers={"Authorization": f"Bearer {secret}"})[
            1
        ].decode()
        left_out = int(re.search(r"^lagtrap_server_audit_left_out_total (\d+)$", metrics, re.M)[1])
        attempts = 50 + heard.count(429)
        self.assertEqual(
            left_out, attempts - sum(kind[1] != "account and password do not fit" for kind in kinds)
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
