"""Every address of openapi.yaml answers, and every answer matches its schema."""

import csv
import gzip
import io
import json
import sys
import time
import unittest
import urllib.parse

import lagtrap_test
from bundle_checks import BundleChecks
from lagtrap_server import sha256
from rule_checks import check_rules
from server_case import DESCRIPTION
from set_checks import check_sets

METHODS = ("get", "head", "put", "post", "delete")


class Api(BundleChecks):
    def test_every_address_answers_as_described(self):
        checker = self.open_world()
        self.upload_all(checker)
        self.check_events(checker)
        self.check_overview(checker)
        self.check_runs(checker)
        self.check_bundles(checker)
        self.check_administration(checker)
        self.check_exports(checker)
        self.check_objects(checker)
        self.check_causes(checker)
        check_sets(self, checker)
        check_rules(self, checker)
        for path in ("/healthz", "/metrics", "/api/v1/openapi.yaml"):
            checker.ask("GET", path)
        _, session = checker.ask("GET", "/api/v1/session")
        self.assertEqual((session["account"], session["role"]), ("ann", "admin"))
        checker.ask("DELETE", "/api/v1/session", expect=204)
        checker.ask("GET", "/api/v1/session", expect=401)
        described = {
            item[method]["operationId"]
            for item in DESCRIPTION["paths"].values()
            for method in METHODS
            if method in item
        }
        self.assertEqual({operation for operation, _ in checker.seen}, described)
        print(f"{len(described)} operations, {len(checker.seen)} kinds of answers", file=sys.stderr)

    def check_events(self, checker):
        _, events = checker.ask("GET", "/api/v1/events?search=QUE")
        (event,) = events["events"]
        # Two batches of 60 runs with 6 delays and a suspended run each. Delays of the bundles do
        # not count, as they have no runs.
        self.assertEqual(
            (event["event"], event["runs"], event["delays"], event["bundles"]),
            ("query", 118, 12, 2),
        )
        self.assertEqual(checker.ask("GET", "/api/v1/events?search=nothing")[1]["events"], [])
        lost = events["lost"]
        self.assertEqual(
            (lost["runs"], [(host["host"], host["runs"]) for host in lost["hosts"]]),
            (9, [("host-<1>", 9)]),
        )
        self.assertEqual(
            checker.ask("GET", "/api/v1/events?host=other")[1]["lost"], {"runs": 0, "hosts": []}
        )
        metrics = checker.ask("GET", "/metrics")[1]
        self.assertIn(b"\nlagtrap_server_runs_lost 9\n", metrics)
        # Counted once, though each batch was sent twice.
        for unit, runs, delays in (("app.service", 88, 12), ("container <shop>", 30, 0)):
            labels = f'event="query",unit="{unit}"'
            self.assertIn(
                f'\nlagtrap_event_duration_seconds_bucket{{{labels},le="+Inf"}} {runs}\n'.encode(),
                metrics,
            )
            self.assertIn(f"\nlagtrap_event_delays_total{{{labels}}} {delays}\n".encode(), metrics)
        checker.ask("GET", "/api/v1/events?limit=0", expect=400)
        checker.ask("GET", "/api/v1/events?colour=red", expect=400)
        checker.ask("GET", "/api/v1/events?after=x", expect=400)
        _, choices = checker.ask("GET", "/api/v1/choices?event=query")
        self.assertEqual(choices["hosts"], ["host-<1>"])
        # From runs, and from delays in bundles; both kinds can be found by it.
        self.assertEqual(choices["users"], ["1000", "<b>ann</b>"])
        _, of_user = checker.ask("GET", "/api/v1/delays?event=query&user=1000")
        self.assertTrue(of_user["delays"])
        self.assertIn("build-b", choices["builds"])

        _, summary = checker.ask("GET", "/api/v1/events/query/summary")
        self.assertEqual((summary["runs"], summary["delays"], summary["hidden"]), (118, 12, 2))
        self.assertEqual(sum(bar["runs"] for bar in summary["histogram"]), 118)
        self.assertEqual(sum(bar["delays"] for bar in summary["histogram"]), 12)
        self.assertEqual(sum(hour["runs"] for hour in summary["hours"]), 118)
        for before, after in zip(summary["histogram"], summary["histogram"][1:]):
            self.assertEqual(before["high_ns"], after["low_ns"])
        self.assertAlmostEqual(summary["percentiles"]["p50"], 23e6, delta=5e6)
        _, all_runs = checker.ask(
            "GET", "/api/v1/events/query/summary?dirty=1&start=cold&build=build-a"
        )
        self.assertEqual(all_runs["runs"], 12)
        self.assertEqual(checker.ask("GET", "/api/v1/events/no%20such/summary")[1]["runs"], 0)
        checker.ask("GET", "/api/v1/events/query/summary?from=yesterday", expect=400)
        checker.ask("GET", "/api/v1/events/query/summary?start=lukewarm", expect=400)

        _, found = checker.ask("GET", "/api/v1/search?search=HOST-")
        self.assertEqual(found["hosts"], ["host-<1>"])
        checker.ask("GET", "/api/v1/search?search=%20", expect=400)
        _, edges = checker.ask("GET", "/api/v1/who-delays-whom?event=query")
        self.assertEqual(edges["pairs"], [])
        checker.ask("GET", "/api/v1/who-delays-whom?limit=0", expect=400)
        checker.ask("GET", "/api/v1/who-delays-whom?by=attribute:tenant")
        self.check_several_names(checker, choices)
        self.check_split(checker, summary)
        _, stages = checker.ask("GET", "/api/v1/events/query/stages?stage=execute")
        (stack,) = stages["stacks"]
        self.assertEqual(
            stack["hits"], 116
        )  # without the two hidden ones and the two whose stages were not watched
        self.assertEqual(
            [frame["function"] for frame in stack["frames"]], ["<script>alert(1)</script>", "main"]
        )
        checker.ask("GET", "/api/v1/events/query/stages", expect=400)
        _, shift = checker.ask("GET", "/api/v1/events/query/times")
        self.assertEqual(shift["parts"][0]["reason"], "lock (futex)")
        self.assertGreater(shift["slow"]["mean_ns"], shift["middle"]["mean_ns"])
        _, nothing = checker.ask("GET", "/api/v1/events/unheard%20of/times")
        self.assertEqual((nothing["middle"], nothing["slow"], nothing["parts"]), (None, None, []))
        _, causes = checker.ask("GET", "/api/v1/events/query/causes")
        self.assertEqual(
            (causes["delayed_runs"], causes["normal_runs"], causes["bundles"]), (4, 12, 2)
        )
        self.assertIsNotNone(causes["silent_because"])

    def check_overview(self, checker):
        since_ns = lagtrap_test.RECORDED_SINCE_S * 10**9
        _, overview = checker.ask(
            "GET", f"/api/v1/overview?from={since_ns}&to={since_ns + 24 * 3600 * 10**9}&order=p99"
        )
        (event,) = overview["events"]
        self.assertEqual(overview["bundles_waiting"], 0)
        self.assertEqual(
            (event["event"], event["runs"], event["delays"], event["hosts"], event["verdict"]),
            ("query", 118, 12, 1, "untested"),
        )
        self.assertEqual((len(event["units"]["p99"]), sum(event["units"]["runs"])), (48, 118))
        self.assertEqual(overview["unit_ns"], 3600 * 10**9)
        # The last 24 hours have nothing.
        self.assertEqual(checker.ask("GET", "/api/v1/overview")[1]["events"], [])
        checker.ask("GET", "/api/v1/overview?order=loudest", expect=400)
        checker.ask("GET", "/api/v1/overview?from=5&to=5", expect=400)
        checker.ask("GET", f"/api/v1/overview?from=0&to={since_ns}", expect=400)
        span = f"from={since_ns}&to={since_ns + 10 * 24 * 3600 * 10**9}"
        _, trend = checker.ask("GET", f"/api/v1/events/query/trend?{span}")
        self.assertIsNone(checker.ask("GET", f"/api/v1/events/query/change?{span}")[1]["change"])
        self.assertEqual(
            (trend["unit_ns"], len(trend["units"]["runs"]), trend["runs"]),
            (24 * 3600 * 10**9, 20, 118),
        )
        self.assertEqual(
            {build["build"]: build["runs"] for build in trend["builds_seen"]},
            {"build-a": 59, "build-b": 59},
        )
        self.assertEqual(
            sum(checker.ask("GET", "/api/v1/events/no%20such/trend")[1]["units"]["runs"]), 0
        )

        _, label = checker.ask("PUT", "/api/v1/builds/build-a", {"name": "v1.2 <b>"})
        self.assertEqual(
            (label["build"], label["name"], label["by"]), ("build-a", "v1.2 <b>", "ann")
        )
        self.assertEqual(
            [label["name"] for label in checker.ask("GET", "/api/v1/builds")[1]["labels"]],
            ["v1.2 <b>"],
        )
        checker.ask("PUT", "/api/v1/builds/build-a", {"name": "x" * 65}, 400)
        checker.ask("PUT", "/api/v1/builds/build-a", {"name": "tab\there"}, 400)
        checker.ask("PUT", "/api/v1/builds/build-a", {"name": ""})
        self.assertEqual(checker.ask("GET", "/api/v1/builds")[1]["labels"], [])

    def test_what_got_worse_stands_first_with_its_hour_and_its_build(self):
        checker = self.open_world("--requests-per-second", "0")
        self.bundles = []
        self.batches = [
            *self.two_days("steady", 0, "none"),
            *self.two_days("checkout", 3, "bbbb2222bbbb2222"),
            *self.two_days("mended", 24, "cccc3333cccc3333", factor=1),
        ]
        # "mended" was slow the day before.
        self.batches[96:120] = [
            self.make_runs(
                0,
                event="mended",
                since_s=int(time.time()) // 3600 * 3600 - (47 - hour) * 3600,
                slower=(3, "0123456789abcdef"),
            )
            for hour in range(24)
        ]
        self.upload_all(checker)
        _, overview = checker.ask("GET", "/api/v1/overview")
        self.assertEqual(
            [(event["event"], event["verdict"]) for event in overview["events"]],
            [("checkout", "worse"), ("steady", "unchanged"), ("mended", "better")],
        )
        checkout = overview["events"][0]
        lasting = checkout["lasting"]
        self.assertEqual((lasting["build"], lasting["from_first_run"]), ("bbbb2222bbbb2222", True))
        self.assertLess(
            abs(int(lasting["from_ns"]) - int(overview["to_ns"]) + 3 * 3600 * 10**9),
            3600 * 10**9,
        )
        self.assertAlmostEqual(
            checkout["factor"], lasting["after"] / lasting["before"] if lasting["before"] else None
        )
        p99 = [change for change in checkout["changes"] if change["measure"] == "p99"]
        self.assertAlmostEqual(p99[-1]["after"] / p99[-1]["before"], 4, delta=0.3)
        self.assertEqual(checkout["extent"]["hosts"]["total"], 1)
        self.assertIsNone(overview["events"][1]["extent"])
        _, change = checker.ask("GET", "/api/v1/events/checkout/change")
        self.assertEqual(change["change"], lasting)
        self.assertEqual(
            [part["name"] for part in change["builds"]["parts"]][0], "bbbb2222bbbb2222"
        )
        at = lasting["from_ns"]
        _, compared = checker.ask(
            "GET", f"/api/v1/events/checkout/compare?a=to%3D{at}&b=from%3D{at}"
        )
        self.assertTrue(
            {figure["name"]: figure for figure in compared["quantiles"]}[compared["measure"]][
                "evidence"
            ]
        )
        [host] = compared["hosts"]["parts"]
        # Half of the runs were delays before they took four times as long.
        self.assertLess(host["before"]["share"], 0.5)
        self.assertEqual(host["after"]["share"], 1)
        self.assertEqual(change["causes"], [])
        self.assertEqual(checker.ask("GET", "/api/v1/events/steady/change")[1], {"change": None})
        # A week has too few days to compare, but hours enough.
        now_ns = int(time.time()) * 10**9
        _, week = checker.ask(
            "GET", f"/api/v1/overview?from={now_ns - 7 * 24 * 3600 * 10**9}&to={now_ns}"
        )
        self.assertEqual(
            [(event["event"], event["verdict"]) for event in week["events"]],
            [("checkout", "worse"), ("steady", "unchanged"), ("mended", "better")],
        )
        hours = {change["from_ns"] for change in checkout["changes"]}
        self.assertEqual(hours, {str(int(overview["to_ns"]) - 3 * 3600 * 10**9)})
        self.assertEqual({change["build"] for change in checkout["changes"]}, {"bbbb2222bbbb2222"})
        _, trend = checker.ask("GET", "/api/v1/events/checkout/trend")
        self.assertEqual(trend["builds_seen"][0]["build"], "bbbb2222bbbb2222")
        _, of_host = checker.ask("GET", "/api/v1/overview?host=other")
        self.assertEqual(of_host["events"], [])

    def check_several_names(self, checker, choices):
        def runs(query):
            return checker.ask("GET", f"/api/v1/events/query/summary?{query}")[1]["runs"]

        units, builds = ("app.service", "container%20%3Cshop%3E"), choices["builds"]
        self.assertGreaterEqual(len(builds), 2)
        for name, values in (
            ("unit", units),
            ("build", builds[:2]),
            ("build", builds),
            ("host", ("other", "host-%3C1%3E")),
        ):
            of_each = [runs(f"{name}={value}") for value in values]
            self.assertEqual(runs("&".join(f"{name}={value}" for value in values)), sum(of_each))
        self.assertEqual(runs("unit=&unit=app.service"), runs("unit=app.service"))
        both = f"unit={units[0]}&unit={units[1]}&host=host-%3C1%3E"
        _, listed = checker.ask("GET", f"/api/v1/events/query/runs?limit=1000&{both}")
        self.assertEqual(len(listed["runs"]), 118)
        self.assertEqual(
            len(checker.ask("GET", "/api/v1/bundles?host=other&host=host-%3C1%3E")[1]["bundles"]), 2
        )
        quoted = urllib.parse.quote(f"unit={units[0]}&unit={units[1]}")
        _, compared = checker.ask(
            "GET", f"/api/v1/events/query/compare?a={quoted}&b=unit%3D{units[0]}"
        )
        self.assertEqual((compared["a"]["runs"], compared["b"]["runs"]), (118, 88))
        self.assertEqual(
            [
                (part["name"], part["before"]["runs"], part["after"]["runs"])
                for part in compared["hosts"]["parts"]
            ],
            [("host-<1>", 118, 88)],
        )
        self.assertIn(compared["measure"], ("p50", "p90", "p99"))
        self.assertEqual(
            {
                tuple(figure["name"] for figure in stage["quantiles"])
                for stage in compared["stages"]["stages"]
            },
            {("p50", "p90", "p99")},
        )
        # "*" stands for any text.
        self.assertEqual(runs("host=host-*"), runs("host=host-%3C1%3E"))
        self.assertEqual(runs("unit=app.*&unit=*shop*"), runs(f"unit={units[0]}&unit={units[1]}"))
        self.assertEqual(runs("host=none-*"), 0)
        self.assertEqual(
            len(checker.ask("GET", "/api/v1/bundles?host=o*r&host=host-*")[1]["bundles"]), 2
        )
        for wrong in ("from=1&from=2", "start=cold&start=warm", "&".join(["host=x"] * 101)):
            checker.ask("GET", f"/api/v1/events/query/summary?{wrong}", expect=400)
        self.assertEqual(
            checker.ask("GET", "/api/v1/choices?event=query&search=SHOP")[1]["units"],
            ["container <shop>"],
        )
        self.assertEqual(
            checker.ask("GET", "/api/v1/choices?event=query&search=none%20of%20them")[1]["hosts"],
            [],
        )

    def check_split(self, checker, summary):
        first, last = (int(summary["hours"][place]["hour_ns"]) for place in (0, -1))
        span = f"from={first}&to={last + 3600 * 10**9}"
        for by, names in (("unit", {"app.service", "container <shop>"}), ("host", {"host-<1>"})):
            _, split = checker.ask("GET", f"/api/v1/events/query/split?by={by}&{span}")
            self.assertEqual({part["name"] for part in split["parts"]}, names)
            self.assertEqual(sum(part["runs"] for part in split["parts"]), summary["runs"])
            self.assertEqual(sum(part["delays"] for part in split["parts"]), summary["delays"])
            self.assertEqual(
                (split["runs_read"], split["others"], split["other_names"]), (118, None, 0)
            )
            units = (int(split["to_ns"]) - int(split["from_ns"])) // split["unit_ns"]
            for part in split["parts"]:
                self.assertEqual({len(column) for column in part["units"].values()}, {units})
                self.assertEqual(sum(part["units"]["runs"]), part["runs"])
                self.assertLessEqual(part["p50"], part["p99"])
        checker.ask("GET", "/api/v1/events/query/split", expect=400)
        checker.ask("GET", "/api/v1/events/query/split?by=user", expect=400)

    def check_exports(self, checker):
        text = checker.ask("GET", "/api/v1/events/query/runs/export")[1].decode()
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        _, page = checker.ask("GET", "/api/v1/events/query/runs?limit=1000")
        self.assertEqual([row["id"] for row in rows], [run["id"] for run in page["runs"]])
        first, shown = rows[0], page["runs"][0]
        for name in ("host", "user", "build", "process", "unit", "thread", "begin_ns", "start"):
            self.assertEqual(first[name], shown[name])
        units = {"app.service", "container <shop>"}
        self.assertEqual({row["unit"] for row in rows}, units)
        self.assertEqual(set(checker.ask("GET", "/api/v1/choices?event=query")[1]["units"]), units)
        _, of_container = checker.ask(
            "GET", "/api/v1/events/query/runs?limit=1000&unit=container%20%3Cshop%3E"
        )
        self.assertEqual(
            [run["id"] for run in of_container["runs"]],
            [run["id"] for run in page["runs"] if run["unit"] == "container <shop>"],
        )
        _, summary = checker.ask("GET", "/api/v1/events/query/summary?unit=container%20%3Cshop%3E")
        self.assertEqual(summary["runs"], len(of_container["runs"]))
        self.assertEqual(
            checker.ask("GET", "/api/v1/events/query/runs?unit=no%20such")[1]["runs"], []
        )
        self.assertEqual(
            (int(first["duration_ns"]), int(first["on_cpu_ns"])),
            (shown["duration_ns"], shown["times"]["on_cpu_ns"]),
        )
        self.assertRegex(first["begin"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")
        lines = (
            checker.ask("GET", "/api/v1/events/query/runs/export?format=ndjson&dirty=1&start=cold")[
                1
            ]
            .decode()
            .splitlines()
        )
        _, cold = checker.ask("GET", "/api/v1/events/query/runs?limit=1000&dirty=1&start=cold")
        _, shown = checker.ask("GET", "/api/v1/events/query/runs?limit=1000")
        _, dirty = checker.ask("GET", "/api/v1/events/query/runs?limit=1000&dirty=only")
        self.assertEqual(
            (len(dirty["runs"]), dirty["total"], dirty["hidden"]),
            (shown["hidden"], shown["hidden"], 0),
        )
        self.assertTrue(all(run["dirty"] for run in dirty["runs"]))
        checker.ask("GET", "/api/v1/events/query/runs?dirty=2", expect=400)
        self.assertEqual([json.loads(line) for line in lines], cold["runs"])
        delays = list(
            csv.DictReader(
                io.StringIO(
                    checker.ask("GET", "/api/v1/delays/export?event=query")[1].decode(), newline=""
                )
            )
        )
        _, listed = checker.ask("GET", "/api/v1/delays?event=query")
        self.assertEqual(
            [(row["bundle"], int(row["number"]), int(row["blocked_ns"])) for row in delays],
            [(row["bundle"], row["number"], row["blocked_ns"]) for row in listed["delays"]],
        )
        lines = checker.ask("GET", "/api/v1/delays/export?format=ndjson")[1].decode().splitlines()
        self.assertEqual([json.loads(line) for line in lines], listed["delays"])
        checker.ask("GET", "/api/v1/delays/export?format=xls", expect=400)
        checker.ask("GET", "/api/v1/events/query/runs/export?format=xls", expect=400)
        # A text that a spreadsheet would read as a formula; more than one page; an event without
        # runs.
        for host in ("=cmd()", 'a "b", c'):
            content = self.make_runs(1, host=host, count=1500, event="wide")
            checker.ask(
                "PUT",
                f"/api/v1/batches/{sha256(content)}",
                content,
                201,
                content_type="application/zstd",
            )
        wide = list(
            csv.DictReader(
                io.StringIO(
                    checker.ask("GET", "/api/v1/events/wide/runs/export?dirty=1")[1].decode(),
                    newline="",
                )
            )
        )
        self.assertEqual((len(wide), len({row["id"] for row in wide})), (3000, 3000))
        self.assertEqual({row["host"] for row in wide}, {"'=cmd()", 'a "b", c'})
        self.assertEqual(
            len(checker.ask("GET", "/api/v1/events/no%20such/runs/export")[1].splitlines()), 1
        )

    def check_runs(self, checker):
        seen, after = [], ""
        while True:
            _, page = checker.ask("GET", f"/api/v1/events/query/runs?limit=50{after}")
            self.assertEqual((page["hidden"], page["total"]), (2, 120))
            seen += [run["id"] for run in page["runs"]]
            if page["next"] is None:
                break
            after = "&after=" + urllib.parse.quote(page["next"])
        self.assertEqual((len(seen), len(set(seen))), (118, 118))
        self.assertEqual([reason["runs"] for reason in page["hidden_because"]], [2])
        self.assertEqual((page["outliers"], page["runs"][0]["outlier"]), (0, None))
        checker.ask("GET", "/api/v1/events/query/runs?outliers=0&limit=1")
        checker.ask("GET", "/api/v1/events/query/runs?outliers=no", expect=400)
        _, slowest = checker.ask(
            "GET", "/api/v1/events/query/runs?order=slowest&limit=1000&dirty=1"
        )
        durations = [run["duration_ns"] for run in slowest["runs"]]
        self.assertEqual((len(durations), durations), (120, sorted(durations, reverse=True)))
        checker.ask("GET", "/api/v1/events/query/runs?limit=1001", expect=400)
        checker.ask("GET", "/api/v1/events/query/runs?order=oldest", expect=400)

        run = slowest["runs"][0]
        _, detail = checker.ask("GET", f"/api/v1/runs/{run['id']}")
        self.assertEqual(
            [marker["name"] for marker in detail["markers"]], ["begin", "parse", "execute", "end"]
        )
        self.assertEqual(detail["markers"][1]["stack"][0]["function"], "parse")
        self.assertEqual([stage["name"] for stage in run["stages"]], ["begin", "parse", "execute"])
        self.assertEqual(sum(stage["duration_ns"] for stage in run["stages"]), run["duration_ns"])
        # One run of each batch was watched without its stages: it has none, and is not dirty
        # because of that.
        bare = [run for run in slowest["runs"] if run["without_stages"]]
        self.assertEqual([(run["stages"], run["dirty"]) for run in bare], [([], None)] * 2)
        self.assertTrue(all(run["stages"] for run in slowest["runs"] if not run["without_stages"]))
        _, detail = checker.ask("GET", f"/api/v1/runs/{bare[0]['id']}")
        self.assertEqual(
            ([marker["name"] for marker in detail["markers"]], detail["without_stages"]),
            (["begin", "end"], True),
        )
        checker.ask("GET", "/api/v1/runs/1", expect=404)
        checker.ask("GET", "/api/v1/runs/x", expect=404)

        address = f"/api/v1/runs/{run['id']}/dirty"
        _, hidden = checker.ask("PUT", address, {"dirty": True, "reason": "a test"})
        self.assertEqual((hidden["dirty"]["rule"], hidden["dirty"]["by"]), ("by hand", "ann"))
        self.assertEqual(checker.ask("GET", "/api/v1/events/query/runs?limit=1")[1]["hidden"], 3)
        _, shown = checker.ask("PUT", address, {"dirty": False, "reason": ""})
        self.assertIsNone(shown["dirty"])
        self.assertEqual(checker.ask("GET", "/api/v1/events/query/runs?limit=1")[1]["hidden"], 2)
        checker.ask("PUT", address, {"dirty": "yes", "reason": ""}, 400)
        checker.ask("PUT", address, {"dirty": True, "reason": "", "more": 1}, 400)
        checker.ask("PUT", "/api/v1/runs/1/dirty", {"dirty": True, "reason": ""}, 404)

        slow = [run["id"] for run in slowest["runs"][:12]]
        fast = [run["id"] for run in slowest["runs"][12:]]
        _, comparison = checker.ask("POST", "/api/v1/compare", {"a": fast, "b": slow})
        self.assertTrue(comparison["evidence"])
        self.assertEqual((comparison["a"]["runs"], comparison["b"]["runs"]), (108, 12))
        self.assertAlmostEqual(comparison["difference_ns"], 72e6, delta=8e6)
        by_stage = {stage["name"]: stage for stage in comparison["stages"]}
        self.assertTrue(by_stage["execute"]["evidence"])
        self.assertFalse(by_stage["parse"]["evidence"])
        checker.ask("POST", "/api/v1/compare", {"a": [], "b": slow}, 400)
        checker.ask("POST", "/api/v1/compare", {"a": [1], "b": slow}, 400)
        checker.ask("POST", "/api/v1/compare", b"not json", 400)

    def test_pages_are_files_with_tags(self):
        server = self.server()
        response, page = server.request("GET", "/")
        self.assertIn(b"<!doctype html>", page.lower())
        self.assertIn("default-src 'none'", response.headers["Content-Security-Policy"])
        self.assertEqual(response.headers["X-Content-Type-Options"], "nosniff")
        script = page.decode().split('src="/assets/')[1].split('"')[0]
        plain = server.request("GET", f"/assets/{script}")
        packed = server.request("GET", f"/assets/{script}", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(gzip.decompress(packed[1]), plain[1])
        self.assertNotEqual(packed[0].headers["ETag"], plain[0].headers["ETag"])
        self.assertIn("immutable", plain[0].headers["Cache-Control"])
        again, body = server.request(
            "GET", f"/assets/{script}", headers={"If-None-Match": plain[0].headers["ETag"]}
        )
        self.assertEqual((again.status, body), (304, b""))
        # The script in the browser tells the pages apart.
        for path in ("/event/a%2Fb?host=x", "/run/7", "/bundle/0/1", "/accounts"):
            self.assertEqual(server.request("GET", path)[1], page)
        for path in ("/assets/none.js", "/assets/../index.html", "/api/v1/none", "/metrics/x"):
            response, body = server.request("GET", path)
            self.assertEqual(response.status, 404, path)
            self.assertTrue(json.loads(body)["error"]["message"])
        response, body = server.request("HEAD", "/")
        self.assertEqual(
            (response.status, int(response.headers["Content-Length"]), body), (200, len(page), b"")
        )

    def test_dirty_runs_are_found(self):
        checker = self.open_world()
        for seed in (10, 11, 12):
            content = self.make_runs(seed, count=100, event="start")
            checker.ask(
                "PUT",
                f"/api/v1/batches/{sha256(content)}",
                content,
                201,
                content_type="application/zstd",
            )
        _, page = checker.ask("GET", "/api/v1/events/start/runs?limit=1")
        self.assertEqual((page["hidden"], page["hidden_because"][0]["rule"]), (3, "reported"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
