"""Checks of the API's addresses for causes, bundles, objects and administration, which
test_server_api.py makes."""

import gzip
import json
import subprocess
import tempfile
import urllib.parse

from lagtrap_server import PASSWORD, sha256
from lagtrap_test import LAGTRAP, wait_for
from server_case import ServerCase


class BundleChecks(ServerCase):
    def check_causes(self, checker):
        def known():
            return checker.ask("GET", "/api/v1/causes?event=query")[1]["causes"]

        # Two bundles are too few for a result.
        self.assertEqual(known(), [])
        for seed in range(3, 10):
            content = self.make_bundle(seed, host=f"host-{seed % 3}")
            checker.ask(
                "PUT",
                f"/api/v1/bundles/{sha256(content)}",
                content,
                201,
                content_type="application/zstd",
            )
        cause = next(
            cause
            for cause in wait_for(known, "the causes to be noticed")
            if "ReadWholeTable" in cause["title"]
        )
        self.assertEqual((cause["status"], cause["part_of"], cause["owner"]), ("new", None, ""))
        _, told = checker.ask("GET", "/api/v1/events/query/causes")
        self.assertIn(
            cause["id"], [found["record"]["id"] for found in told["causes"] if found["record"]]
        )
        address = f"/api/v1/causes/{cause['id']}"
        _, life = checker.ask("GET", address)
        self.assertEqual(life["delays"], len(life["newest_delays"]))
        self.assertEqual(
            {count["host"] for count in life["by_host"]}, {"host-0", "host-1", "host-2", "host-<1>"}
        )
        self.assertEqual(cause["holder"], life["holder"])
        self.assertEqual(
            sum(count["delays"] for count in life["by_holder"]) > 0, life["holder"] is not None
        )
        self.assertTrue(all(day["rate"] is None or 0 < day["rate"] <= 1 for day in life["days"]))
        _, flame = checker.ask("GET", f"{address}/flame?state=off-cpu")
        self.assertEqual(flame["runs"], life["delays"])
        checker.ask("GET", f"{address}/flame?state=x", expect=400)
        checker.ask("GET", "/api/v1/causes/99999/flame", expect=404)
        self.assertIn(
            b'\nlagtrap_event_causes{event="query",status="new"} ',
            checker.ask("GET", "/metrics")[1],
        )
        self.assertTrue(
            all(delay["excess_ns"] > 0 and delay["bundle"] for delay in life["newest_delays"])
        )
        _, changed = checker.ask(
            "PUT",
            address,
            {
                "status": "resolved",
                "resolved_build": "v2",
                "owner": "rita",
                "link": "https://tracker/1",
            },
        )
        self.assertEqual(
            (changed["status"], changed["resolved_build"], changed["owner"], changed["changed_by"]),
            ("resolved", "v2", "rita", "ann"),
        )
        for body in (
            {"status": "new"},
            {"resolved_build": "v2"},
            {"link": "javascript:alert(1)"},
            {"part_of": "99999"},
            {"part_of": "x"},
            {"owner": "x" * 65},
            {"colour": "red"},
        ):
            checker.ask("PUT", address, body, 400)
        checker.ask("PUT", "/api/v1/causes/99999", {"owner": "x"}, 404)
        checker.ask("GET", "/api/v1/causes/99999", expect=404)
        checker.ask("GET", "/api/v1/causes/x", expect=404)

    def check_bundles(self, checker):
        _, listed = checker.ask("GET", "/api/v1/bundles?host=host-%3C1%3E&limit=1")
        self.assertIsNotNone(listed["next"])
        _, rest = checker.ask(
            "GET",
            "/api/v1/bundles?host=host-%3C1%3E&limit=1&after=" + urllib.parse.quote(listed["next"]),
        )
        self.assertNotEqual(rest["bundles"][0]["digest"], listed["bundles"][0]["digest"])
        address = f"/api/v1/bundles/{sha256(self.bundles[0])}"
        self.assertEqual(checker.ask("GET", address)[1], self.bundles[0])
        self.assertIn(b"<delay", checker.ask("GET", address + "/system")[1])
        trace = checker.ask("GET", address + "/trace")[1]
        response, packed = checker.ask(
            "GET", address + "/trace", headers={"Accept-Encoding": "gzip"}
        )
        self.assertEqual(response.headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed), trace)

        _, delays = checker.ask("GET", address + "/delays")
        self.assertEqual(
            [delay["duration_ns"] for delay in delays["delays"]], [81_000_000, 60_000_000]
        )
        for delay in delays["delays"]:
            parts = ("on_cpu_ns", "runnable_ns", "blocked_ns", "handed_over_ns", "unknown_ns")
            self.assertEqual(sum(delay[part] for part in parts), delay["duration_ns"])
        self.assertEqual(delays["delays"][0]["blocked"], [{"reason": "disk", "ns": 54_000_000}])
        self.assertGreater(delays["quality"]["samples"], 100)
        _, first = checker.ask("GET", address + "/delays?limit=1")
        _, second = checker.ask(
            "GET", address + "/delays?limit=1&after=" + urllib.parse.quote(first["next"])
        )
        self.assertEqual(
            [first["delays"][0]["number"], second["delays"][0]["number"], second["next"]],
            [2, 1, None],
        )
        self.assertEqual(
            checker.ask("GET", address + "/delays?number=1")[1]["delays"][0]["number"], 1
        )
        self.assertEqual(checker.ask("GET", address + "/delays?number=3")[1]["delays"], [])
        checker.ask("GET", address + "/delays?number=0", expect=400)
        _, everywhere = checker.ask("GET", "/api/v1/delays?event=query&order=slowest")
        self.assertEqual(
            [delay["duration_ns"] for delay in everywhere["delays"]],
            [81_000_000] * 2 + [60_000_000] * 2,
        )
        self.assertEqual(
            {delay["bundle"] for delay in everywhere["delays"]},
            {sha256(bundle) for bundle in self.bundles},
        )
        _, summary = checker.ask("GET", "/api/v1/events/query/delays")
        self.assertEqual(
            (summary["delays"], summary["percentiles"]["max"], len(summary["hosts"])),
            (4, 81_000_000, 1),
        )

        _, flame = checker.ask("GET", address + "/delays/2/profile?against=normal")
        self.assertEqual(flame["nodes"][0][:3], [-1, flame["nodes"][0][1], 81_000_000])
        self.assertEqual(flame["baseline_runs"], 12)
        self.assertIn(
            {"function": "<script>alert(1)</script>", "module": "/usr/bin/app"}, flame["names"]
        )
        _, waiting = checker.ask("GET", address + "/delays/2/profile?state=off-cpu")
        self.assertEqual((waiting["total"], waiting["baseline_total"]), (54_000_000, None))
        checker.ask("GET", address + "/delays/2/profile?state=dreaming", expect=400)
        self.check_forms(checker, address)
        _, timeline = checker.ask("GET", address + "/delays/2/timeline")
        self.assertEqual(int(timeline["to_ns"]) - int(timeline["from_ns"]), 81_000_000)
        self.assertEqual(timeline["intervals"][-1]["to_ns"], 81_000_000)
        _, machine = checker.ask("GET", address + "/delays/2/machine?columns=500")
        self.assertTrue(machine["threads"][0]["of_delay"])
        self.assertEqual(
            (machine["from_ns"], machine["to_ns"]),
            (machine["recorded_from_ns"], machine["recorded_to_ns"]),
        )
        _, part = checker.ask(
            "GET", address + "/delays/2/machine?from_ns=0&to_ns=81000000&columns=4000"
        )
        self.assertEqual((part["from_ns"], part["to_ns"]), (0, 81_000_000))
        self.assertLess(part["finest_ns"], machine["finest_ns"])
        for wrong in (
            "from_ns=5&to_ns=5",
            "from_ns=x",
            "columns=9",
            "columns=4001",
            "to_ns=99999999999999999999",
        ):
            checker.ask("GET", f"{address}/delays/2/machine?{wrong}", expect=400)
        for number in ("3", "0", "x"):
            for part in ("profile", "timeline", "machine", "export?format=csv"):
                checker.ask("GET", f"{address}/delays/{number}/{part}", expect=404)
        absent = f"/api/v1/bundles/{sha256(b'absent')}"
        for part in (
            "",
            "/system",
            "/trace",
            "/delays",
            "/delays/1/profile",
            "/delays/1/timeline",
            "/delays/1/machine",
            "/delays/1/export?format=pprof",
        ):
            checker.ask("GET", absent + part, expect=404)

    def check_objects(self, checker):
        """Without any; test_distant_objects.py covers those that a machine sends."""
        _, watches = checker.ask("GET", "/api/v1/objects")
        self.assertEqual(watches["watches"], [])
        checker.ask("GET", "/api/v1/objects/0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11", expect=404)
        checker.ask(
            "GET", "/api/v1/objects/0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11?after=x", expect=400
        )
        checker.ask(
            "GET", "/api/v1/objects/0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11/summary", expect=404
        )

    def check_forms(self, checker, address):
        """Each format equals what `lagtrap export` writes for the same bundle."""
        _, listed = checker.ask("GET", "/api/v1/formats")
        names = [form["name"] for form in listed["formats"]]
        self.assertEqual(
            names, ["folded", "pprof", "speedscope", "firefox", "chrome", "csv", "perf"]
        )
        with tempfile.NamedTemporaryFile(suffix=".lagtrap.tar.zst") as bundle:
            bundle.write(self.bundles[0])
            bundle.flush()
            for form in listed["formats"]:
                for state in ("", "&state=all", "&state=on-cpu", "&state=off-cpu"):
                    words = ["--delay", "2", "--format", form["name"]] + (
                        ["--" + state.removeprefix("&state=")] if state else []
                    )
                    wanted = subprocess.run(
                        [LAGTRAP, "export", bundle.name, *words], capture_output=True, check=True
                    ).stdout
                    response, given = checker.ask(
                        "GET", f"{address}/delays/2/export?format={form['name']}{state}", raw=True
                    )
                    self.assertEqual(given, wanted, f"{form['name']} {state}")
                    self.assertIn(
                        f"-delay2.{form['suffix']}\"", response.headers["Content-Disposition"]
                    )
                self.assertGreater(len(wanted), 20, form["name"])
        for query in (
            "",
            "?format=gif",
            "?format=pftrace",
            "?format=csv&state=dreaming",
            "?format=csv&thread=1",
        ):
            checker.ask("GET", f"{address}/delays/2/export{query}", expect=400)

    def check_administration(self, checker):
        new = {"account": "ulla", "password": PASSWORD, "role": "uploader"}
        checker.ask("POST", "/api/v1/accounts", new, 201)
        checker.ask("POST", "/api/v1/accounts", new, 409)
        checker.ask("POST", "/api/v1/accounts", {**new, "account": "bob", "password": "short"}, 400)
        checker.ask("POST", "/api/v1/accounts", {**new, "account": "<b>"}, 400)
        checker.ask("POST", "/api/v1/accounts", {**new, "account": "bob", "role": "king"}, 400)
        _, accounts = checker.ask("GET", "/api/v1/accounts")
        self.assertEqual(
            [account["account"] for account in accounts["accounts"]], ["ann", "rita", "ulla"]
        )
        checker.ask("DELETE", "/api/v1/accounts/ann", expect=409)  # the last admin
        checker.ask("DELETE", "/api/v1/accounts/ulla", expect=204)
        checker.ask("DELETE", "/api/v1/accounts/ulla", expect=404)

        newest = checker.ask("GET", "/api/v1/audit?limit=1")[1]["entries"][0]
        self.assertEqual(
            (newest["who"], newest["action"], newest["object"]), ("ann", "delete account", "ulla")
        )

        team = {"events": ["query"], "units": ["*"], "groups": []}
        checker.ask("PUT", "/api/v1/teams/shop", team, 201)
        checker.ask("PUT", "/api/v1/teams/shop", team, 200)
        checker.ask("PUT", "/api/v1/teams/a%20b", team, 400)
        checker.ask("PUT", "/api/v1/teams/shop/accounts/rita", expect=204)
        _, teams = checker.ask("GET", "/api/v1/teams")
        self.assertEqual(
            teams["teams"],
            [{**team, "team": "shop", "accounts": [{"account": "rita", "by_group": False}]}],
        )
        checker.ask("DELETE", "/api/v1/teams/shop", expect=409)
        checker.ask("DELETE", "/api/v1/teams/shop/accounts/rita", expect=204)
        checker.ask("DELETE", "/api/v1/teams/shop", expect=204)

        for query in ("", "?format=ndjson&only=refusals"):
            checker.ask("GET", "/api/v1/audit/export" + query)
        checker.ask("GET", "/api/v1/session/ways")
        for address in ("/api/v1/oidc/begin", "/api/v1/oidc/callback"):
            checker.ask("GET", address, expect=404)
        checker.ask(
            "PUT", "/api/v1/session/password", {"password": "wrong", "new_password": PASSWORD}, 403
        )

        _, made = checker.ask(
            "POST", "/api/v1/tokens", {"name": "rack", "scope": "upload", "host": "db1"}, 201
        )
        checker.ask("POST", "/api/v1/tokens", {"name": "rack", "scope": "upload"}, 409)
        checker.ask(
            "POST", "/api/v1/tokens", {"name": "old", "scope": "read", "expires_ns": "1"}, 400
        )
        checker.ask("POST", "/api/v1/tokens", {"name": "odd", "scope": "write"}, 400)
        _, tokens = checker.ask("GET", "/api/v1/tokens")
        self.assertEqual(
            [(token["id"], token["host"]) for token in tokens["tokens"]], [(made["id"], "db1")]
        )
        self.assertNotIn(made["token"], json.dumps(tokens))
        checker.ask("DELETE", f"/api/v1/tokens/{made['id']}", expect=204)
        checker.ask("DELETE", f"/api/v1/tokens/{made['id']}", expect=404)
