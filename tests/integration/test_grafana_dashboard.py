"""The example dashboard: every query of it is run by a real Prometheus over a real server, and returns data."""

import json
import math
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from lagtrap_test import SOURCE_DIR, skip, wait_for
from test_server_api import ServerCase
from upload_world import sha256

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
            "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: lagtrap\n  static_configs:\n"
            f"  - targets: ['127.0.0.1:{server.port}']\n")
        log = open(self.root / "prometheus.log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(["prometheus", f"--config.file={self.root}/prometheus.yml", f"--storage.tsdb.path={self.root}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return f"http://127.0.0.1:{port}"

    def put(self, kind, content):
        response, body = self.server_under_test.put(content) if kind == "bundles" else self.server_under_test.request(
            "PUT", f"/api/v1/batches/{sha256(content)}", content)
        self.assertIn(response.status, (200, 201), body)

    def test_every_query_returns_data(self):
        self.server_under_test = server = self.server()
        address = self.prometheus(server)

        def ask(path):
            with urllib.request.urlopen(address + path, timeout=10) as answer:
                return json.loads(answer.read())["data"]

        def values(expression):
            try:
                found = ask("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))["result"]
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise AssertionError(f"{expression}: {error.read()}") from error
                return []
            return [float(row["value"][1]) for row in found]

        for seed in range(9):
            self.put("bundles", self.make_bundle(seed, host=f"host-{seed % 3}"))
        self.put("batches", self.make_runs(0, lost=3))
        wait_for(lambda: values('lagtrap_event_delays_total{event="query"} > 0'), "the first runs to be scraped")
        # Counters have to grow before they have a rate.
        self.put("batches", self.make_runs(2))
        for name, expression in queries():
            wait_for(lambda: [value for value in values(expression) if math.isfinite(value)], f"data of {name}", 90)
        events = ask("/api/v1/label/event/values?" + urllib.parse.urlencode({"match[]": "lagtrap_event_duration_seconds_count"}))
        self.assertIn("query", events, "the variable of the dashboard")


if __name__ == "__main__":
    unittest.main(verbosity=2)
