"""Shared by the tests of the server: a server with data, and requests whose answers are checked
against openapi.yaml."""

import json
import re
import time
import urllib.parse
import uuid

import lagtrap_test
from lagtrap_server import PASSWORD, add_user, sha256
from lagtrap_test import SOURCE_DIR, skip, wait_for
from upload_world import SpoolCase

try:
    import jsonschema
    import yaml
except ImportError as missing:
    skip(f"Debian's python3-jsonschema and python3-yaml are needed: {missing}")

DESCRIPTION = yaml.safe_load((SOURCE_DIR / "server" / "api" / "openapi.yaml").read_text())


def resolve(node):
    while "$ref" in node:
        found = DESCRIPTION
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def operation_of(method, path):
    """The path as in the description, and the operation."""
    plain = urllib.parse.urlsplit(path).path.split("/")
    for pattern, item in DESCRIPTION["paths"].items():
        parts = pattern.split("/")
        if len(parts) == len(plain) and all(
            a.startswith("{") or a == b for a, b in zip(parts, plain)
        ):
            if method.lower() in item:
                return item[method.lower()]
    raise AssertionError(f"{method} {path} is not in openapi.yaml")


def memory_peak_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", status.read(), re.M).group(1)) * 1024


class Checker:
    """Sends requests to a server, and checks each answer against the description."""

    def __init__(self, case, server):
        self.case = case
        self.server = server
        self.cookie = None
        self.seen = set()

    def ask(
        self,
        method,
        path,
        body=None,
        expect=200,
        headers=None,
        content_type="application/json",
        raw=False,
    ):
        operation = operation_of(method, path)
        sent = {"Sec-Fetch-Site": "same-origin", **(headers or {})}
        if self.cookie:
            sent["Cookie"] = self.cookie
        if body is not None:
            sent["Content-Type"] = content_type
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        response, content = self.server.request(method, path, body, sent)
        self.case.assertEqual(response.status, expect, f"{method} {path}: {content[:500]}")
        described = resolve(
            operation["responses"].get(str(response.status))
            or self.case.fail(f"{method} {path}: {response.status} is not described")
        )
        self.seen.add((operation["operationId"], response.status))
        kinds = described.get("content", {})
        if method == "HEAD" or response.status == 204 or not kinds:
            self.case.assertEqual(content, b"")
            return response, None
        kind = response.headers["Content-Type"].split(";")[0]
        self.case.assertIn(kind, kinds, f"{method} {path}")
        if raw or kind != "application/json":
            return response, content
        value = json.loads(content)
        schema = {**kinds[kind]["schema"], "components": DESCRIPTION["components"]}
        jsonschema.Draft202012Validator(schema).validate(value)
        return response, value

    def sign_in(self, account, password=PASSWORD):
        self.cookie = None
        response, _ = self.ask(
            "POST", "/api/v1/session", {"account": account, "password": password}, 204
        )
        self.cookie = response.headers["Set-Cookie"].split(";")[0]
        return response


class ServerCase(SpoolCase):
    def open_world(self, *options):
        """A server with an admin, two bundles and two batches."""
        data = self.root / "data"
        add_user(data, "ann", "admin")
        add_user(data, "rita", "reader")
        server = self.server(*options)
        checker = Checker(self, server)
        checker.sign_in("ann")
        self.bundles = [self.make_bundle(seed) for seed in (1, 2)]
        self.batches = [self.make_runs(1), self.make_runs(2, lost=9)]
        return checker

    def make_bundle(self, seed, host="host-<1>", event="query", **more):
        return lagtrap_test.make_bundle(self.root, seed, host, event, **more).read_bytes()

    def make_runs(self, seed, host="host-<1>", count=60, event="query", lost=0, **more):
        path = self.root / f"{uuid.uuid4()}.runs.zst"
        lagtrap_test.make_runs(path, seed, host, event, count, lost, **more)
        return path.read_bytes()

    def two_days(self, event, slow_hours, build, factor=4, count=60):
        """Batches of 48 hours that end with the current one; the last `slow_hours` take `factor`
        times as long, with their own build."""
        since_s = int(time.time()) // 3600 * 3600 - 47 * 3600
        return [
            self.make_runs(
                0,
                event=event,
                count=count,
                since_s=since_s + hour * 3600,
                slower=(factor, build) if hour >= 48 - slow_hours else (1, "0123456789abcdef"),
            )
            for hour in range(48)
        ]

    def upload_all(self, checker):
        for kind, contents in (("bundles", self.bundles), ("batches", self.batches)):
            for content in contents:
                address = f"/api/v1/{kind}/{sha256(content)}"
                checker.ask("HEAD", address, expect=404)
                _, stored = checker.ask(
                    "PUT", address, content, 201, content_type="application/zstd"
                )
                self.assertEqual((stored["digest"], stored["stored"]), (sha256(content), "new"))
                _, stored = checker.ask(
                    "PUT", address, content, 200, content_type="application/zstd"
                )
                self.assertEqual(stored["stored"], "already")
                checker.ask("HEAD", address)

        def parsed():
            rows = checker.ask("GET", "/api/v1/bundles")[1]["bundles"]
            return len(rows) == len(self.bundles) and all(row["parsed"] for row in rows)

        wait_for(parsed, "the bundles to be looked into")
