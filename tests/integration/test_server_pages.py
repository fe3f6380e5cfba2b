"""The pages in a real browser with the real server. With --serve: the same server, for working
on the pages, until Ctrl-C."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import uuid

from lagtrap_server import PASSWORD, sha256
from lagtrap_test import BUILD_DIR, MAKE_BUNDLE, RECORDED_SINCE_S, SOURCE_DIR, skip, wait_for
from server_case import ServerCase


HOSTILE_EVENT = "<script>document.title='taken over'</script>"
MAKE_OBJECTS = BUILD_DIR / "server" / "make_objects"


class Pages(ServerCase):
    def test_in_a_browser(self):
        for program in ("node", os.environ.get("LAGTRAP_CHROMIUM", "chromium-headless-shell")):
            if not shutil.which(program):
                skip(f"{program} is not installed")
        _, world = self.seeded_server()
        outcome = subprocess.run(
            ["node", "--test-reporter=tap", SOURCE_DIR / "tests" / "browser" / "run.mjs"],
            capture_output=True,
            text=True,
            env={**os.environ, "LAGTRAP_WEB_WORLD": str(world)},
            timeout=1140,
        )
        if outcome.returncode == 77:
            skip(outcome.stdout)
        print(
            "\n".join(
                line
                for line in outcome.stdout.splitlines()
                if line.startswith(("# pass", "# fail", "# skipped"))
            ),
            file=sys.stderr,
        )
        # The output of each failed test.
        failed = re.findall(r"^not ok .*?^  \.\.\.$", outcome.stdout, re.M | re.S)
        self.assertEqual(outcome.returncode, 0, "\n".join(failed) + outcome.stderr[-2000:])

    def seeded_server(self):
        """A server with data for all pages, and the file that tells the browser tests its
        content."""
        checker = self.open_world(
            "--requests-per-second",
            "0",
            "--trace-viewer",
            "https://ui.perfetto.dev",
            "--allow-local-receivers",
        )
        # Enough runs for the bars, five of them suspended; an event whose name is markup.
        self.batches = [self.make_runs(seed) for seed in range(5)] + [
            self.make_runs(5, host="web-2"),
            self.make_runs(9, count=10, event=HOSTILE_EVENT, lost=1234),
        ]
        self.batches += self.two_days("checkout", 3, "bbbb2222bbbb2222")
        shop, big = self.bundle_of_kind("shop", "query"), self.bundle_of_kind(
            "big", "open document"
        )
        self.bundles = (
            [self.make_bundle(seed) for seed in range(1, 8)]
            + [self.make_bundle(seed, event="import") for seed in (1, 2)]
            + [shop, big, b"no bundle at all"]
        )
        # The event that got worse has delays of this hour, with a cause.
        self.bundles[:0] = [
            self.make_bundle(seed, event="checkout", since_s=int(time.time()) - 1200)
            for seed in range(1, 8)
        ]
        watches = self.add_watches()
        self.upload_once(checker)
        checker.ask("PUT", "/api/v1/builds/bbbb2222bbbb2222", {"name": "v4.0"})
        _, page = checker.ask("GET", "/api/v1/events/query/runs?limit=1")
        _, profile = checker.ask("GET", f"/api/v1/bundles/{sha256(big)}/delays/1/profile")
        world = {
            "url": checker.server.url,
            "accounts": {
                "admin": {"account": "ann", "password": PASSWORD},
                "reader": {"account": "rita", "password": PASSWORD},
            },
            "event": {
                "name": "query",
                "runs": page["total"],
                "hidden": page["hidden"],
                "stage": "execute",
                "host": "host-<1>",
                "unit": "container <shop>",
                "cause": "ReadWholeTable",
                "builds": ["build-a", "build-b"],
            },
            "worse": {
                "event": "checkout",
                "build": "v4.0",
                "cause": "ReadWholeTable",
                "causes": ["ReadWholeTable", "ExecSort"],
            },
            "lost": {"host": "host-<1>", "runs": "1,234"},
            "quiet_event": HOSTILE_EVENT,
            "delays_event": "import",
            "hostile_event": HOSTILE_EVENT,
            "delay": {
                "bundle": sha256(shop),
                "number": 2,
                "function": "exec_query",
                "hostile_function": "<script>alert(1)</script>",
                "followed_class": "shop::Cart",
                "traced_function": "exec_query",
                "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            },
            "big_delay": {"bundle": sha256(big), "number": 1, "nodes": len(profile["nodes"])},
            "watch": watches,
            "bad_bundle": sha256(self.bundles[-1]),
        }
        path = self.root / "world.json"
        path.write_text(json.dumps(world))
        return checker.server, path

    def upload_once(self, checker):
        for kind, contents in (("bundles", self.bundles), ("batches", self.batches)):
            for content in contents:
                checker.ask(
                    "PUT",
                    f"/api/v1/{kind}/{sha256(content)}",
                    content,
                    201,
                    content_type="application/zstd",
                )

        def get(path):
            return json.loads(
                checker.server.request("GET", path, headers={"Cookie": checker.cookie})[1]
            )

        wait_for(
            lambda: all(row["parsed"] for row in get("/api/v1/bundles?limit=500")["bundles"]),
            "the bundles to be looked into",
            180,
        )
        for event in ("query", "checkout"):
            wait_for(
                lambda: get(f"/api/v1/causes?event={event}")["causes"],
                "the causes to be noticed",
                180,
            )

    def bundle_of_kind(self, kind, event):
        made = subprocess.run(
            [
                MAKE_BUNDLE,
                str(uuid.uuid4()),
                "host-<1>",
                self.root,
                "8",
                str(RECORDED_SINCE_S),
                event,
                kind,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return pathlib.Path(made.stdout.strip()).read_bytes()

    def add_watches(self):
        """Two parts of the running one are missing; one ended, and was too long to keep
        completely; the last one's first part is missing."""
        running, ended, headless = (str(uuid.uuid4()) for _ in range(3))
        for watch, host, *part in [
            (running, "web-03", "1"),
            (running, "web-03", "4"),
            (headless, "web-05", "2"),
            (ended, "<b>web-04</b>", "1"),
            (ended, "<b>web-04</b>", "2", "long"),
            (ended, "<b>web-04</b>", "3", "long"),
            (ended, "<b>web-04</b>", "4", "last"),
        ]:
            self.batches.append(
                subprocess.run(
                    [MAKE_OBJECTS, watch, host, *part], capture_output=True, check=True
                ).stdout
            )
        return {
            "id": running,
            "host": "web-03",
            "ended": ended,
            "headless_host": "web-05",
            "make_objects": str(MAKE_OBJECTS.resolve()),
        }


def serve():
    case = Pages()
    case.setUp()
    try:
        server, world = case.seeded_server()
        print(
            f"{server.url}  accounts ann (admin) and rita (reader), password {PASSWORD!r}; "
            "Ctrl-C ends it\n"
            f"LAGTRAP_WEB_WORLD={world} node tests/browser/run.mjs FILE... tests its pages",
            flush=True,
        )
        server.process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        case.doCleanups()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else unittest.main(verbosity=2)
