"""`lagtrap doctor` on this machine: as root, as an unprivileged user, with a daemon, and with
broken settings."""

import json
import pathlib
import socket
import subprocess
import tempfile

from lagtrap_test import LAGTRAP, PLANTED, Daemon, check, library_event, run

STATES = {"ok", "works with a fallback", "missing", "not asked"}


def doctor(*options, user=None):
    done = subprocess.run(
        [LAGTRAP.resolve(), "doctor", "--json", *options],
        capture_output=True,
        text=True,
        timeout=120,
        user=user,
        cwd="/",
    )
    check(done.returncode in (0, 1), f"ended with {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    check(
        answer["ok"] == (done.returncode == 0),
        f"says {answer['ok']} and ends with {done.returncode}",
    )
    findings = {finding["name"]: finding for finding in answer["findings"]}
    check(len(findings) == len(answer["findings"]), "a name stands twice")
    check(
        all(finding["state"] in STATES and finding["reason"] for finding in findings.values()),
        f"{findings}",
    )
    return answer["ok"], findings


def state_of(findings, name):
    return findings[name]["state"]


def beside_a_daemon():
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        ok, findings = doctor("--settings", daemon.settings_path, "--socket", daemon.socket_path)
        check(ok, f"this machine runs the tests, and yet: {findings}")
        # The daemon has just used all of these.
        for name in (
            "kernel",
            "kernel types (BTF)",
            "probes in programs",
            "uprobes",
            "cookies of probes",
            "loops in BPF",
            "BPF ring buffer",
            "tracepoint programs",
            "context switches",
            "programs of samplers",
            "sampling of CPUs",
            "settings",
            "daemon",
        ):
            check(state_of(findings, name) == "ok", f"{findings[name]}")
        check("1 events armed" in findings["daemon"]["reason"], f"{findings['daemon']}")
        check("1 events" in findings["settings"]["reason"], f"{findings['settings']}")
        text = subprocess.run(
            [LAGTRAP, "doctor", "--settings", daemon.settings_path, "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
            timeout=120,
        )
        check(
            text.returncode == 0 and "Everything that lagtrap needs is available." in text.stdout,
            text.stdout,
        )


def without_privileges():
    with Daemon(library_event("work", PLANTED, "10s")) as daemon:
        _, findings = doctor(
            "--settings", daemon.settings_path, "--socket", daemon.socket_path, user="nobody"
        )
        for name in ("probes in programs", "context switches", "sampling of CPUs", "loops in BPF"):
            check(state_of(findings, name) == "not asked", f"{findings[name]}")
            check("root" in findings[name]["advice"], f"{findings[name]}")
        check("CAP_BPF" in findings["your privileges"]["reason"], f"{findings['your privileges']}")
        check(state_of(findings, "kernel types (BTF)") == "ok", f"{findings['kernel types (BTF)']}")
        check(state_of(findings, "daemon") == "not asked", f"{findings['daemon']}")


def what_is_missing_is_said():
    with tempfile.TemporaryDirectory() as folder:
        nowhere = str(pathlib.Path(folder) / "nothing.sock")
        settings = pathlib.Path(folder) / "settings.xml"
        ok, findings = doctor("--settings", settings, "--socket", nowhere)
        check(not ok and state_of(findings, "settings") == "missing", f"{findings['settings']}")
        check(
            state_of(findings, "daemon") == "missing"
            and "systemctl start" in findings["daemon"]["reason"],
            f"{findings['daemon']}",
        )
        settings.write_text('<lagtrap version="1">\n  <spol/>\n</lagtrap>')
        ok, findings = doctor("--settings", settings, "--socket", nowhere)
        check(
            not ok and f"{settings}:2:3" in findings["settings"]["reason"],
            f"{findings['settings']}",
        )


def the_server_is_asked_when_told_to():
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        settings = pathlib.Path(folder) / "settings.xml"
        port = server.getsockname()[1]
        settings.write_text(
            f'<lagtrap version="1"><upload url="http://127.0.0.1:{port}"/>'
            f'<spool path="{folder}/spool"/></lagtrap>'
        )
        _, findings = doctor("--settings", settings)
        check("server" not in findings, "the server was asked uninvited")
        _, findings = doctor("--settings", settings, "--server")
        check(state_of(findings, "server") == "ok", f"{findings['server']}")
        server.close()
        _, findings = doctor("--settings", settings, "--server")
        check(state_of(findings, "server") == "missing", f"{findings['server']}")


if __name__ == "__main__":
    run(
        beside_a_daemon,
        without_privileges,
        what_is_missing_is_said,
        the_server_is_asked_when_told_to,
    )
