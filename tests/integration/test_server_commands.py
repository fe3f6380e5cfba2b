"""The commands of lagtrap-server, and lagtrap's command that names builds."""

import subprocess
import unittest

from lagtrap_server import PASSWORD, sha256
from lagtrap_test import SERVER, wait_for
from server_case import Checker, ServerCase


class CommandLine(ServerCase):
    def test_machines_name_builds_by_their_package(self):
        """Until somebody sets another name."""
        checker = self.open_world()
        self.batches, self.bundles = [], [self.make_bundle(5, event="packaged")]
        self.upload_all(checker)

        def names():
            return {
                label["build"][:4]: (label["name"], label["by"])
                for label in checker.ask("GET", "/api/v1/builds")[1]["labels"]
            }

        self.assertEqual(
            wait_for(names, "the name of the build"), {"0123": ("15.8-0+deb12u1", "(package)")}
        )
        self.assertIn("is named v9", self.run_server("label", "0123", "v9"))
        later = self.make_bundle(6, event="packaged")
        checker.ask(
            "PUT", f"/api/v1/bundles/{sha256(later)}", later, 201, content_type="application/zstd"
        )
        wait_for(
            lambda: all(
                row["parsed"] for row in checker.ask("GET", "/api/v1/bundles")[1]["bundles"]
            ),
            "the bundle to be looked into",
        )
        self.assertEqual(names()["0123"][0], "v9")

    def test_builds_are_named(self):
        checker = self.open_world()
        self.bundles = []
        self.upload_all(checker)
        self.assertIn("no build has a name", self.run_server("label"))
        self.assertIn("build-a is named v1.2", self.run_server("label", "build-a", "v1.2"))
        self.assertIn("build-b is named v1.3", self.run_server("label", "build-b", "v1.3"))
        self.assertIn("2 builds begin with", self.run_server("label", "build", "x", code=2))
        self.assertIn("no run has a build", self.run_server("label", "feed", "x", code=1))
        self.assertIn("expected a name", self.run_server("label", "build-a", code=2))
        self.assertIn(
            "0123456789abcdef is named v9", self.run_server("label", "0123456789abcdef", "v9")
        )
        self.assertIn("no longer has a name", self.run_server("label", "build-b", ""))
        labels = {
            label["build"]: label["name"]
            for label in checker.ask("GET", "/api/v1/builds")[1]["labels"]
        }
        self.assertEqual(labels, {"build-a": "v1.2", "0123456789abcdef": "v9"})

    def run_server(self, *arguments, code=0, **more):
        outcome = subprocess.run(
            [SERVER, "--data", self.root / "data", *arguments],
            capture_output=True,
            text=True,
            **more,
        )
        self.assertEqual(outcome.returncode, code, outcome.stdout + outcome.stderr)
        return outcome.stdout + outcome.stderr

    def test_users(self):
        self.assertIn("no accounts", self.run_server("user", "list"))
        self.run_server("user", "add", "ann", "--role", "admin", input="short\n", code=2)
        self.run_server("user", "add", "ann", "--role", "king", input=PASSWORD, code=2)
        self.run_server("user", "add", "ann", "--role", "admin", input=PASSWORD)
        self.run_server("user", "add", "ann", "--role", "admin", input=PASSWORD, code=2)
        self.assertIn("last admin", self.run_server("user", "remove", "ann", code=1))
        self.assertIn("last admin", self.run_server("user", "role", "ann", "reader", code=1))
        server = self.server()
        checker = Checker(self, server)
        checker.sign_in("ann")
        # Changes on the command line apply at once to the running server.
        self.run_server("user", "password", "ann", input="another password\n")
        checker.ask("GET", "/api/v1/session", expect=401)
        checker.cookie = None
        checker.ask("POST", "/api/v1/session", {"account": "ann", "password": PASSWORD}, 401)
        checker.sign_in("ann", "another password")
        self.run_server("user", "add", "bob", "--role", "admin", input=PASSWORD)
        self.run_server("user", "role", "ann", "reader")
        checker.ask("GET", "/api/v1/session", expect=401)
        self.run_server("user", "remove", "ann")
        self.assertNotIn("ann", self.run_server("user", "list"))

    def test_tokens(self):
        lines = self.run_server(
            "token",
            "add",
            "rack",
            "--scope",
            "upload",
            "--host",
            "db1",
            "--group",
            "rack-7",
            "--expires",
            "30d",
        )
        token = next(line for line in lines.splitlines() if line.startswith("ltu_"))
        listed = self.run_server("token", "list")
        self.assertRegex(listed, "rack +upload host db1 group rack-7 expires 20")
        self.assertNotIn(token, listed)
        server = self.server()
        content = self.make_runs(1, host="db1")
        headers = {"Authorization": f"Bearer {token}"}
        put = lambda: server.request("PUT", f"/api/v1/batches/{sha256(content)}", content, headers)[
            0
        ].status
        self.assertEqual(put(), 201)
        self.assertNotIn("last used never", self.run_server("token", "list"))
        self.run_server("token", "revoke", "rack")
        # An account or token must remain, or the server would be open again.
        self.run_server("token", "add", "other", "--scope", "read")
        self.assertEqual(put(), 401)
        self.assertIn("no token", self.run_server("token", "revoke", "rack", code=1))

    def test_backup_and_check(self):
        server = self.server()
        content = self.make_bundle(1)
        self.assertEqual(server.put(content)[0].status, 201)
        server.parsed_bundles()
        self.run_server("backup", self.root / "copy.sqlite")
        self.assertIn("1 bundles listed", self.run_server("check"))
        self.run_server("--store", f"sqlite:{self.root}/copy.sqlite", "check")
        named = self.root / "store"
        named.write_text(f"sqlite:{self.root}/copy.sqlite\n")
        named.chmod(0o644)
        self.assertIn("chmod o=", self.run_server("--store-file", named, "check", code=1))
        named.chmod(0o640)
        self.run_server("--store-file", named, "check")
        self.assertEqual(server.stop(), 0)
        next((self.root / "data" / "blobs").rglob("*" + sha256(content)[2:])).unlink()
        self.assertIn("its data is missing", self.run_server("check", code=2))

    def test_wrong_options(self):
        self.assertIn("--store", self.run_server("--store", "mysql://x", code=2))
        refused = self.run_server("--store", "postgresql://lagtrap:sesame@db/lagtrap", code=2)
        self.assertIn("--store-file", refused)
        self.assertNotIn("sesame", refused)
        self.assertIn("--daily-quota", self.run_server("--daily-quota", "much", code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
