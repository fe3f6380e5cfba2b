"""The server's alerts: to real receivers, once, despite failures, restarts and several servers."""

import email
import email.policy
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
import unittest
import urllib.request

from lagtrap_server import Server, add_user, sha256
from lagtrap_test import skip, wait_for
from rule_checks import LOSSES, MailServer, Webhook
from test_postgresql import Postgres
from server_case import Checker, ServerCase


class RuleCase(ServerCase):
    def checker_of(self, *options):
        add_user(self.root / "data", "ann", "admin")
        checker = Checker(
            self,
            self.server(
                "--rule-interval",
                "1s",
                "--allow-local-receivers",
                "--public-url",
                "https://lagtrap.example",
                *options,
            ),
        )
        checker.sign_in("ann")
        return checker

    def webhook(self, *statuses, **named):
        webhook = Webhook(*statuses, **named)
        self.addCleanup(webhook.close)
        return webhook

    def put(self, checker, kind, content):
        checker.ask(
            "PUT",
            f"/api/v1/{kind}/{sha256(content)}",
            content,
            201,
            content_type="application/zstd",
        )

    def lose(self, checker, runs, host="oak"):
        self.put(checker, "batches", self.make_runs(runs, host=host, lost=runs))

    @staticmethod
    def rule(checker, made):
        return checker.ask("GET", f"/api/v1/rules/{made['id']}")[1]

    def wait_for_looks(self, checker, made, looks=3):
        """Waits for this many more evaluations of the rule."""
        seen = set()

        def looked():
            seen.add(self.rule(checker, made)["state"]["looked_ns"])
            return len(seen - {None}) > looks

        wait_for(looked, f"{looks} looks at the rule")

    def make_rule(self, checker, receiver, **more):
        return checker.ask(
            "POST",
            "/api/v1/rules",
            {**LOSSES, "name": "losses", "address": receiver.url + "/hook", **more},
            201,
        )[1]


class Webhooks(RuleCase):
    def test_a_new_cause_and_its_return_are_told_once_each_though_the_receiver_fails(self):
        checker = self.checker_of()
        webhook = self.webhook(500, 503)
        made = self.make_rule(checker, webhook, condition="new_cause", event="query")
        back = self.make_rule(
            checker, webhook, name="back", condition="cause_came_back", secret=made["secret"]
        )
        for seed in range(9):
            self.put(checker, "bundles", self.make_bundle(seed, host=f"host-{seed % 3}"))
        wait_for(lambda: self.rule(checker, made)["state"]["notified_ns"], "the causes to be told")
        self.assertEqual(len(set(webhook.ids())), 1, "the same id over its retries")
        self.assertEqual(len(webhook.ids()), 3)
        webhook.check_signatures(self, made["secret"])
        (first, *_) = webhook.messages()
        causes = checker.ask("GET", "/api/v1/causes?event=query")[1]["causes"]
        self.assertEqual(
            {finding["cause"] for finding in first["findings"]}, {cause["id"] for cause in causes}
        )
        self.assertEqual(
            first["findings"][0]["link"],
            f"https://lagtrap.example/cause/{first['findings'][0]['cause']}",
        )
        self.assertRegex(
            first["findings"][0]["title"], r"^New cause of delays of query: .* on \d hosts?\.$"
        )
        (message,) = self.rule(checker, made)["messages"]
        self.assertEqual(
            (message["state"], message["attempts"], message["id"]), ("delivered", 3, first["id"])
        )
        # As if it had been resolved before these delays: the next search finds that it came back.
        with sqlite3.connect(self.root / "data" / "lagtrap.sqlite", timeout=30) as store:
            store.execute(
                "UPDATE cause SET status = 2, resolved_ns = 1 WHERE id = ?", (causes[0]["id"],)
            )
        self.put(checker, "bundles", self.make_bundle(20))
        wait_for(lambda: self.rule(checker, back)["state"]["notified_ns"], "the return to be told")
        self.wait_for_looks(checker, back)
        told = webhook.messages()[3:]
        self.assertEqual(
            [[finding["cause"] for finding in message["findings"]] for message in told],
            [[causes[0]["id"]]],
        )
        self.assertIn("came back", told[0]["headline"])
        metrics = checker.ask("GET", "/metrics")[1].decode()
        for line in (
            "messages_delivered_total 2",
            "message_failures_total 2",
            "messages_waiting 0",
            "rules_unwell 0",
        ):
            self.assertIn(f"\nlagtrap_server_{line}\n", metrics)
        self.assertIn("was not delivered", checker.server.log())

    def test_killed_while_it_sends_and_told_once_all_the_same(self):
        asked, gate = threading.Event(), threading.Event()

        def slowly(request, _):
            asked.set()
            gate.wait(60)
            request.reply(200)

        webhook = self.webhook(answer=slowly)
        checker = self.checker_of()
        made = self.make_rule(checker, webhook)
        self.lose(checker, 5)
        self.assertTrue(asked.wait(60))
        checker.server.kill()
        gate.set()
        again = Checker(self, self.server("--rule-interval", "1s", "--allow-local-receivers"))
        again.sign_in("ann")
        wait_for(
            lambda: self.rule(again, made)["state"]["notified_ns"], "the message to be sent again"
        )
        self.wait_for_looks(again, made)
        self.assertEqual(len(webhook.ids()), 2)
        self.assertEqual(len(set(webhook.ids())), 1, "one message, whose id tells the receiver so")
        self.assertEqual(len(self.rule(again, made)["messages"]), 1)

    def test_quiet_hours_hold_back_and_tell_together_later(self):
        checker, webhook = self.checker_of(), self.webhook()
        # By the clocks of Kathmandu it is quiet, by those of UTC it is not.
        now = (int(time.time()) // 60 + 5 * 60 + 45) % 1440
        quiet = {"quiet_zone": "Asia/Kathmandu"} | {
            f"quiet_{name}": f"{minute // 60:02}:{minute % 60:02}"
            for name, minute in (("from", (now - 60) % 1440), ("to", (now + 120) % 1440))
        }
        made = self.make_rule(checker, webhook, **quiet)
        for runs, host in ((5, "oak"), (7, "elm")):
            self.lose(checker, runs, host)
        wait_for(lambda: len(self.rule(checker, made)["findings"]) == 2, "both hosts to be found")
        self.wait_for_looks(checker, made)
        self.assertEqual(webhook.ids(), [])
        rule = {**LOSSES, "name": "losses", "address": webhook.url + "/hook"}
        checker.ask("PUT", f"/api/v1/rules/{made['id']}", rule)
        (message,) = wait_for(webhook.messages, "the message after the quiet hours")
        self.assertEqual({finding["host"] for finding in message["findings"]}, {"oak", "elm"})

    def test_slow_events_silent_hosts_and_the_test_button(self):
        checker, webhook = self.checker_of(), self.webhook()
        delays = self.make_rule(
            checker,
            webhook,
            name="delays",
            condition="delay_share",
            factor=1.5,
            least_runs=20,
            hours=1,
        )
        silent = self.make_rule(
            checker, webhook, name="silent", condition="host_silent", silent_ns=60 * 10**9
        )
        hour = int(time.time()) // 3600 * 3600
        for event in ("checkout", "search"):
            self.put(checker, "batches", self.make_runs(0, event=event, since_s=hour))
        slow = self.make_rule(
            checker, webhook, name="slow", condition="p99", over_ns=30_000_000, least_runs=20
        )
        message = wait_for(webhook.messages, "the slow events")[0]
        self.assertEqual(
            [finding["event"] for finding in message["findings"]],
            ["checkout", "search"],
            "many events, one message",
        )
        self.assertRegex(
            message["headline"],
            r"^2 findings of the rule slow; .* p99 of checkout .* 2 hours \(\d+ runs\), "
            r".*\b30\.0 ms",
        )
        self.assertEqual(self.rule(checker, delays)["findings"], [], "there is no week before")
        with sqlite3.connect(self.root / "data" / "lagtrap.sqlite", timeout=30) as store:
            store.execute("UPDATE batch SET received_ns = received_ns - 300000000000")
        found = wait_for(
            lambda: [m for m in webhook.messages() if m["condition"] == "host_silent"],
            "the silence to be told",
        )
        self.assertRegex(
            found[0]["headline"], r"^No data from host host-<1> for 5 minutes; the last came at "
        )
        checker.ask("POST", f"/api/v1/rules/{silent['id']}/test", expect=202)
        test = wait_for(lambda: [m for m in webhook.messages() if m["test"]], "the test")
        self.assertIn("This is a test of the rule silent", test[0]["headline"])
        self.assertEqual(self.rule(checker, slow)["state"]["failure"], None)


class OtherWays(RuleCase):
    def test_mail(self):
        checker, mails = self.checker_of(), MailServer()
        self.addCleanup(mails.close)
        made = checker.ask(
            "POST",
            "/api/v1/rules",
            {
                "name": "Verluste Größe",
                "condition": "runs_lost",
                "way": "email",
                "address": mails.url,
                "from": "lagtrap@example.org",
                "to": ["ann@example.org", "bob@example.org"],
            },
            201,
        )[1]
        self.lose(checker, 5, "ö<1>")
        wait_for(lambda: self.rule(checker, made)["state"]["notified_ns"], "the mail")
        ((sender, recipients, text),) = mails.mails
        self.assertEqual(
            (sender, recipients),
            ("<lagtrap@example.org>", ["<ann@example.org>", "<bob@example.org>"]),
        )
        mail = email.message_from_bytes(text, policy=email.policy.default)
        self.assertEqual(mail.defects, [])
        self.assertRegex(mail["Subject"], r"^\[lagtrap\] 5 runs .* host ö<1> .* 2 hours")
        self.assertIn('Rule "Verluste Größe"', mail.get_content())
        self.assertIn("https://lagtrap.example/?span=24h&host=%C3%B6%3C1%3E", mail.get_content())
        (message,) = self.rule(checker, made)["messages"]
        self.assertEqual(mail["Message-ID"], f"<{message['id']}@example.org>")

    def test_slack(self):
        checker, slack = self.checker_of(), self.webhook()
        made = checker.ask(
            "POST",
            "/api/v1/rules",
            {
                "name": "channel",
                "condition": "runs_lost",
                "way": "slack",
                "address": slack.url + "/services/T0/B0/hidden",
            },
            201,
        )[1]
        self.lose(checker, 5, "<!channel>")
        wait_for(lambda: self.rule(checker, made)["state"]["notified_ns"], "the message")
        self.assertEqual([request[1] for request in slack.of("POST")], ["/services/T0/B0/hidden"])
        (body,) = slack.messages()
        self.assertIn("lost on host &lt;!channel&gt; in", body["text"])

    def test_what_can_not_be_delivered_is_shown_and_tried_again(self):
        checker, slack = self.checker_of(), self.webhook(*[404] * 2)
        made = checker.ask(
            "POST",
            "/api/v1/rules",
            {
                "name": "channel",
                "condition": "runs_lost",
                "way": "slack",
                "address": slack.url + "/services/T0/B0/hidden",
            },
            201,
        )[1]
        self.lose(checker, 5)
        failed = wait_for(lambda: self.rule(checker, made)["state"]["failure"], "the failure")
        self.assertRegex(failed, r"^127\.0\.0\.1:\d+ answered 404$")
        self.assertIn(b"\nlagtrap_server_rules_unwell 1\n", checker.ask("GET", "/metrics")[1])
        wait_for(lambda: self.rule(checker, made)["state"]["notified_ns"], "the message after all")
        self.assertIsNone(self.rule(checker, made)["state"]["failure"])
        self.assertNotIn("hidden", checker.server.log())

    def test_alertmanager(self):
        if not shutil.which("prometheus-alertmanager"):
            skip("prometheus-alertmanager is not installed; ./dev setup installs it")
        (self.root / "alertmanager.yml").write_text(
            "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"
        )
        log = open(self.root / "alertmanager.log", "wb")
        self.addCleanup(log.close)
        port = free_port()
        process = subprocess.Popen(
            [
                "prometheus-alertmanager",
                f"--config.file={self.root}/alertmanager.yml",
                f"--storage.path={self.root}/alerts",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=log,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def alerts():
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/api/v2/alerts?active=true", timeout=10
                ) as answer:
                    return {
                        alert["labels"]["alertname"]: alert for alert in json.loads(answer.read())
                    }
            except OSError:
                return None

        wait_for(lambda: alerts() is not None, "Alertmanager to listen")
        checker = self.checker_of()
        made = checker.ask(
            "POST",
            "/api/v1/rules",
            {
                "name": "alerts",
                "condition": "runs_lost",
                "way": "alertmanager",
                "address": f"http://127.0.0.1:{port}/",
            },
            201,
        )[1]
        checker.ask("POST", f"/api/v1/rules/{made['id']}/test", expect=202)
        self.lose(checker, 5)
        alert = wait_for(lambda: (alerts() or {}).get("LagtrapRunsLost"), "the alert")
        self.assertEqual(
            alert["labels"], {"alertname": "LagtrapRunsLost", "rule": "alerts", "host": "oak"}
        )
        self.assertIn("5 runs were lost on host oak", alert["annotations"]["summary"])
        self.assertEqual(alert["generatorURL"], "https://lagtrap.example/?span=24h&host=oak")
        wait_for(lambda: "LagtrapTest" in alerts(), "the test")
        # The alert ends at the receiver too: the losses leave the hours that the rule covers.
        with sqlite3.connect(self.root / "data" / "lagtrap.sqlite", timeout=30) as store:
            store.execute("UPDATE batch SET received_ns = received_ns - 86400000000000")
            store.execute("UPDATE tell_finding SET seen_ns = seen_ns - 3600000000000")
        wait_for(lambda: "LagtrapRunsLost" not in alerts(), "the alert to end")


class Copies(RuleCase):
    def test_two_copies_on_postgresql_tell_once(self):
        if os.geteuid() != 0:
            skip("PostgreSQL is started as another user, which needs root")
        postgres = self.enterContext(Postgres())
        webhook = self.webhook()
        store = f"postgresql:///postgres?host={postgres.folder}&user=postgres"
        copies = []
        for name in ("first", "second"):
            copies.append(
                Server(
                    "--store",
                    store,
                    "--blobs",
                    self.root / "blobs",
                    "--rule-interval",
                    "1s",
                    "--allow-local-receivers",
                    data=self.root / name,
                )
            )
            self.addCleanup(copies[-1].__exit__)
        here, there = (Checker(self, copy) for copy in copies)
        made = self.make_rule(here, webhook)
        for runs, host in ((5, "oak"), (7, "elm"), (9, "ash")):
            self.lose(here if runs == 7 else there, runs, host)
        wait_for(
            lambda: all(finding["notified_ns"] for finding in self.rule(there, made)["findings"])
            and len(self.rule(there, made)["findings"]) == 3,
            "all three hosts to be told",
        )
        self.wait_for_looks(there, made, 6)
        copies[0].kill()
        self.lose(there, 11, "yew")
        wait_for(lambda: "yew" in json.dumps(webhook.messages()), "the copy that is left to tell")
        wait_for(
            lambda: not [
                m for m in self.rule(there, made)["messages"] if m["state"] != "delivered"
            ],
            "everything to be delivered",
        )
        hosts = [
            finding["host"]
            for message in {m["id"]: m for m in webhook.messages()}.values()
            for finding in message["findings"]
        ]
        self.assertEqual(sorted(hosts), ["ash", "elm", "oak", "yew"], "each host once")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


if __name__ == "__main__":
    unittest.main(verbosity=2)
