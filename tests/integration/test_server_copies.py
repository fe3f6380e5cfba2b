"""Killed in the middle of work, alone and as one of two copies: nothing acknowledged is missing, nothing is there twice."""

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
import unittest

from lagtrap_test import SERVER, SKIP_EXIT_CODE, SOURCE_DIR, skip, wait_for
from test_postgresql import Postgres
from test_server_api import Checker, ServerCase
from upload_world import MIB, Port, Server, relay, sha256

RADOSGW = SOURCE_DIR / "tests" / "integration" / "radosgw.sh"
DIGESTS = '/api/v1/{}/{}'


class Load:
    """Sends bundles and batches to an address from several threads, again and again until each is acknowledged."""

    def __init__(self, port, bundles, batches):
        self.port = port
        self.left = [("bundles", content) for content in bundles] + [("batches", content) for content in batches]
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


class World(ServerCase):
    def make_load(self, bundles, batches, runs):
        self.contents = [self.make_bundle(seed, host=f"host{seed % 7}") for seed in range(bundles)]
        self.contents += [os.urandom(MIB) for _ in range(bundles // 4)]
        self.run_batches = [self.make_runs(seed, host=f"host{seed % 7}", count=runs) for seed in range(batches)]
        self.runs_each = runs

    def check_all_there_once(self, checker):
        """What the server holds is what was sent: each bundle once, each run once, and whole."""
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
        acknowledged = {"bundles": set(), "batches": set()}
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
                        self.assertEqual(response.status, 200, f"{kind} {digest} was acknowledged and is gone")
        self.assertGreater(load.failures, 0)
        print(f"killed 3 times, {load.failures} uploads failed and were sent again", file=sys.stderr)
        checker = Checker(self, server)
        self.wait_until_parsed(checker)
        self.check_all_there_once(checker)
        self.assertEqual(server.stop(), 0)
        outcome = subprocess.run([SERVER, "--data", server.data, "check"], capture_output=True, text=True)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)


class Forwarder(Port):
    """A port that stays the same while servers behind it come and go."""

    def __init__(self, port, target):
        self.target = target
        super().__init__(port)

    def serve(self, client):
        with socket.create_connection(("127.0.0.1", self.target()), timeout=30) as server:
            relay(client, server)


class ObjectStore:
    """Ceph's gateway on this machine."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-rgw-"))
        outcome = subprocess.run([RADOSGW, "start", self.folder], capture_output=True, text=True)
        if outcome.returncode == SKIP_EXIT_CODE:
            skip(outcome.stdout.removeprefix("SKIP: ").strip())
        if outcome.returncode != 0:
            raise AssertionError(outcome.stdout + outcome.stderr)
        self.address = outcome.stdout.strip()
        return self

    def __exit__(self, *_):
        subprocess.run([RADOSGW, "stop", self.folder])
        shutil.rmtree(self.folder, ignore_errors=True)


class Copy(Server):
    """One of the equal copies, with the keys of the object store in its environment."""

    def __init__(self, data, *options):
        os.environ.update(AWS_ACCESS_KEY_ID="AKTEST", AWS_SECRET_ACCESS_KEY="SKTEST")
        super().__init__(data, *options)


class TwoCopies(World):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("haproxy"):
            skip("haproxy is not installed")
        cls.postgres = cls.enterClassContext(Postgres())
        cls.objects = cls.enterClassContext(ObjectStore())
        subprocess.run(["curl", "-fsS", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", "AKTEST:SKTEST", "-X", "PUT",
                        "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"{cls.objects.address}/lagtrap"], check=True,
                       capture_output=True)

    def copy(self, name):
        (self.root / name).mkdir(exist_ok=True)
        copy = Copy(str(self.root / name / "data"), "--store", f"postgresql:///postgres?host={self.postgres.folder}&user=postgres",
                    "--blobs", f"s3://lagtrap?endpoint={self.objects.address}")
        self.addCleanup(copy.__exit__)
        return copy

    def proxy(self, ports):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        servers = "\n".join(f"  server copy{i} 127.0.0.1:{at} check inter 200ms fall 1 rise 1" for i, at in enumerate(ports))
        (self.root / "haproxy.cfg").write_text(
            "defaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  retries 2\n"
            "  option redispatch\n  option httpchk GET /healthz\n  http-check send hdr Host localhost\n"
            f"frontend front\n  bind 127.0.0.1:{port}\n  default_backend copies\n"
            f"backend copies\n  balance roundrobin\n{servers}\n")
        process = subprocess.Popen(["haproxy", "-f", self.root / "haproxy.cfg", "-db"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
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
        # An upload that is half there when its server dies.
        half = self.contents[-1]
        torn = first.begin_upload(half, MIB // 2)
        load = Load(port, self.contents, self.run_batches)
        with load.running():
            wait_for(lambda: load.count() >= 20, "20 acknowledged uploads")
            first.kill()
        torn.close()
        print(f"one of two copies killed, {load.failures} uploads failed and were sent again", file=sys.stderr)
        survivor = Checker(self, second)
        self.wait_until_parsed(survivor)
        self.check_all_there_once(survivor)
        # The one that comes back tells the same.
        self.check_all_there_once(Checker(self, self.copy("first")))
        outcome = subprocess.run(
            [SERVER, "--data", self.root / "check", "--store",
             f"postgresql:///postgres?host={self.postgres.folder}&user=postgres",
             "--blobs", f"s3://lagtrap?endpoint={self.objects.address}", "check"], capture_output=True, text=True)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)

    def test_sessions_count_on_every_copy(self):
        first, second = self.copy("first"), self.copy("second")
        store = f"postgresql:///postgres?host={self.postgres.folder}&user=postgres"
        subprocess.run([SERVER, "--data", self.root / "first" / "data", "--store", store, "user", "add", "ann", "--role",
                        "admin"], input="correct horse battery\n", text=True, check=True, capture_output=True)
        here, there = Checker(self, first), Checker(self, second)
        wait_for(lambda: first.request("GET", "/api/v1/session")[0].status == 401, "the first copy to close")
        wait_for(lambda: second.request("GET", "/api/v1/session")[0].status == 401, "the second copy to close")
        here.sign_in("ann")
        there.cookie = here.cookie
        self.assertEqual(there.ask("GET", "/api/v1/session")[1]["account"], "ann")
        there.ask("DELETE", "/api/v1/session", expect=204)
        here.ask("GET", "/api/v1/session", expect=401)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("PostgreSQL and Ceph are started as other users, which needs root")
    unittest.main(verbosity=2)
