"""Servers killed during their work, alone and as one of two on a store: nothing acknowledged is
missing, nothing is there twice."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from lagtrap_server import Server, sha256
from lagtrap_test import SERVER, SKIP_EXIT_CODE, SOURCE_DIR, skip, wait_for
from test_postgresql import BIN, Postgres
from server_case import Checker, ServerCase
from upload_world import MIB, Port, relay

RADOSGW = SOURCE_DIR / "tests" / "integration" / "radosgw.sh"
DIGESTS = "/api/v1/{}/{}"


class Load:
    """Sends bundles and batches to an address from several threads, repeating each until it is
    acknowledged."""

    def __init__(self, port, bundles, batches):
        self.port = port
        self.left = [("bundles", content) for content in bundles] + [
            ("batches", content) for content in batches
        ]
        random.Random(1).shuffle(self.left)
        self.lock = threading.Lock()
        self.acknowledged = {"bundles": set(), "batches": set()}
        self.failures = 0
        self.stopping = False

    def send(self, kind, content):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("PUT", DIGESTS.format(kind, sha256(content)), content)
            response = connection.getresponse()
            body = response.read()
            if response.status in (200, 201):
                with self.lock:
                    self.acknowledged[kind].add(json.loads(body)["digest"])
                return True
        return False

    def work(self):
        while not self.stopping:
            with self.lock:
                if not self.left:
                    return
                kind, content = self.left.pop()
            sent = False
            with contextlib.suppress(OSError, http.client.HTTPException):
                sent = self.send(kind, content)
            if not sent:
                with self.lock:
                    self.failures += 1
                    self.left.append((kind, content))

    def count(self):
        with self.lock:
            return sum(map(len, self.acknowledged.values()))

    @contextlib.contextmanager
    def running(self, threads=8):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            workers = [pool.submit(self.work) for _ in range(threads)]
            try:
                yield
                for worker in workers:
                    worker.result()
            finally:
                self.stopping = True


def until_midnight():
    """Seconds until the next UTC day."""
    return 86400 - int(time.time()) % 86400


class World(ServerCase):
    def make_load(self, bundles, batches, runs):
        self.contents = [self.make_bundle(seed, host=f"host{seed % 7}") for seed in range(bundles)]
        self.contents += [os.urandom(MIB) for _ in range(bundles // 4)]
        self.run_batches = [
            self.make_runs(seed, host=f"host{seed % 7}", count=runs) for seed in range(batches)
        ]
        self.runs_each = runs

    def check_all_there_once(self, checker):
        """The server has what was sent: each bundle and each run exactly once, and complete."""
        rows, after = [], ""
        while True:
            _, page = checker.ask("GET", f"/api/v1/bundles?limit=100{after}")
            rows += page["bundles"]
            if page["next"] is None:
                break
            after = "&after=" + page["next"]
        digests = [row["digest"] for row in rows]
        self.assertEqual(sorted(digests), sorted(sha256(content) for content in self.contents))
        for content in self.contents:
            self.assertEqual(checker.ask("GET", f"/api/v1/bundles/{sha256(content)}")[1], content)
        _, page = checker.ask("GET", "/api/v1/events/query/runs?limit=1&dirty=1")
        self.assertEqual(page["total"], self.runs_each * len(self.run_batches))

    def wait_until_parsed(self, checker):
        def parsed():
            _, page = checker.ask("GET", "/api/v1/bundles?limit=1000")
            return all(row["parsed"] for row in page["bundles"])

        wait_for(parsed, "every bundle to be looked into")
        good = {sha256(content) for content in self.contents if len(content) < MIB}
        _, page = checker.ask("GET", "/api/v1/bundles?limit=1000")
        for row in page["bundles"]:
            self.assertEqual(row["bad_reason"] is None, row["digest"] in good, row)


class OneServer(World):
    def test_killed_under_load(self):
        self.make_load(bundles=40, batches=30, runs=200)
        port = None
        server = self.server()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        forwarder = Forwarder(port, lambda: server.port)
        self.addCleanup(forwarder.close)
        load = Load(port, self.contents, self.run_batches)
        with load.running():
            for share in (0.2, 0.5, 0.8):
                goal = int(share * (len(self.contents) + len(self.run_batches)))
                wait_for(lambda: load.count() >= goal, f"{goal} acknowledged uploads")
                server.kill()
                kept = {kind: set(digests) for kind, digests in load.acknowledged.items()}
                server = self.server()
                for kind, digests in kept.items():
                    for digest in digests:
                        response, _ = server.request("HEAD", DIGESTS.format(kind, digest))
                        self.assertEqual(
                            response.status, 200, f"{kind} {digest} was acknowledged and is gone"
                        )
        self.assertGreater(load.failures, 0)
        print(
            f"killed 3 times, {load.failures} uploads failed and were sent again", file=sys.stderr
        )
        checker = Checker(self, server)
        self.wait_until_parsed(checker)
        self.check_all_there_once(checker)
        self.assertEqual(server.stop(), 0)
        server.check_store()


class Forwarder(Port):
    """A port that stays the same while servers behind it come and go."""

    def __init__(self, port, target):
        self.target = target
        super().__init__(port)

    def serve(self, client):
        with socket.create_connection(("127.0.0.1", self.target()), timeout=30) as server:
            relay(client, server)


class ObjectStore:
    """Ceph's gateway on this machine. Programs started later have its keys in the environment."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-rgw-"))
        outcome = subprocess.run([RADOSGW, "start", self.folder], capture_output=True, text=True)
        if outcome.returncode == SKIP_EXIT_CODE:
            skip(outcome.stdout.removeprefix("SKIP: ").strip())
        if outcome.returncode != 0:
            raise AssertionError(outcome.stdout + outcome.stderr)
        self.address = outcome.stdout.strip()
        os.environ.update(AWS_ACCESS_KEY_ID="AKTEST", AWS_SECRET_ACCESS_KEY="SKTEST")
        return self

    def __exit__(self, *_):
        subprocess.run([RADOSGW, "stop", self.folder])
        shutil.rmtree(self.folder, ignore_errors=True)


class TwoCopies(World):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("haproxy"):
            skip("haproxy is not installed")
        cls.postgres = cls.enterClassContext(Postgres())
        cls.objects = cls.enterClassContext(ObjectStore())
        subprocess.run(
            [
                "curl",
                "-fsS",
                "--aws-sigv4",
                "aws:amz:us-east-1:s3",
                "-u",
                "AKTEST:SKTEST",
                "-X",
                "PUT",
                "-H",
                "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                f"{cls.objects.address}/lagtrap",
            ],
            check=True,
            capture_output=True,
        )

    def copy(self, name, *options, database="postgres"):
        (self.root / name).mkdir(exist_ok=True)
        copy = Server(
            "--store",
            f"postgresql:///{database}?host={self.postgres.folder}&user=postgres",
            "--blobs",
            f"s3://lagtrap?endpoint={self.objects.address}",
            *options,
            data=self.root / name / "data",
        )
        self.addCleanup(copy.__exit__)
        return copy

    def proxy(self, ports):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        servers = "\n".join(
            f"  server copy{i} 127.0.0.1:{at} check inter 200ms fall 1 rise 1"
            for i, at in enumerate(ports)
        )
        (self.root / "haproxy.cfg").write_text(
            "defaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n"
            "  timeout server 60s\n  retries 2\n"
            "  option redispatch\n  option httpchk GET /healthz\n"
            "  http-check send hdr Host localhost\n"
            f"frontend front\n  bind 127.0.0.1:{port}\n  default_backend copies\n"
            f"backend copies\n  balance roundrobin\n{servers}\n"
        )
        process = subprocess.Popen(
            ["haproxy", "-f", self.root / "haproxy.cfg", "-db"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def answers():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                with contextlib.closing(connection):
                    connection.request("GET", "/healthz", headers={"Host": "localhost"})
                    return connection.getresponse().status == 200
            return False

        wait_for(answers, "HAProxy to reach a copy")
        return port

    def test_a_copy_is_killed_in_the_middle_of_an_upload(self):
        first, second = self.copy("first"), self.copy("second")
        self.make_load(bundles=24, batches=20, runs=200)
        port = self.proxy([first.port, second.port])
        # An upload that is half done when its server dies.
        half = self.contents[-1]
        torn = first.begin_upload(half, MIB // 2)
        load = Load(port, self.contents, self.run_batches)
        with load.running():
            wait_for(lambda: load.count() >= 20, "20 acknowledged uploads")
            first.kill()
        torn.close()
        print(
            f"one of two copies killed, {load.failures} uploads failed and were sent again",
            file=sys.stderr,
        )
        survivor = Checker(self, second)
        self.wait_until_parsed(survivor)
        self.check_all_there_once(survivor)
        # The restarted server gives the same answers.
        self.check_all_there_once(Checker(self, self.copy("first")))
        outcome = subprocess.run(
            [
                SERVER,
                "--data",
                self.root / "check",
                "--store",
                f"postgresql:///postgres?host={self.postgres.folder}&user=postgres",
                "--blobs",
                f"s3://lagtrap?endpoint={self.objects.address}",
                "check",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)

    def test_sessions_count_on_every_copy(self):
        first, second = self.copy("first"), self.copy("second")
        store = f"postgresql:///postgres?host={self.postgres.folder}&user=postgres"
        subprocess.run(
            [
                SERVER,
                "--data",
                self.root / "first" / "data",
                "--store",
                store,
                "user",
                "add",
                "ann",
                "--role",
                "admin",
            ],
            input="correct horse battery\n",
            text=True,
            check=True,
            capture_output=True,
        )
        here, there = Checker(self, first), Checker(self, second)
        wait_for(
            lambda: first.request("GET", "/api/v1/session")[0].status == 401,
            "the first copy to close",
        )
        wait_for(
            lambda: second.request("GET", "/api/v1/session")[0].status == 401,
            "the second copy to close",
        )
        here.sign_in("ann")
        there.cookie = here.cookie
        self.assertEqual(there.ask("GET", "/api/v1/session")[1]["account"], "ann")
        there.ask("DELETE", "/api/v1/session", expect=204)
        here.ask("GET", "/api/v1/session", expect=401)

    def quota_copies(self):
        """Two servers on a separate database, where a sender may upload 1.00 MiB a day, and a
        function that runs SQL there."""
        database = f"quota{time.monotonic_ns()}"
        self.postgres.run(BIN / "createdb", "-h", self.postgres.folder, database)
        wait_for(lambda: until_midnight() > 120, "the day that is about to end to be over", 180)

        def copy(name):
            return self.copy(name, "--daily-quota", "1MiB", database=database)

        def sql(text):
            self.postgres.run(
                BIN / "psql",
                "-h",
                self.postgres.folder,
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                text,
                database,
            )

        return copy, sql

    def test_a_quota_that_one_copy_saw_used_up_is_used_up_on_the_other(self):
        copy, sql = self.quota_copies()
        first, second = copy("first"), copy("second")
        self.assertEqual(first.put(os.urandom(700_000))[0].status, 201)
        latest = until_midnight()
        response, body = second.put(os.urandom(700_000))
        error = json.loads(body)["error"]
        self.assertEqual(response.status, 429)
        self.assertEqual(
            error["message"],
            "the quota of this sender for today is used up (1.00 MiB, --daily-quota)",
        )
        self.assertRegex(error["hint"], r"^it opens again at 00:00 UTC, in \d{1,2} h \d{1,2} min$")
        self.assertTrue(
            until_midnight() <= int(response.headers["Retry-After"]) <= latest + 1,
            response.headers["Retry-After"],
        )
        # Uploads that still fit are accepted.
        self.assertEqual(second.put(os.urandom(200_000))[0].status, 201)
        for one, refused in ((first, 0), (second, 1)):
            told = {
                name: one.metric(name)
                for name in (
                    "quota_bytes",
                    "quota_senders",
                    "quota_most_bytes",
                    "uploads_over_quota_total",
                )
            }
            self.assertEqual(
                told,
                {
                    "quota_bytes": MIB,
                    "quota_senders": 1,
                    "quota_most_bytes": 900_000,
                    "uploads_over_quota_total": refused,
                },
            )
        entries = json.loads(first.request("GET", "/api/v1/audit?only=refusals")[1])["entries"]
        self.assertEqual(
            [(entry["who"], entry["action"], entry["detail"]) for entry in entries],
            [("anyone on this machine", "refuse upload", "its quota of today is used up")],
        )
        # It can never fit, so the sender need not retry.
        response, body = first.put(os.urandom(MIB + 1))
        self.assertEqual((response.status, response.headers["Retry-After"]), (413, None))
        self.assertIn("a sender may bring 1.00 MiB a day", json.loads(body)["error"]["message"])
        name, _ = self.add_bundle(size=700_000)
        _, said = self.upload(second.url)
        self.assertRegex(
            said,
            r"HTTP 429: the quota of this sender for today is used up \(1.00 MiB, --daily-quota\); "
            r"it opens again at 00:00 UTC, in .*; retry after \d+ s",
        )
        self.assertTrue((self.spool / "ready" / name).exists(), said)
        # As it is on the next day.
        sql("UPDATE quota SET day = day - 1")
        self.assertEqual(first.metric("quota_most_bytes"), 0)
        code, said = self.upload(second.url)
        self.assertEqual((code, second.metric("quota_most_bytes")), (0, 700_000), said)

    def test_what_is_not_stored_is_given_back_to_the_quota(self):
        copy, _ = self.quota_copies()
        first, second = copy("first"), copy("second")
        content, runs = os.urandom(500_000), self.make_runs(1)
        self.assertEqual(first.put(content)[0].status, 201)
        self.assertEqual(second.put(content)[0].status, 200)
        self.assertEqual(first.metric("quota_most_bytes"), 500_000, "it was there already")
        self.assertEqual(first.put(os.urandom(100_000), digest=sha256(b"another"))[0].status, 422)
        self.assertEqual(
            second.metric("quota_most_bytes"), 500_000, "it was not what its address says"
        )
        batches = [
            second.request("PUT", DIGESTS.format("batches", sha256(sent)), sent)[0].status
            for sent in (b"no runs", runs, runs)
        ]
        self.assertEqual(batches, [422, 201, 200])
        self.assertEqual(first.metric("quota_most_bytes"), 500_000 + len(runs))

    def test_an_upload_under_way_counts_until_it_is_given_up(self):
        copy, _ = self.quota_copies()
        first, second = copy("first"), copy("second")
        another = os.urandom(600_000)
        with contextlib.closing(first.begin_upload(os.urandom(700_000), 300_000)):
            self.assertEqual(second.metric("quota_most_bytes"), 700_000)
            self.assertEqual(second.put(another)[0].status, 429)
        wait_for(
            lambda: second.metric("quota_most_bytes") == 0, "what did not come to be given back"
        )
        self.assertEqual(second.put(another)[0].status, 201)
        # Bytes charged by a killed server count until the day ends, because nothing refunds them.
        torn = first.begin_upload(os.urandom(400_000), 200_000)
        self.assertEqual(second.metric("quota_most_bytes"), 1_000_000)
        first.kill()
        torn.close()
        self.assertEqual(second.put(os.urandom(MIB - 1_000_000 + 1))[0].status, 429)
        self.assertEqual(copy("first").put(os.urandom(MIB - 1_000_000))[0].status, 201)

    def test_copies_that_count_at_the_same_time_count_together(self):
        copy, _ = self.quota_copies()
        copies = copy("first"), copy("second")
        contents = [os.urandom(100_000) for _ in range(40)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(
                pool.map(
                    lambda numbered: copies[numbered[0] % 2].put(numbered[1])[0].status,
                    enumerate(contents),
                )
            )
        room = MIB // 100_000
        self.assertEqual(
            (answers.count(201), answers.count(429)), (room, len(contents) - room), answers
        )
        self.assertEqual([one.metric("quota_most_bytes") for one in copies], [room * 100_000] * 2)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("PostgreSQL and Ceph are started as other users, which needs root")
    unittest.main(verbosity=2)
