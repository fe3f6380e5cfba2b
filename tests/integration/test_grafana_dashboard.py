"""The example dashboards: a real Prometheus or PostgreSQL runs each of their queries against a
real server, and returns data."""

import json
import math
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from lagtrap_server import sha256
from lagtrap_test import SOURCE_DIR, skip, wait_for
from test_postgresql import BIN, Postgres
from server_case import ServerCase

DASHBOARD = json.loads((SOURCE_DIR / "docs" / "grafana" / "lagtrap.json").read_text())
# As Grafana fills them in.
VARIABLES = {"$event": ".*", "$__rate_interval": "1h"}


def queries():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield f"{panel['title']}: {expression}", expression


class Dashboard(ServerCase):
    def prometheus(self, server):
        if not shutil.which("prometheus"):
            skip("prometheus is not installed; ./dev setup installs it")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        (self.root / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: lagtrap\n"
            "  static_configs:\n"
            f"  - targets: ['127.0.0.1:{server.port}']\n"
        )
        log = open(self.root / "prometheus.log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={self.root}/prometheus.yml",
                f"--storage.tsdb.path={self.root}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return f"http://127.0.0.1:{port}"

    def put(self, kind, content):
        response, body = (
            self.server_under_test.put(content)
            if kind == "bundles"
            else self.server_under_test.request(
                "PUT", f"/api/v1/batches/{sha256(content)}", content
            )
        )
        self.assertIn(response.status, (200, 201), body)

    def test_every_query_returns_data(self):
        self.server_under_test = server = self.server()
        address = self.prometheus(server)

        def ask(path):
            with urllib.request.urlopen(address + path, timeout=10) as answer:
                return json.loads(answer.read())["data"]

        def values(expression):
            try:
                found = ask("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))[
                    "result"
                ]
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise AssertionError(f"{expression}: {error.read()}") from error
                return []
            return [float(row["value"][1]) for row in found]

        for seed in range(9):
            self.put("bundles", self.make_bundle(seed, host=f"host-{seed % 3}"))
        self.put("batches", self.make_runs(0, lost=3))
        wait_for(
            lambda: values('lagtrap_event_delays_total{event="query"} > 0'),
            "the first runs to be scraped",
        )
        # Counters must grow before they have a rate.
        self.put("batches", self.make_runs(2))
        for name, expression in queries():
            wait_for(
                lambda: [value for value in values(expression) if math.isfinite(value)],
                f"data of {name}",
                90,
            )
        events = ask(
            "/api/v1/label/event/values?"
            + urllib.parse.urlencode({"match[]": "lagtrap_event_duration_seconds_count"})
        )
        self.assertIn("query", events, "the variable of the dashboard")


FROM_DATABASE = json.loads(
    (SOURCE_DIR / "docs" / "grafana" / "lagtrap-postgresql.json").read_text()
)


def as_grafana_asks(sql, from_s, to_s, events):
    """The statement as Grafana's PostgreSQL data source sends it: with macros and variables
    filled in."""

    def timestamp(seconds):
        return "'" + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) + "'"

    macros = {
        "unixEpochNanoFilter": lambda column: (
            f"{column} >= {from_s}000000000 AND {column} <= {to_s}000000000"
        ),
        "timeFilter": lambda column: f"{column} BETWEEN {timestamp(from_s)} AND {timestamp(to_s)}",
        "timeFrom": lambda: timestamp(from_s),
        "timeTo": lambda: timestamp(to_s),
        "timeGroup": lambda column, seconds: (
            f"floor(extract(epoch from {column})/{seconds})*{seconds}"
        ),
    }
    sql = sql.replace("$__interval", "3600").replace(
        "$event", ",".join(f"'{event}'" for event in events)
    )
    sql = re.sub(
        r"\$__(\w+)\(([^)]*)\)",
        lambda found: macros[found[1]](*[part.strip() for part in found[2].split(",") if part]),
        sql,
    )
    assert "$" not in sql, sql
    return sql


class DatabaseDashboard(ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.postgres = cls.enterClassContext(Postgres())

    def rows(self, sql, user="grafana"):
        """The rows of a statement as dictionaries. `grafana` may read the views, as
        docs/server.md grants it."""
        said = self.postgres.run(
            BIN / "psql",
            "-h",
            self.postgres.folder,
            "-U",
            user,
            "-v",
            "ON_ERROR_STOP=1",
            "-tA",
            "-c",
            f"SELECT row_to_json(found) FROM ({sql}) AS found",
            "postgres",
        )
        return [json.loads(line) for line in said.splitlines()]

    def grant(self):
        page = (SOURCE_DIR / "docs" / "server.md").read_text()
        [granting] = re.findall(r"^(CREATE ROLE grafana .*?;\nGRANT .*?;)$", page, re.M | re.S)
        self.postgres.run(
            BIN / "psql",
            "-h",
            self.postgres.folder,
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            granting,
            "postgres",
        )

    def test_every_query_returns_data(self):
        server = self.server(
            "--store", f"postgresql:///postgres?host={self.postgres.folder}&user=postgres"
        )
        for seed in range(9):
            response, body = server.put(self.make_bundle(seed, host=f"host-{seed % 3}"))
            self.assertIn(response.status, (200, 201), body)
        runs = self.make_runs(0, since_s=int(time.time()) - 3600)
        response, body = server.request("PUT", f"/api/v1/batches/{sha256(runs)}", runs)
        self.assertEqual(response.status, 201, body)
        self.grant()
        from_s, to_s = int(time.time()) - 100 * 86400, int(time.time()) + 86400
        variables = {
            variable["name"]: variable["query"] for variable in FROM_DATABASE["templating"]["list"]
        }
        events = [row["event"] for row in self.rows(variables["event"])]
        self.assertIn("query", events)
        answers = {}
        for panel in FROM_DATABASE["panels"]:
            [target] = panel["targets"]
            sql = as_grafana_asks(target["rawSql"], from_s, to_s, events)
            answers[panel["title"]] = found = wait_for(
                lambda: self.rows(sql), f"data of {panel['title']}", 90
            )
            for override in panel["fieldConfig"]["overrides"]:
                self.assertIn(override["matcher"]["options"], found[0], panel["title"])
        self.check_against_the_api(server, answers)
        with self.assertRaisesRegex(Exception, "permission denied"):
            self.rows("SELECT * FROM token")

    def check_against_the_api(self, server, answers):
        def ask(path):
            response, body = server.request("GET", path)
            self.assertEqual(response.status, 200, body)
            return json.loads(body)

        builds = answers["Builds"]
        summary = ask("/api/v1/events/query/summary")
        self.assertEqual(sum(row["runs"] for row in builds), summary["runs"])
        self.assertEqual(sum(row["delays"] for row in builds), summary["delays"])
        longest = answers["Longest delays"][0]
        [delay] = ask(f"/api/v1/bundles/{longest['bundle']}/delays?number={longest['number']}")[
            "delays"
        ]
        self.assertAlmostEqual(delay["duration_ns"] / 1e6, longest["duration"])
        causes = {str(cause["id"]): cause for cause in ask("/api/v1/causes")["causes"]}
        for row in answers["Causes"]:
            cause = causes[str(row["id"])]
            self.assertEqual(
                (row["title"], row["status"], row["delays"]),
                (cause["title"], cause["status"], cause["delays"]),
            )


if __name__ == "__main__":
    unittest.main(verbosity=2)
