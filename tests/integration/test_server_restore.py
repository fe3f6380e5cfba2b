"""Backup and restore as in docs/server.md, with a folder and with PostgreSQL and S3; and this
version opening a store of an older one."""

import os
import re
import shutil
import sqlite3
import subprocess
import unittest

from lagtrap_server import PASSWORD, Server, add_user, sha256
from lagtrap_test import SERVER, SOURCE_DIR, skip
from rule_checks import LOSSES
from test_postgresql import BIN, Postgres
from server_case import Checker, ServerCase
from test_server_copies import ObjectStore

EVENT = "/api/v1/events/query"
# The server's data: one address for each kind.
ADDRESSES = (
    "/api/v1/events",
    f"{EVENT}/summary",
    f"{EVENT}/runs?limit=1000",
    f"{EVENT}/runs?limit=1000&dirty=1",
    f"{EVENT}/stages?stage=execute",
    f"{EVENT}/times",
    f"{EVENT}/causes",
    f"{EVENT}/delays",
    "/api/v1/bundles",
    "/api/v1/delays",
    "/api/v1/builds",
    "/api/v1/causes",
    "/api/v1/tokens",
    "/api/v1/rules",
    "/api/v1/teams",
    "/api/v1/choices",
    "/api/v1/audit?limit=1000",
)


def answers(checker):
    told = {address: checker.ask("GET", address)[1] for address in ADDRESSES}
    # Signing in to ask is recorded too, and so are the downloads below.
    told["/api/v1/audit?limit=1000"]["entries"] = [
        entry
        for entry in told["/api/v1/audit?limit=1000"]["entries"]
        if entry["action"] != "sign in" and not entry["action"].startswith("download ")
    ]
    for bundle in told["/api/v1/bundles"]["bundles"]:
        address = f"/api/v1/bundles/{bundle['digest']}"
        told[address] = sha256(checker.ask("GET", address)[1])
        told[address + "/delays"] = checker.ask("GET", address + "/delays")[1]
        told[address + "/trace"] = sha256(checker.ask("GET", address + "/trace")[1])
    for run in told[f"{EVENT}/runs?limit=1000"]["runs"][:5]:
        told[f"/api/v1/runs/{run['id']}"] = checker.ask("GET", f"/api/v1/runs/{run['id']}")[1]
    return told


class RestoreCase(ServerCase):
    def fill(self, checker):
        """Adds something of each kind."""
        self.bundles = [self.make_bundle(seed) for seed in (1, 2, 3)]
        self.batches = [self.make_runs(1), self.make_runs(2, lost=9)]
        self.upload_all(checker)
        checker.ask("PUT", "/api/v1/builds/build-a", {"name": "v1.2"})
        checker.ask("POST", "/api/v1/tokens", {"name": "rack", "scope": "upload"}, 201)
        run = checker.ask("GET", f"{EVENT}/runs?limit=1")[1]["runs"][0]["id"]
        checker.ask("PUT", f"/api/v1/runs/{run}/dirty", {"dirty": True, "reason": "a drill"})
        checker.ask(
            "POST",
            "/api/v1/rules",
            {**LOSSES, "name": "lost", "address": "http://127.0.0.1:9/hook", "enabled": False},
            201,
        )

    def check_same(self, before, checker):
        after = answers(checker)
        self.assertEqual(sorted(after), sorted(before))
        for address, told in before.items():
            self.assertEqual(after[address], told, address)

    def check_whole(self, *options):
        done = subprocess.run([SERVER, *options, "check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(
            "3 bundles listed, 0 stored without being listed, 0 complaint(s)", done.stdout
        )


class FolderAndFile(RestoreCase):
    def open_filled(self):
        add_user(self.root / "data", "ann", "admin")
        server = self.server()
        checker = Checker(self, server)
        checker.sign_in("ann")
        self.fill(checker)
        return server, checker

    def test_backup_while_the_server_runs(self):
        server, checker = self.open_filled()
        before = answers(checker)
        subprocess.run(
            [SERVER, "--data", server.data, "backup", self.root / "backup.sqlite"],
            check=True,
            capture_output=True,
        )
        shutil.copytree(server.data / "blobs", self.root / "backup-blobs")
        # Later data is not in the backup.
        checker.ask("PUT", "/api/v1/builds/build-b", {"name": "v1.3"})
        server.kill()
        fresh = self.root / "fresh"
        fresh.mkdir()
        shutil.copy(self.root / "backup.sqlite", fresh / "lagtrap.sqlite")
        shutil.copytree(self.root / "backup-blobs", fresh / "blobs")
        restored = Checker(self, self.server(data="fresh"))
        restored.sign_in("ann")
        self.check_same(before, restored)
        restored.server.stop()
        self.check_whole("--data", fresh)

    def test_bundles_copied_after_the_store_are_taken_in(self):
        """The other order loses nothing either: blobs that the store does not list are added at
        the start."""
        server, _ = self.open_filled()
        subprocess.run(
            [SERVER, "--data", server.data, "backup", self.root / "backup.sqlite"],
            check=True,
            capture_output=True,
        )
        late = self.make_bundle(9)
        server.stop()
        plain = sqlite3.connect(self.root / "backup.sqlite")
        digest = sha256(self.bundles[2])
        plain.execute(
            "DELETE FROM delay WHERE bundle IN (SELECT number FROM bundle WHERE digest = ?)",
            (digest,),
        )
        plain.execute("DELETE FROM bundle WHERE digest = ?", (digest,))
        plain.commit()
        plain.close()
        shutil.copy(self.root / "backup.sqlite", server.data / "lagtrap.sqlite")
        for rest in server.data.glob("lagtrap.sqlite-*"):
            rest.unlink()
        restored = Checker(self, self.server())
        restored.sign_in("ann")
        self.assertIn("listed 1 bundle(s) that were stored unlisted", restored.server.log())
        self.assertEqual(len(restored.ask("GET", "/api/v1/bundles")[1]["bundles"]), 3)
        self.assertEqual(restored.server.put(late)[0].status, 401)

    def migrations(self):
        """The steps of the schema for SQLite, from the source: number, SQL, and the digest that
        version 0.1.0 stored if it is another one."""
        text = (SOURCE_DIR / "server" / "store" / "schema.cpp").read_text()
        named = dict(re.findall(r'constexpr [^;=]*?(\w+) =\s*R"\((.*?)\)";', text, re.S))
        words = re.findall(r'\{"(\$\w+)",\s*(?:"[^"]*"|\w+),\s*("[^"]*"|\w+)\}', text)
        self.assertGreaterEqual(len(words), 10)
        for number, name, former in re.findall(r'\{(\d+), (\w+)(?:,\s*"(\w+)")?\}', text):
            sql = named[name]
            for word, sqlite in words:
                sql = sql.replace(word, named.get(sqlite, sqlite.strip('"')))
            yield int(number), sql, former

    def test_a_store_of_an_older_version(self):
        """Made from a current store by undoing what steps 8 and later did, and compared with
        the schema of the first seven."""
        server, checker = self.open_filled()
        before = answers(checker)
        server.stop()
        old = sqlite3.connect(server.data / "lagtrap.sqlite")
        for index in ("label_of_sender", "delay_by_trace"):
            old.execute(f"DROP INDEX {index}")
        old.execute("CREATE INDEX run_by_duration ON run(event, duration_ns, id)")
        for table, column in (
            ("run", "unit"),
            ("delay", "unit"),
            ("delay", "trace_id"),
            ("account", "subject"),
            ("label", "sender"),
            ("label", "last_day"),
            ("cause", "holder"),
            ("cause_delay", "holder"),
        ):
            old.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in (
            "team",
            "team_account",
            "quota",
            "objects_watch",
            "objects_part",
            "delay_edge",
        ):
            old.execute(f"DROP TABLE {table}")
        old.execute("DELETE FROM schema_migrations WHERE number > 7")
        old.commit()
        first = sqlite3.connect(":memory:")
        for number, sql, former in self.migrations():
            if number > 7:
                continue
            first.executescript(sql)
            if former:
                step = "UPDATE schema_migrations SET sha256 = ? WHERE number = ?"
                self.assertEqual(old.execute(step, (former, number)).rowcount, 1)
        old.commit()

        def columns(database):
            tables = [
                name
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE "
                    "'sqlite_%'"
                )
            ]
            return {
                table: database.execute(f"PRAGMA table_info({table})").fetchall()
                for table in tables
                if table != "schema_migrations"
            }

        self.assertEqual(columns(old), columns(first))
        old.close()
        upgraded = Checker(self, self.server())
        upgraded.sign_in("ann")
        after = answers(upgraded)
        for address in before:
            self.assertEqual(without_units(after[address]), without_units(before[address]), address)
        self.assertEqual({run["unit"] for run in after[f"{EVENT}/runs?limit=1000"]["runs"]}, {""})
        # It can be used from there on.
        self.batches, self.bundles = [self.make_runs(4)], []
        upgraded.ask(
            "PUT",
            f"/api/v1/batches/{sha256(self.batches[0])}",
            self.batches[0],
            201,
            content_type="application/zstd",
        )
        upgraded.server.stop()
        self.check_whole("--data", server.data)

    def test_a_store_of_a_newer_version_is_refused(self):
        server, _ = self.open_filled()
        server.stop()
        store = sqlite3.connect(server.data / "lagtrap.sqlite")
        store.execute("INSERT INTO schema_migrations(number, sha256) VALUES(999, 'x')")
        store.commit()
        store.close()
        done = subprocess.run(
            [SERVER, "--data", server.data, "--listen", "127.0.0.1:0"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("the database has schema 999, this program knows", done.stderr)


def without_units(told):
    """The older version did not have units."""
    if isinstance(told, dict):
        return {
            name: without_units(value)
            for name, value in told.items()
            if name not in ("unit", "units")
        }
    return [without_units(value) for value in told] if isinstance(told, list) else told


class PostgresAndS3(RestoreCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            skip("PostgreSQL and Ceph are started as other users, which needs root")
        cls.postgres = cls.enterClassContext(Postgres())
        cls.objects = cls.enterClassContext(ObjectStore())

    def s3(self, path, *options):
        subprocess.run(
            [
                "curl",
                "-fsS",
                "--aws-sigv4",
                "aws:amz:us-east-1:s3",
                "-u",
                "AKTEST:SKTEST",
                "-H",
                "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                *options,
                f"{self.objects.address}/{path}",
            ],
            check=True,
            capture_output=True,
        )

    def options(self, database, bucket):
        return [
            "--store",
            f"postgresql:///{database}?host={self.postgres.folder}&user=postgres",
            "--blobs",
            f"s3://{bucket}?endpoint={self.objects.address}",
        ]

    def copy(self, database, bucket):
        (self.root / database).mkdir()
        copy = Server(*self.options(database, bucket), data=self.root / database / "data")
        self.addCleanup(copy.__exit__)
        return copy

    def test_dump_and_bucket(self):
        self.s3("first", "-X", "PUT")
        self.s3("second", "-X", "PUT")
        subprocess.run(
            [
                SERVER,
                "--data",
                self.root / "data",
                *self.options("postgres", "first"),
                "user",
                "add",
                "ann",
                "--role",
                "admin",
            ],
            input=PASSWORD + "\n",
            text=True,
            check=True,
            capture_output=True,
        )
        checker = Checker(self, self.copy("postgres", "first"))
        checker.sign_in("ann")
        self.fill(checker)
        before = answers(checker)
        dump = self.postgres.folder / "dump"
        self.postgres.run(
            BIN / "pg_dump", "-h", self.postgres.folder, "-Fc", "-f", dump, "postgres"
        )
        checker.server.kill()
        self.postgres.run(BIN / "createdb", "-h", self.postgres.folder, "restored")
        self.postgres.run(
            BIN / "pg_restore",
            "-h",
            self.postgres.folder,
            "-d",
            "restored",
            "--exit-on-error",
            dump,
        )
        # As any S3 tool copies objects.
        for key in map(sha256, self.bundles):
            self.s3(f"first/{key}", "-o", self.root / key)
            self.s3(f"second/{key}", "-T", self.root / key)
        restored = Checker(self, self.copy("restored", "second"))
        restored.sign_in("ann")
        self.check_same(before, restored)
        restored.server.stop()
        self.check_whole(
            "--data", self.root / "restored" / "data", *self.options("restored", "second")
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
