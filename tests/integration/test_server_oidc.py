"""Single sign-on with a real OpenID Connect provider: from page to page in a browser, and step
by step over HTTP."""

import http.cookiejar
import json
import os
import re
import subprocess
import unittest
import unittest.mock
import urllib.error
import urllib.parse
import urllib.request

from lagtrap_server import PASSWORD, add_user
from lagtrap_test import SERVER, SOURCE_DIR, OwnedProcess, skip
from server_case import Checker, ServerCase
from test_server_base_path import free_port
from test_server_people import run_browser_tests

SECRET = "a secret of + two & parts"


class Provider(OwnedProcess):
    def __init__(self, redirect_uri):
        folder = os.environ.get("LAGTRAP_WEB_BUILD", "")
        if not os.path.isdir(f"{folder}/node_modules/oidc-provider"):
            skip("LAGTRAP_WEB_BUILD does not name a folder with the built pages")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [
                "node",
                SOURCE_DIR / "tests" / "integration" / "oidc_provider.mjs",
                folder,
                str(self.port),
                SECRET,
                redirect_uri,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if "listening" not in self.process.stdout.readline():
            raise AssertionError("the provider does not start")


class Person:
    """A headless browser: keeps cookies, follows redirects."""

    def __init__(self, server):
        self.server = server
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def open(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self.opener.open(url, data, timeout=60) as response:
                return response.url, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.url, error.read().decode()

    def sign_in(self, account, to="/bundles"):
        """Fills in all pages of the provider like a person; returns where that ends."""
        url, page = self.open(
            f"{self.server.url}/api/v1/oidc/begin?to={urllib.parse.quote(to, safe='')}"
        )
        for _ in range(4):
            if url.startswith(self.server.url):
                return url
            prompt = re.search(r'name="prompt" value="(\w+)"', page)[1]
            action = re.search(r'action="([^"]+)"', page)[1]
            url, page = self.open(
                urllib.parse.urljoin(url, action),
                {"prompt": prompt, "login": account, "password": "any"},
            )
        raise AssertionError(f"the provider leads nowhere: {url}")

    def session(self):
        try:
            with self.opener.open(f"{self.server.url}/api/v1/session", timeout=60) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code


class Oidc(ServerCase):
    def with_provider(self, *lines):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        self.provider = Provider(f"{url}/api/v1/oidc/callback")
        self.addCleanup(self.provider.__exit__)
        self.write_settings("title Example Login", *(lines or ("admin admins", "reader staff")))
        add_user(self.root / "data", "local", "admin")
        return self.server(
            "--listen",
            f"127.0.0.1:{port}",
            "--oidc-file",
            str(self.root / "oidc"),
            "--public-url",
            url,
        )

    def write_settings(self, *lines, mode=0o640):
        path = self.root / "oidc"
        path.write_text(
            "\n".join(
                (
                    "# who may come in",
                    f"issuer {self.provider.url}",
                    "client_id lagtrap",
                    f"client_secret {SECRET}",
                    "scopes openid profile groups",
                    *lines,
                )
            )
            + "\n"
        )
        path.chmod(mode)

    def audit(self, server):
        checker = Checker(self, server)
        checker.sign_in("local")
        return [
            (
                entry["who"],
                entry["action"],
                entry["object"],
                (entry["detail"] or "").split(", from")[0],
            )
            for entry in checker.ask("GET", "/api/v1/audit")[1]["entries"]
        ]

    def test_in_a_browser(self):
        server = self.with_provider()
        run_browser_tests(
            self,
            {"url": server.url, "accounts": {"admin": {"account": "local", "password": PASSWORD}}},
            "oidc.mjs",
        )

    def test_groups_give_roles_each_time(self):
        server = self.with_provider("reader staff", "admin admins")
        ann = Person(server)
        self.assertEqual(
            ann.sign_in("ann+admins+staff", "/bundles?host=a"), f"{server.url}/bundles?host=a"
        )
        self.assertEqual(
            {key: ann.session()[key] for key in ("account", "role")},
            {"account": "ann", "role": "admin"},
        )
        self.assertEqual(Person(server).sign_in("rita+staff"), f"{server.url}/bundles")
        eve = Person(server)
        self.assertEqual(eve.sign_in("eve+others"), f"{server.url}/?sign_in=no-group")
        self.assertEqual(eve.session(), 401)
        checker = Checker(self, server)
        checker.sign_in("local")
        accounts = {
            row["account"]: row["role"]
            for row in checker.ask("GET", "/api/v1/accounts")[1]["accounts"]
        }
        self.assertEqual(accounts, {"local": "admin", "ann": "admin", "rita": "reader"})
        # There is no password for them.
        checker.ask("POST", "/api/v1/session", {"account": "ann", "password": ""}, 401)
        entries = self.audit(server)
        self.assertIn(("ann", "sign in", None, "by Example Login"), entries)
        self.assertIn(("provider Example Login", "add account", "ann", "admin"), entries)
        self.assertIn(
            (None, "refuse sign-in", "eve", "none of the groups has a role here"), entries
        )
        self.assertEqual(
            (
                ann.session()["has_password"],
                checker.ask("GET", "/api/v1/session")[1]["has_password"],
            ),
            (False, True),
        )
        change = urllib.request.Request(
            f"{server.url}/api/v1/session/password",
            method="PUT",
            data=json.dumps(
                {"password": "any password", "new_password": "another password"}
            ).encode(),
            headers={"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"},
        )
        with self.assertRaises(urllib.error.HTTPError) as refused:
            ann.opener.open(change, timeout=60)
        self.assertEqual(
            (refused.exception.code, json.loads(refused.exception.read())["error"]["message"]),
            (403, "this account has no password here"),
        )
        # Such a session ends like any other.
        request = urllib.request.Request(
            f"{server.url}/api/v1/session",
            method="DELETE",
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        ann.opener.open(request, timeout=60).close()
        self.assertEqual(ann.session(), 401)

    def test_names_belong_to_who_had_them_first(self):
        server = self.with_provider("reader staff")
        self.assertEqual(Person(server).sign_in("local+staff"), f"{server.url}/?sign_in=name-taken")
        self.assertEqual(Person(server).sign_in("ann+staff"), f"{server.url}/bundles")
        # Another subject that calls itself ann.
        self.assertEqual(Person(server).sign_in("ann/2+staff"), f"{server.url}/?sign_in=name-taken")
        self.assertEqual(
            Person(server).sign_in("not a name+staff"), f"{server.url}/?sign_in=bad-name"
        )

    def test_groups_give_teams_each_time(self):
        server = self.with_provider("reader *")
        checker = Checker(self, server)
        checker.sign_in("local")
        for team, groups in (
            ("shop", ["shop-devs", "leads"]),
            ("pay", ["pay-devs"]),
            ("everybody", ["*"]),
        ):
            checker.ask(
                "PUT",
                f"/api/v1/teams/{team}",
                {"events": [f"{team}.*"], "units": [], "groups": groups},
                201,
            )

        def teams_of(login):
            person = Person(server)
            person.sign_in(login)
            return person.session()["teams"]

        self.assertEqual(teams_of("ann+shop-devs+pay-devs"), ["everybody", "pay", "shop"])
        checker.ask("PUT", "/api/v1/teams/pay/accounts/ann", expect=204)
        # Leaving the group ends its team membership; what an admin did by hand stays.
        self.assertEqual(teams_of("ann+others"), ["everybody", "pay"])
        self.assertEqual(teams_of("rita"), ["everybody"])
        entries = self.audit(server)
        for entry in (
            ("join team", "shop", "ann, by groups"),
            ("leave team", "shop", "ann, by groups"),
            ("join team", "everybody", "rita, by groups"),
        ):
            self.assertIn(("provider Example Login", *entry), entries)

    def test_what_comes_back_has_to_fit_what_was_begun(self):
        server = self.with_provider("reader *")
        ask = server.request
        begun, _ = ask("GET", "/api/v1/oidc/begin?to=%2Fevents")
        address = urllib.parse.urlsplit(begun.headers["Location"])
        sent = dict(urllib.parse.parse_qsl(address.query))
        self.assertEqual(
            (sent["response_type"], sent["code_challenge_method"], len(sent["code_challenge"])),
            ("code", "S256", 43),
        )
        cookie = begun.headers["Set-Cookie"].split(";")[0]
        self.assertIn("HttpOnly; SameSite=Lax; Max-Age=600", begun.headers["Set-Cookie"])

        def back(query, headers=None):
            response, _ = ask(
                "GET", "/api/v1/oidc/callback?" + urllib.parse.urlencode(query), headers=headers
            )
            self.assertEqual(response.status, 303)
            self.assertNotIn("lagtrap=", response.headers["Set-Cookie"])
            return response.headers["Location"]

        own = {"Cookie": cookie}
        self.assertEqual(back({"code": "x", "state": sent["state"]}), "/?sign_in=expired")
        self.assertEqual(back({"code": "x", "state": "other"}, own), "/?sign_in=expired")
        self.assertEqual(back({"code": "x"}, own), "/?sign_in=expired")
        self.assertEqual(
            back({"code": "x", "state": sent["state"], "iss": "https://evil.example"}, own),
            "/?sign_in=refused",
        )
        self.assertEqual(
            back({"error": "access_denied", "state": sent["state"]}, own), "/?sign_in=refused"
        )
        self.assertEqual(
            back({"code": "guessed", "state": sent["state"]}, own), "/?sign_in=refused"
        )
        self.assertIn("invalid_grant", server.log())
        self.assertNotIn(SECRET, server.log())
        for elsewhere in ("https://evil.example/", "//evil.example/", "/\\evil.example", "/x;y"):
            response, _ = ask(
                "GET", "/api/v1/oidc/begin?to=" + urllib.parse.quote(elsewhere, safe="")
            )
            self.assertRegex(response.headers["Set-Cookie"], r"^lagtrap-oidc=[\w-]{43}\./; ")

    def test_a_provider_that_does_not_answer(self):
        server = self.with_provider("reader *")
        self.provider.__exit__()
        response, _ = server.request("GET", "/api/v1/oidc/begin")
        self.assertEqual(
            (response.status, response.headers["Location"]), (303, "/?sign_in=no-answer")
        )
        self.assertIn("Couldn't connect", server.log())
        # Passwords still work.
        Checker(self, server).sign_in("local")

    def test_a_server_with_a_provider_is_not_open_to_its_machine(self):
        self.provider = Provider("http://127.0.0.1:9/api/v1/oidc/callback")
        self.addCleanup(self.provider.__exit__)
        self.write_settings("reader *")
        server = self.server(
            "--oidc-file", str(self.root / "oidc"), "--public-url", "http://127.0.0.1:9"
        )
        self.assertEqual(server.request("GET", "/api/v1/session")[0].status, 401)
        self.assertEqual(
            json.loads(server.request("GET", "/api/v1/session/ways")[1]), {"provider": "127.0.0.1"}
        )
        # A provider that identifies itself differently is not accepted either.
        self.assertEqual(server.request("GET", "/api/v1/oidc/begin")[0].status, 303)

    def test_bad_files_are_refused_at_the_start(self):
        self.provider = unittest.mock.Mock(url="https://login.example")

        def start(*options):
            outcome = subprocess.run(
                [
                    SERVER,
                    "--data",
                    self.root / "data",
                    "--listen",
                    "127.0.0.1:0",
                    "--oidc-file",
                    self.root / "oidc",
                    *options,
                ],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(outcome.returncode, 2)
            return outcome.stderr

        url = ("--public-url", "https://lagtrap.example")
        self.write_settings("reader *")
        self.assertRegex(start(), "--oidc-file .*--public-url")
        self.write_settings("reader *", mode=0o644)
        self.assertIn("every user may read this secret; chmod o= it", start(*url))
        self.write_settings()
        self.assertIn('nobody may sign in; add a line such as "reader GROUP"', start(*url))
        self.write_settings("reader *", "sceret x")
        self.assertIn('oidc:7: "sceret" is not known; expected issuer', start(*url))
        self.provider.url = "http://login.example"
        self.write_settings("reader *")
        self.assertIn('"issuer" is http://login.example; expected an address of https', start(*url))


if __name__ == "__main__":
    unittest.main(verbosity=2)
