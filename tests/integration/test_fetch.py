"""lagtrap fetch from a real server that requires a token, and lagtrap report on what came."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from lagtrap_server import Server, add_token, sha256
from lagtrap_test import LAGTRAP, make_bundle, wait_for


class Fetch(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-fetch-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.data, self.folder = self.root / "data", self.root / "fetched"
        self.upload_token, self.read_token = (self.token(scope) for scope in ("upload", "read"))
        self.server = Server(data=self.data)
        self.addCleanup(self.server.__exit__)
        made = self.root / "made"
        made.mkdir()
        self.bundles = [
            make_bundle(made, 1, "oak"),
            make_bundle(made, 2, "elm"),
            make_bundle(made, 3, "oak", "import"),
        ]
        for bundle in self.bundles:
            content = bundle.read_bytes()
            response, _ = self.ask(
                "PUT", f"/api/v1/bundles/{sha256(content)}", self.upload_token, content
            )
            self.assertEqual(response.status, 201)
        wait_for(lambda: all(row["parsed"] for row in self.listed()), "the bundles to be parsed")

    def token(self, scope):
        path = self.root / f"{scope}.token"
        path.write_text(add_token(self.data, scope, scope) + "\n")
        os.chmod(path, 0o600)
        return path

    def ask(self, method, path, token, body=None):
        return self.server.request(
            method, path, body, {"Authorization": f"Bearer {token.read_text().strip()}"}
        )

    def listed(self):
        return json.loads(self.ask("GET", "/api/v1/bundles", self.read_token)[1])["bundles"]

    def fetch(self, *options, token=True):
        tokens = (
            ("--token-file", self.read_token)
            if token is True
            else ("--token-file", token)
            if token
            else ()
        )
        return subprocess.run(
            [LAGTRAP, "fetch", "--server", self.server.url, *tokens, "-o", self.folder, *options],
            capture_output=True,
            text=True,
            timeout=120,
        )

    def fetched(self, *options):
        """The names of the files that it says it has."""
        done = self.fetch("--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {pathlib.Path(row["file"]).name for row in json.loads(done.stdout)["bundles"]}

    def test_what_was_fetched_is_reported(self):
        done = self.fetch("--event", "query")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(done.stdout.count("2 delays"), 2, done.stdout)
        for bundle in self.bundles[:2]:
            self.assertEqual((self.folder / bundle.name).read_bytes(), bundle.read_bytes())
        self.assertEqual(
            {path.name for path in self.folder.iterdir()},
            {bundle.name for bundle in self.bundles[:2]},
        )
        report = subprocess.run(
            [LAGTRAP, "report", self.folder], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("2 recordings", report.stdout)
        again = self.fetch()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.count("already there"), 2, again.stdout)
        self.assertEqual(len(list(self.folder.iterdir())), 3)

    def test_filters(self):
        oak, elm, imported = (bundle.name for bundle in self.bundles)
        self.assertEqual(self.fetched("--host", "oak"), {oak, imported})
        self.assertEqual(self.fetched("--event", "import"), {imported})
        self.assertEqual(self.fetched("--since", "1000d"), {oak, elm, imported})
        self.assertEqual(len(self.fetched("--limit", "1")), 1)
        for options in (("--since", "1h"), ("--event", "no such"), ("--host", "oak&event=import")):
            done = self.fetch(*options)
            self.assertEqual(
                (done.returncode, done.stderr), (1, "lagtrap: the server has no such bundle\n")
            )
        done = self.fetch("--cause", "lock")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cause", done.stderr)

    def test_nothing_is_overwritten(self):
        self.folder.mkdir()
        mine = self.folder / self.bundles[0].name
        mine.write_text("mine")
        self.assertEqual(len(self.fetched()), 3)
        self.assertEqual(mine.read_text(), "mine")

    def certificate(self, name):
        """Of a server for this address, signed by an authority of our own in the file ca.pem."""

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.root, check=True, capture_output=True)

        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        if not (self.root / "ca.pem").exists():
            openssl(
                "req",
                "-x509",
                *key,
                "-days",
                "2",
                "-subj",
                "/CN=our authority",
                "-keyout",
                "ca.key",
                "-out",
                "ca.pem",
            )
        openssl(
            "req",
            *key,
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName=IP:{name}",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
        )
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-copy_extensions",
            "copy",
            "-out",
            f"{name}.pem",
        )
        return (
            "--tls-certificate",
            self.root / f"{name}.pem",
            "--tls-key",
            self.root / f"{name}.key",
        )

    def test_over_tls_with_an_authority_of_our_own(self):
        for address, trusted, said in (
            ("127.0.0.1", "ca.pem", None),
            ("127.0.0.1", None, "use --ca FILE"),
            ("127.0.0.1", "/etc/ssl/certs/ca-certificates.crt", "use --ca FILE"),
            ("127.0.0.2", "ca.pem", "127.0.0.1"),
        ):
            self.server.stop()
            self.server = Server(*self.certificate(address), data=self.data)
            self.addCleanup(self.server.__exit__)
            done = self.fetch(*(("--ca", self.root / trusted) if trusted else ()))
            with self.subTest(address=address, trusted=trusted, done=done):
                self.assertEqual(done.returncode, 1 if said else 0)
                self.assertIn(said or "", done.stderr)
        self.assertEqual(
            {path.name for path in self.folder.iterdir()}, {bundle.name for bundle in self.bundles}
        )

    def test_refusals_say_what_to_do(self):
        for token, text in (
            (None, "use --token-file with a token that has the scope read"),
            (self.upload_token, "--token-file needs a token with the scope read"),
        ):
            done = self.fetch(token=token)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(text, done.stderr)
        plain = subprocess.run(
            [LAGTRAP, "fetch", "--server", "http://192.0.2.1"], capture_output=True, text=True
        )
        self.assertEqual(plain.returncode, 1)
        self.assertIn("use https", plain.stderr)
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
