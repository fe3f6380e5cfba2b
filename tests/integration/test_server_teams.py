"""Teams: members see only their events and units, at every address of the API, on SQLite and on
PostgreSQL."""

import os
import re
import subprocess
import sys
import unittest
import urllib.parse
import uuid

from lagtrap_server import PASSWORD
from lagtrap_test import RECORDED_SINCE_S, SERVER
from test_postgresql import Postgres
from server_case import DESCRIPTION, Checker, ServerCase
from test_server_people import run_browser_tests

OWN, OWN_HOST = "shop.checkout", "host-own"
FOREIGN, FOREIGN_HOST = "zebra.payroll", "host-zebra"
FOREIGN_BUILD = "5ec2e7b111d00000"
SECRET = re.compile("zebra|5ec2e7.{0,20}")


class Teams(ServerCase):
    def open_teams(self, *options):
        data = self.root / "data"

        def command(*words, text=None, expect=0):
            done = subprocess.run(
                [SERVER, "--data", data, *options, *words],
                input=text,
                text=True,
                capture_output=True,
            )
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
            return done.stdout + done.stderr

        for name, role in (
            ("ann", "admin"),
            ("rita", "reader"),
            ("ulf", "uploader"),
            ("carl", "reader"),
        ):
            command("user", "add", name, "--role", role, text=PASSWORD + "\n")
        self.command = command
        server = self.server(*options, "--requests-per-second", "0")
        admin = Checker(self, server)
        admin.sign_in("ann")
        self.bundles = [self.make_bundle(seed, OWN_HOST, OWN) for seed in (1, 2)]
        self.bundles += [self.make_bundle(seed, FOREIGN_HOST, FOREIGN) for seed in (3, 4)]
        self.batches = [
            self.make_runs(1, OWN_HOST, event=OWN, lost=3),
            self.make_runs(2, FOREIGN_HOST, event=FOREIGN, lost=9, slower=(2, FOREIGN_BUILD)),
        ]
        self.upload_all(admin)
        admin.ask("PUT", f"/api/v1/builds/{FOREIGN_BUILD}", {"name": "zebra-v1"})
        admin.ask("PUT", "/api/v1/builds/build-b", {"name": "own-v1"})
        return admin

    def as_(self, admin, name):
        checker = Checker(self, admin.server)
        checker.sign_in(name)
        return checker

    def addresses(self, admin):
        """Every GET in the description that a reader may use, once for their own data and once
        for foreign data."""

        def of(event, host):
            runs = admin.ask("GET", f"/api/v1/events/{event}/runs?limit=1")[1]["runs"]
            bundles = admin.ask("GET", f"/api/v1/bundles?host={host}")[1]["bundles"]
            causes = admin.ask("GET", f"/api/v1/causes?event={event}")[1]["causes"]
            return {
                "event": event,
                "id": runs[0]["id"],
                "digest": bundles[0]["digest"],
                "number": "1",
                "watch": str(uuid.uuid4()),
                "cause": [cause["id"] for cause in causes],
            }

        for values, own in ((of(OWN, OWN_HOST), True), (of(FOREIGN, FOREIGN_HOST), False)):
            for path, item in DESCRIPTION["paths"].items():
                operation = item.get("get")
                if (
                    operation is None
                    or "for admins" in operation["summary"]
                    or path.startswith(("/api/v1/oidc", "/api/v1/rules", "/api/v1/audit"))
                ):
                    continue
                ids = values["cause"] if "/causes/{id}" in path else [values["id"]]
                query = {
                    "getStageStacks": "?stage=parse",
                    "exportDelay": "?format=chrome",
                    "getSplit": "?by=host",
                    "search": "?search=e",
                }.get(operation["operationId"], "")
                for identity in ids:
                    named = {**values, "id": identity}
                    yield own, path, re.sub(
                        r"\{(\w+)\}", lambda found: urllib.parse.quote(str(named[found[1]])), path
                    ) + query

    def check_text(self, text, address):
        found = SECRET.search(text)
        self.assertIsNone(
            found, f"{address}: {found and text[max(found.start() - 200, 0):found.end() + 100]}"
        )

    def check_that_nothing_foreign_is_told(self, admin, checker):
        self.assertFalse(checker.ask("GET", "/api/v1/session")[1]["sees_everything"])
        told = refused = 0
        for own, pattern, address in self.addresses(admin):
            response, content = checker.server.request(
                "GET", address, headers={"Cookie": checker.cookie}
            )
            text = content.decode(errors="replace")
            if "{digest}" in pattern and not own:
                self.assertIn(response.status, (403, 404), address)
            if re.search(r"/(runs|causes)/\{id\}", pattern) and not own:
                self.assertEqual(response.status, 404, address)
            if pattern in (
                "/api/v1/bundles/{digest}",
                "/api/v1/bundles/{digest}/system",
                "/api/v1/bundles/{digest}/trace",
                "/api/v1/bundles/{digest}/delays/{number}/machine",
                "/api/v1/objects",
                "/api/v1/objects/{watch}",
                "/api/v1/objects/{watch}/summary",
            ):
                self.assertEqual(response.status, 403, address)
            elif own:
                self.assertIn(response.status, (200, 422), f"{address}: {text[:300]}")
            # The requested name may come back, as for an event that never existed.
            self.check_text(
                text.replace(FOREIGN, "") if not own and "{event}" in pattern else text, address
            )
            told += response.status == 200
            refused += response.status != 200
        self.assertGreater(told, 30)
        print(f"{told} answers, {refused} refusals", file=sys.stderr)

    def check_questions_with_filters(self, checker):
        for path in ("events", "overview", "bundles", "delays", "delays/export"):
            for query in (
                f"host={FOREIGN_HOST}",
                f"build={FOREIGN_BUILD}",
                "dirty=1",
                "order=slowest" if path == "delays" else "",
                "limit=1",
            ):
                if path == "delays/export" and query.startswith("limit"):
                    continue
                _, content = checker.server.request(
                    "GET", f"/api/v1/{path}?{query}", headers={"Cookie": checker.cookie}
                )
                self.check_text(content.decode(), f"{path} {query}")
        for event in (OWN, FOREIGN):
            sets = urllib.parse.urlencode({"a": f"host={FOREIGN_HOST}", "b": ""})
            told = checker.ask("GET", f"/api/v1/events/{event}/compare?{sets}")[1]
            self.assertEqual(told["a"]["runs"], 0)
            self.assertEqual(told["b"]["runs"] > 0, event == OWN)
        self.assertEqual(
            [row["event"] for row in checker.ask("GET", "/api/v1/events")[1]["events"]], [OWN]
        )
        lost = checker.ask("GET", "/api/v1/events")[1]["lost"]
        self.assertEqual((lost["runs"], [host["host"] for host in lost["hosts"]]), (3, [OWN_HOST]))
        self.assertEqual(
            [label["name"] for label in checker.ask("GET", "/api/v1/builds")[1]["labels"]],
            ["own-v1"],
        )

    def check_changes(self, admin):
        ulf = self.as_(admin, "ulf")
        foreign = admin.ask("GET", f"/api/v1/events/{FOREIGN}/runs?limit=1")[1]["runs"][0]["id"]
        own = admin.ask("GET", f"/api/v1/events/{OWN}/runs?limit=1")[1]["runs"][0]["id"]
        ulf.ask("PUT", f"/api/v1/runs/{foreign}/dirty", {"dirty": True, "reason": "mine?"}, 404)
        ulf.ask("PUT", f"/api/v1/runs/{own}/dirty", {"dirty": True, "reason": "mine"})
        ulf.ask("PUT", f"/api/v1/runs/{own}/dirty", {"dirty": False, "reason": "mine"})
        ulf.ask("PUT", f"/api/v1/builds/{FOREIGN_BUILD}", {"name": "mine"}, 403)
        ulf.ask("PUT", "/api/v1/builds/build-b", {"name": "own-v1"})
        told = ulf.ask("POST", "/api/v1/compare", {"a": [own], "b": [foreign]})[1]
        self.assertEqual((told["a"]["runs"], told["b"]["runs"]), (1, 0))
        for method, path, body in (
            ("GET", "/api/v1/teams", None),
            ("PUT", "/api/v1/teams/x", {"events": ["*"], "units": [], "groups": []}),
            ("DELETE", "/api/v1/teams/shop", None),
            ("DELETE", "/api/v1/teams/shop/accounts/ulf", None),
            ("PUT", "/api/v1/teams/shop/accounts/ulf", None),
        ):
            ulf.ask(method, path, body, 403)

    def check_all(self, *options):
        admin = self.open_teams(*options)
        before = admin.ask("GET", "/api/v1/events")[1]["events"]
        self.assertEqual({row["event"] for row in before}, {OWN, FOREIGN})
        admin.ask(
            "PUT", "/api/v1/teams/shop", {"events": ["shop.*"], "units": [], "groups": []}, 201
        )
        admin.ask("PUT", "/api/v1/teams/shop/accounts/rita", expect=204)
        admin.ask("PUT", "/api/v1/teams/shop/accounts/ulf", expect=204)
        rita = self.as_(admin, "rita")
        self.assertEqual(rita.ask("GET", "/api/v1/session")[1]["teams"], ["shop"])
        self.check_that_nothing_foreign_is_told(admin, rita)
        self.check_questions_with_filters(rita)
        self.check_changes(admin)
        # They see the same of it as everybody.
        for path in (
            f"/api/v1/events/{OWN}/summary",
            f"/api/v1/events/{OWN}/trend",
            f"/api/v1/choices?event={OWN}",
            f"/api/v1/events/{OWN}/causes",
        ):
            self.assertEqual(rita.ask("GET", path)[1], admin.ask("GET", path)[1], path)
        # An admin sees everything, somebody in no team nothing.
        admin.ask("PUT", "/api/v1/teams/shop/accounts/ann", expect=204)
        self.assertEqual(self.as_(admin, "ann").ask("GET", "/api/v1/events")[1]["events"], before)
        self.check_nothing_is_seen(admin, self.as_(admin, "carl"))
        self.check_units(admin)
        return admin

    def check_nothing_is_seen(self, admin, checker):
        session = checker.ask("GET", "/api/v1/session")[1]
        self.assertEqual((session["teams"], session["sees_everything"]), ([], False))
        self.assertEqual(checker.ask("GET", "/api/v1/events")[1]["events"], [])
        for _, _, address in self.addresses(admin):
            response, content = checker.server.request(
                "GET", address, headers={"Cookie": checker.cookie}
            )
            text = content.decode(errors="replace")
            for name in (OWN_HOST, FOREIGN_HOST, FOREIGN_BUILD, "container <shop>"):
                self.assertNotIn(name, text, address)

    def check_units(self, admin):
        """A quarter of the runs ran in a container, the others in a service: of one event, and
        of both."""
        admin.ask(
            "PUT",
            "/api/v1/teams/boxes",
            {"events": [], "units": ["container <*"], "groups": []},
            201,
        )
        admin.ask("PUT", "/api/v1/teams/boxes/accounts/carl", expect=204)
        carl = self.as_(admin, "carl")
        rows = {row["event"]: row for row in carl.ask("GET", "/api/v1/events")[1]["events"]}
        whole = {row["event"]: row for row in admin.ask("GET", "/api/v1/events")[1]["events"]}
        for event in (OWN, FOREIGN):
            of_unit = admin.ask(
                "GET", f"/api/v1/events/{event}/summary?unit=container%20%3Cshop%3E"
            )[1]
            self.assertEqual(rows[event]["runs"], of_unit["runs"])
            self.assertLess(rows[event]["runs"], whole[event]["runs"])
            self.assertEqual(carl.ask("GET", f"/api/v1/events/{event}/summary")[1], of_unit)
            self.assertEqual(rows[event]["hosts"], 1)
            self.assertEqual(
                carl.ask("GET", f"/api/v1/choices?event={event}")[1]["units"], ["container <shop>"]
            )
            runs = carl.ask("GET", f"/api/v1/events/{event}/runs?limit=1000")[1]["runs"]
            self.assertEqual({run["unit"] for run in runs}, {"container <shop>"})
            other = next(
                run
                for run in admin.ask("GET", f"/api/v1/events/{event}/runs?limit=1000")[1]["runs"]
                if run["unit"] == "app.service"
            )
            carl.ask("GET", f"/api/v1/runs/{other['id']}", expect=404)
        span = f"from={RECORDED_SINCE_S * 10**9}&to={(RECORDED_SINCE_S + 86400) * 10**9}"
        overview = {
            row["event"]: (row["runs"], row["hosts"])
            for row in carl.ask("GET", f"/api/v1/overview?{span}")[1]["events"]
        }
        self.assertEqual(overview, {event: (rows[event]["runs"], 1) for event in (OWN, FOREIGN)})
        self.assertNotIn("app.service", carl.ask("GET", "/metrics")[1].decode())
        # With the shop's events too, these are visible completely.
        admin.ask("PUT", "/api/v1/teams/shop/accounts/carl", expect=204)
        rows = {row["event"]: row for row in carl.ask("GET", "/api/v1/events")[1]["events"]}
        self.assertEqual(rows[OWN], whole[OWN])
        self.assertLess(rows[FOREIGN]["runs"], whole[FOREIGN]["runs"])

    def test_on_sqlite(self):
        admin = self.check_all()
        self.check_administration(admin)

    def check_administration(self, admin):
        teams = {team["team"]: team for team in admin.ask("GET", "/api/v1/teams")[1]["teams"]}
        self.assertEqual(
            [member["account"] for member in teams["shop"]["accounts"]],
            ["ann", "carl", "rita", "ulf"],
        )
        self.assertIn(
            "are in no other team",
            admin.ask("DELETE", "/api/v1/teams/shop", expect=409)[1]["error"]["message"],
        )
        admin.ask("PUT", "/api/v1/teams/shop/accounts/nobody", expect=404)
        admin.ask("DELETE", "/api/v1/teams/shop/accounts/nobody", expect=404)
        admin.ask("DELETE", "/api/v1/teams/none", expect=404)
        for body in (
            {"events": ["x" * 300], "units": [], "groups": []},
            {"events": "shop", "units": [], "groups": []},
            {"events": ["a\nb"], "units": [], "groups": []},
            {"events": ["x"] * 101, "units": [], "groups": []},
        ):
            admin.ask("PUT", "/api/v1/teams/shop", body, 400)
        # The command line does the same, and a running server knows at once.
        self.assertIn("made team empty: sees nothing", self.command("team", "set", "empty"))
        self.assertIn("is in team empty", self.command("team", "join", "empty", "rita"))
        self.command("team", "leave", "shop", "rita")
        self.assertEqual(self.as_(admin, "rita").ask("GET", "/api/v1/events")[1]["events"], [])
        self.assertIn("are in no other team", self.command("team", "remove", "empty", expect=2))
        self.assertIn("sees nothing", self.command("team", "leave", "empty", "rita"))
        self.check_nothing_is_seen(admin, self.as_(admin, "rita"))
        self.assertIn("removed team empty", self.command("team", "remove", "empty"))
        self.assertIn("unit container <*", self.command("team", "list"))
        self.assertIn("no team ", self.command("team", "join", "none", "rita", expect=1))
        entries = [
            (entry["who"], entry["action"], entry["object"])
            for entry in admin.ask("GET", "/api/v1/audit?limit=100")[1]["entries"]
        ]
        for entry in (
            ("ann", "add team", "shop"),
            ("ann", "join team", "shop"),
            ("command line", "leave team", "empty"),
            ("command line", "delete team", "empty"),
        ):
            self.assertIn(entry, entries)

    def test_in_a_browser(self):
        admin = self.open_teams()
        run_browser_tests(
            self,
            {
                "url": admin.server.url,
                "event": {"name": OWN},
                "foreign": FOREIGN,
                "accounts": {
                    "admin": {"account": "ann", "password": PASSWORD},
                    "reader": {"account": "rita", "password": PASSWORD},
                },
            },
            "teams.mjs",
        )

    def test_on_postgresql(self):
        if os.geteuid() != 0:
            self.skipTest("PostgreSQL is started as another user, which needs root")
        with Postgres() as postgres:
            self.check_all(
                "--store", f"postgresql:///postgres?host={postgres.folder}&user=postgres"
            )
            self.doCleanups()


if __name__ == "__main__":
    unittest.main(verbosity=2)
