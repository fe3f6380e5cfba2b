"""The main job from end to end: a planted delay becomes a bundle on the server, and its report
names the cause."""

import subprocess

from lagtrap_server import Server
from lagtrap_test import LAGTRAP, PLANTED, UPLOADER, Daemon, Watched, check, library_event, run


def delay_reaches_the_server():
    events = library_event("work", PLANTED, "50ms", "500ms", ("prepare", "execute", "finish"))
    with Server() as server, Daemon(events, more=f'<upload url="{server.url}"/>') as daemon:
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 20, "--slow-ms", 200, "--wait"
        ) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        digest = daemon.status()["last_bundle"]["digest"]
        for _ in range(2):  # the second time there is nothing to send
            done = subprocess.run(
                [UPLOADER, "--settings", daemon.settings_path, "--once"],
                capture_output=True,
                text=True,
            )
            check(done.returncode == 0, f"uploader: {done.stdout}{done.stderr}")
        check(
            not daemon.bundles() and (daemon.spool / "sent" / bundle.name).exists(),
            "the spool does not say sent",
        )
        listed = server.bundles()
        check([entry["digest"] for entry in listed] == [digest], f"the server lists {listed}")
        fetched = daemon.folder / "fetched.lagtrap.tar.zst"
        fetched.write_bytes(server.request("GET", f"/api/v1/bundles/{digest}")[1])
        text = subprocess.run(
            [LAGTRAP, "report", fetched], capture_output=True, text=True, timeout=60
        )
        check(text.returncode == 0, text.stderr)
        for words in ("work", "threshold", "planted_sleep", "execute", "blocked: sleep"):
            check(words in text.stdout, f'"{words}" is not in the report:\n{text.stdout}')
        check(
            max(len(line) for line in text.stdout.splitlines()) <= 80,
            "the report is wider than 80 columns",
        )
        check("\x1b" not in text.stdout, "colours without a terminal")
        folded = subprocess.run(
            [LAGTRAP, "export", fetched, "--format", "folded", "--off-cpu"],
            capture_output=True,
            text=True,
        )
        check(
            any(
                "planted_sleep" in line and line.rsplit(" ", 1)[1].isdigit()
                for line in folded.stdout.splitlines()
            ),
            f"no folded stack of planted_sleep: {folded.stdout[:500]}{folded.stderr}",
        )


if __name__ == "__main__":
    run(delay_reaches_the_server)
