"""Shared by tests of the server's rules: receivers of messages, and the API's addresses for
rules."""

import base64
import hashlib
import hmac
import json
import socketserver
import threading
import time

from upload_world import OddServer

LOSSES = {"condition": "runs_lost", "way": "webhook"}


class Webhook(OddServer):
    """Receives messages and checks their signatures; answers with `statuses` first, then 200."""

    def __init__(self, *statuses, answer=None):
        self.statuses = list(statuses)
        super().__init__(
            answer=answer
            or (lambda request, _: request.reply(self.statuses.pop(0) if self.statuses else 200))
        )

    def messages(self):
        return [json.loads(body) for body in list(self.bodies)]

    def ids(self):
        return [message["id"] for message in self.messages()]

    def check_signatures(self, case, secret):
        key = base64.b64decode(secret.removeprefix("whsec_"))
        for (_, _, headers, _), body in zip(list(self.requests), list(self.bodies)):
            told = {name.lower(): value for name, value in headers.items()}
            case.assertAlmostEqual(int(told["webhook-timestamp"]), time.time(), delta=300)
            signed = f"{told['webhook-id']}.{told['webhook-timestamp']}.".encode() + body
            expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
            case.assertEqual(told["webhook-signature"], "v1," + expected)
            case.assertEqual(json.loads(body)["id"], told["webhook-id"])


class MailServer:
    """Receives mails by SMTP, without TLS."""

    def __init__(self):
        outer = self
        self.mails = []  # sender, recipients, text

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                sender, recipients = None, []
                self.say("220 mail.example ESMTP")
                while line := self.rfile.readline().decode().strip():
                    word = line.split(" ")[0].upper()
                    if word == "EHLO":
                        self.say("250 mail.example")
                    elif word == "MAIL":
                        sender = line.partition(":")[2]
                        self.say("250 ok")
                    elif word == "RCPT":
                        recipients.append(line.partition(":")[2])
                        self.say("250 ok")
                    elif word == "DATA":
                        self.say("354 go on")
                        text = b""
                        while (part := self.rfile.readline()) != b".\r\n":
                            text += part
                        outer.mails.append((sender, recipients, text))
                        self.say("250 taken")
                    elif word == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("500 what?")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"smtp://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def check_rules(case, checker):
    """Each address for rules, with each of its answers."""
    ask = checker.ask
    case.assertEqual(ask("GET", "/api/v1/rules")[1]["rules"], [])
    rule = {
        **LOSSES,
        "name": "losses <b>",
        "address": "http://127.0.0.1:1/hook",
        "enabled": False,
        "host": "no such host",
    }
    _, made = ask("POST", "/api/v1/rules", rule, 201)
    case.assertTrue(made["secret"].startswith("whsec_"))
    ask("POST", "/api/v1/rules", rule, 409)
    for wrong in (
        {"colour": "red"},
        {"name": ""},
        {"name": "x" * 65},
        {"name": "tab\t"},
        {"address": "file:///etc/passwd"},
        {"address": "http://a:b@c/"},
        {"condition": "p99"},
        {"condition": "never"},
        {"over_ns": 5},
        {"way": "slack", "secret": "x"},
        {"hours": 0},
        {"hours": 1.5},
        {"secret": "short"},
        {"quiet_from": "22:00"},
        {"quiet_from": "7 pm", "quiet_to": "07:00"},
        {"quiet_zone": "UTC"},
        {"enabled": 1},
        {"to": ["a@b"]},
    ):
        ask("POST", "/api/v1/rules", {**rule, "name": "other", **wrong}, 400)
    address = f"/api/v1/rules/{made['id']}"
    _, changed = ask(
        "PUT", address, {**rule, "name": "lost runs", "quiet_from": "22:00", "quiet_to": "07:00"}
    )
    case.assertEqual(changed["quiet_zone"], "UTC")
    _, unknown = ask(
        "PUT",
        address,
        {**rule, "quiet_from": "22:00", "quiet_to": "07:00", "quiet_zone": "Europe/Atlantis"},
        400,
    )
    case.assertIn(
        '"quiet_zone": the server\'s machine has no time zone "Europe/Atlantis"',
        unknown["error"]["message"],
    )
    case.assertIn("tzdata", unknown["error"]["hint"])
    case.assertEqual(
        (changed["name"], changed["quiet_from"], changed["has_secret"], changed["changed_by"]),
        ("lost runs", "22:00", True, "ann"),
    )
    # Its secret is never sent elsewhere, and never shown again.
    ask("PUT", address, {**rule, "address": "http://127.0.0.2:1/hook"}, 400)
    case.assertNotIn("secret", ask("GET", address)[1])
    ask("PUT", address, {**rule, "address": "http://127.0.0.2:1/hook", "secret": made["secret"]})
    slack = "http://127.0.0.1:1/services/T0/B0/hidden"
    _, second = ask(
        "POST", "/api/v1/rules", {**rule, "name": "slack", "way": "slack", "address": slack}, 201
    )
    case.assertEqual(second["address"], "http://127.0.0.1:1/...")
    ask(
        "PUT",
        f"/api/v1/rules/{second['id']}",
        {**rule, "name": "slack", "way": "slack", "address": second["address"]},
    )
    ask(
        "PUT",
        f"/api/v1/rules/{second['id']}",
        {**rule, "name": rule["name"], "way": "slack", "address": second["address"]},
        409,
    )
    whole = (
        json.dumps([ask("GET", "/api/v1/rules")[1], ask("GET", "/api/v1/audit")[1]])
        + checker.server.log()
    )
    for secret in (made["secret"], "hidden"):
        case.assertNotIn(secret, whole)
    ask("POST", address + "/test", expect=202)
    for path in ("/api/v1/rules/99999", "/api/v1/rules/x"):
        ask("GET", path, expect=404)
        ask("PUT", path, rule, 404)
        ask("DELETE", path, expect=404)
    ask("POST", "/api/v1/rules/99999/test", expect=404)
    own = checker.cookie
    checker.sign_in("rita")
    ask("GET", "/api/v1/rules", expect=403)
    ask("POST", "/api/v1/rules", rule, 403)
    ask("POST", address + "/test", expect=403)
    checker.cookie = own
    for rule_id in (made["id"], second["id"]):
        ask("DELETE", f"/api/v1/rules/{rule_id}", expect=204)
    case.assertEqual(ask("GET", "/api/v1/rules")[1]["rules"], [])
