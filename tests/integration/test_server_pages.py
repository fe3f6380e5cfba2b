"""The pages in a real browser, over the real server: what tests/browser checks against its development server, again."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from lagtrap_test import SOURCE_DIR, skip, wait_for
from test_server_api import PASSWORD, ServerCase
from upload_world import sha256

HOSTILE_EVENT = "<script>document.title='taken over'</script>"


class Pages(ServerCase):
    def test_in_a_browser(self):
        for program in ("node", os.environ.get("LAGTRAP_CHROMIUM", "chromium-headless-shell")):
            if not shutil.which(program):
                skip(f"{program} is not installed")
        checker = self.open_world("--requests-per-second", "0")
        # Enough runs for the bars, five of them suspended; an event whose name is markup.
        self.batches = [self.make_runs(seed) for seed in range(5)] + [self.make_runs(5, host="web-2"), self.make_runs(9, count=10, event=HOSTILE_EVENT, lost=1234)]
        self.batches += self.two_days("checkout", 3, "bbbb2222bbbb2222")
        self.bundles = [self.make_bundle(seed) for seed in range(1, 8)] + [self.make_bundle(seed, event="import") for seed in (1, 2)] + [b"no bundle at all"]
        # What got worse has delays of this hour, with a cause.
        self.bundles[:0] = [self.make_bundle(seed, event="checkout", since_s=int(time.time()) - 1200) for seed in range(1, 8)]
        self.upload_all(checker)
        for event in ("query", "checkout"):
            wait_for(lambda: checker.ask("GET", f"/api/v1/causes?event={event}")[1]["causes"], "the causes to be noticed")
        checker.ask("PUT", "/api/v1/builds/bbbb2222bbbb2222", {"name": "v4.0"})
        _, page = checker.ask("GET", "/api/v1/events/query/runs?limit=1")
        world = {
            "url": checker.server.url,
            "accounts": {"admin": {"account": "ann", "password": PASSWORD},
                         "reader": {"account": "rita", "password": PASSWORD}},
            "event": {"name": "query", "runs": page["total"], "hidden": page["hidden"], "stage": "execute", "host": "host-<1>",
                      "unit": "container <shop>", "cause": "ReadWholeTable", "builds": ["build-a", "build-b"]},
            "worse": {"event": "checkout", "build": "v4.0", "cause": "ReadWholeTable"},
            "lost": {"host": "host-<1>", "runs": "1,234"},
            "quiet_event": HOSTILE_EVENT,
            "delays_event": "import",
            "hostile_event": HOSTILE_EVENT,
            "delay": {"bundle": sha256(self.bundles[7]), "number": 2, "function": "exec_query",
                      "hostile_function": "<script>alert(1)</script>"},
            "bad_bundle": sha256(self.bundles[-1]),
        }
        (self.root / "world.json").write_text(json.dumps(world))
        outcome = subprocess.run(["node", SOURCE_DIR / "tests" / "browser" / "run.mjs"], capture_output=True, text=True,
                                 env={**os.environ, "LAGTRAP_WEB_WORLD": str(self.root / "world.json"),
                                      "LAGTRAP_WEB_MAY_LACK": "big_delay,delay.followed_class,delay.traced_function,delay.woken,watch"}, timeout=1140)
        print("\n".join(line for line in outcome.stdout.splitlines() if line.startswith(("# pass", "# fail", "# skipped"))), file=sys.stderr)
        # Of each test that failed, what it says.
        failed = re.findall(r"^not ok .*?^  \.\.\.$", outcome.stdout, re.M | re.S)
        self.assertEqual(outcome.returncode, 0, "\n".join(failed) + outcome.stderr[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
