"""People at the server: the first account, changing one's password, the audit log as a file; by
API, on the command line and in a browser."""

import csv
import io
import json
import os
import subprocess
import sys
import unittest

from lagtrap_server import PASSWORD, add_user
from lagtrap_test import SERVER, SOURCE_DIR
from server_case import Checker, ServerCase

NEW_PASSWORD = "staple battery correct"


def run_browser_tests(case, world, *names):
    """Runs the named files of tests/browser against the server that `world` describes."""
    path = case.root / "world.json"
    path.write_text(json.dumps(world))
    outcome = subprocess.run(
        ["node", SOURCE_DIR / "tests" / "browser" / "run.mjs", *names],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "LAGTRAP_WEB_WORLD": str(path)},
    )
    if outcome.returncode == 77:
        raise unittest.SkipTest(outcome.stdout)
    print(
        "\n".join(
            line
            for line in outcome.stdout.splitlines()
            if line.startswith(("not ok", "# pass", "# fail", "# skipped"))
        ),
        file=sys.stderr,
    )
    case.assertEqual(outcome.returncode, 0, outcome.stdout[-8000:] + outcome.stderr[-2000:])


class FirstAccount(ServerCase):
    def test_what_is_made_first_can_sign_in(self):
        checker = Checker(self, self.server())
        _, refused = checker.ask("POST", "/api/v1/tokens", {"name": "rack", "scope": "upload"}, 409)
        self.assertEqual(
            refused["error"],
            {
                "message": "nobody could sign in any more once there is a token",
                "hint": "make an account of role admin first",
            },
        )
        _, refused = checker.ask(
            "POST",
            "/api/v1/accounts",
            {"account": "rita", "password": PASSWORD, "role": "reader"},
            409,
        )
        self.assertEqual(refused["error"]["message"], "the first account has to be an admin's")
        # Nobody is locked out: the server is as open as before.
        self.assertEqual(checker.ask("GET", "/api/v1/session")[1]["account"], "")
        checker.ask(
            "POST",
            "/api/v1/accounts",
            {"account": "ann", "password": PASSWORD, "role": "admin"},
            201,
        )
        checker.ask("GET", "/api/v1/session", expect=401)
        checker.sign_in("ann")
        checker.ask("POST", "/api/v1/tokens", {"name": "rack", "scope": "upload"}, 201)
        checker.ask(
            "POST",
            "/api/v1/accounts",
            {"account": "rita", "password": PASSWORD, "role": "reader"},
            201,
        )

    def test_in_a_browser(self):
        run_browser_tests(
            self,
            {
                "url": self.server().url,
                "accounts": {"admin": {"account": "ann", "password": PASSWORD}},
            },
            "first_account.mjs",
        )

    def test_a_quiet_token_is_the_token_alone(self):
        add = [SERVER, "--data", self.root / "data", "token", "add"]

        def run(*more):
            return subprocess.run([*add, *more], check=True, capture_output=True, text=True)

        first = run("rack", "--scope", "upload", "--quiet")
        self.assertRegex(first.stdout, r"\Altu_[0-9A-Za-z]+_[0-9A-Za-z_-]{43}\n\Z")
        self.assertIn("there are no accounts yet", first.stderr)
        add_user(self.root / "data", "ann", "admin")
        second = run("more", "--scope", "upload", "--quiet")
        self.assertEqual(second.stderr, "")
        self.assertIn("shown once", run("loud", "--scope", "upload").stdout)
        token = first.stdout.strip()
        server = self.server()
        self.assertEqual(
            server.request("GET", "/api/v1/session", headers={"Authorization": f"Bearer {token}"})[
                0
            ].status,
            200,
        )


class OwnPassword(ServerCase):
    def change(self, checker, old, new, expect):
        return checker.ask(
            "PUT", "/api/v1/session/password", {"password": old, "new_password": new}, expect
        )[1]

    def test_a_new_password_ends_sessions_elsewhere(self):
        here = self.open_world()
        elsewhere, other = Checker(self, here.server), Checker(self, here.server)
        elsewhere.sign_in("ann")
        other.sign_in("rita")
        self.change(here, "not the password", NEW_PASSWORD, 403)
        self.assertEqual(elsewhere.ask("GET", "/api/v1/session")[1]["account"], "ann")
        self.assertIn("at least 12", self.change(here, PASSWORD, "short", 400)["error"]["message"])
        self.change(here, PASSWORD, PASSWORD, 400)
        self.change(here, PASSWORD, NEW_PASSWORD, 204)
        here.ask("GET", "/api/v1/session")
        elsewhere.ask("GET", "/api/v1/session", expect=401)
        self.assertEqual(other.ask("GET", "/api/v1/session")[1]["account"], "rita")
        elsewhere.ask("POST", "/api/v1/session", {"account": "ann", "password": PASSWORD}, 401)
        elsewhere.sign_in("ann", NEW_PASSWORD)
        entries = [(e["who"], e["action"]) for e in here.ask("GET", "/api/v1/audit")[1]["entries"]]
        self.assertIn(("ann", "change password"), entries)
        self.assertIn(("ann", "refuse password change"), entries)
        self.assertNotIn(NEW_PASSWORD, here.server.log())

    def test_who_has_no_session_has_no_password_to_change(self):
        checker = self.open_world()
        token = checker.ask("POST", "/api/v1/tokens", {"name": "t", "scope": "admin"}, 201)[1][
            "token"
        ]
        checker.cookie = None
        body = {"password": PASSWORD, "new_password": NEW_PASSWORD}
        checker.ask(
            "PUT", "/api/v1/session/password", body, 403, {"Authorization": f"Bearer {token}"}
        )
        checker.ask("PUT", "/api/v1/session/password", body, 401)

    def test_guesses_are_limited_together_with_those_to_sign_in(self):
        checker = self.open_world()
        heard = [
            checker.server.request(
                "PUT",
                "/api/v1/session/password",
                json.dumps({"password": "a guess", "new_password": NEW_PASSWORD}),
                {
                    "Cookie": checker.cookie,
                    "Sec-Fetch-Site": "same-origin",
                    "Content-Type": "application/json",
                },
            )[0].status
            for _ in range(30)
        ]
        self.assertIn(429, heard)
        self.assertLess(heard.count(403), 20)
        checker.cookie = None
        checker.ask("POST", "/api/v1/session", {"account": "ann", "password": PASSWORD}, 429)


class AuditAsAFile(ServerCase):
    def test_all_of_it_comes_whatever_its_length(self):
        checker = self.open_world("--requests-per-second", "0")
        checker.ask("POST", "/api/v1/session", {"account": "ann", "password": "wrong"}, 401)
        for number in range(600):
            made = checker.ask(
                "POST", "/api/v1/tokens", {"name": f"t{number}", "scope": "read"}, 201
            )[1]
            checker.ask("DELETE", f"/api/v1/tokens/{made['id']}", expect=204)
        entries, after = [], ""
        while after is not None:
            part = checker.ask("GET", "/api/v1/audit?limit=1000" + after)[1]
            entries += part["entries"]
            after = part["next"] and f"&after={part['next']}"
        self.assertGreater(len(entries), 1200)
        response, text = checker.ask("GET", "/api/v1/audit/export?format=ndjson")
        self.assertEqual(
            response.headers["Content-Disposition"], 'attachment; filename="audit.ndjson"'
        )
        self.assertEqual([json.loads(line) for line in text.splitlines()], entries)
        _, text = checker.ask("GET", "/api/v1/audit/export")
        rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
        self.assertEqual([row["id"] for row in rows], [entry["id"] for entry in entries])
        self.assertEqual(rows[0]["action"], entries[0]["action"])
        self.assertTrue(rows[0]["at"].startswith("20"), rows[0])

    def test_its_parts(self):
        checker = self.open_world()
        checker.ask("POST", "/api/v1/session", {"account": "ann", "password": "wrong"}, 401)
        checker.ask(
            "GET", "/api/v1/session", expect=401, headers={"Authorization": "Bearer nothing"}
        )

        def actions(only):
            listed = [
                e["action"] for e in checker.ask("GET", f"/api/v1/audit?only={only}")[1]["entries"]
            ]
            _, text = checker.ask("GET", f"/api/v1/audit/export?only={only}&format=ndjson")
            self.assertEqual([json.loads(line)["action"] for line in text.splitlines()], listed)
            return listed

        self.assertEqual(actions("sign-ins"), ["refuse sign-in", "sign in"])
        self.assertEqual(actions("refusals"), ["refuse token", "refuse sign-in"])
        checker.ask("GET", "/api/v1/audit?only=ann", expect=400)
        checker.ask("GET", "/api/v1/audit/export?format=xml", expect=400)
        checker.sign_in("rita")
        checker.ask("GET", "/api/v1/audit/export", expect=403)


if __name__ == "__main__":
    unittest.main(verbosity=2)
