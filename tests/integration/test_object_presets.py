"""Presets of lagtrap objects on the programs they are for."""

import contextlib
import http.server
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

from lagtrap_test import check, run
from object_watch import PLENTY, Watch
from trace_client import idle_daemon

SQLITE = """
import sqlite3
for n in range(20):
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a)")
    try:
        db.execute("select * from nothing%d" % n)
    except sqlite3.Error:
        pass
    db.close()
"""
STEPS = """
import sqlite3
db = sqlite3.connect(":memory:", isolation_level=None)
db.execute("create table t(a unique)")
db.execute("insert into t values(1)")
for n in range(5):
    try:
        db.execute("insert into t values(%d - %d + 1)" % (n, n))
    except sqlite3.IntegrityError:
        pass
db.close()
"""
FILES = """
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
kept = []
for n in range(5):
    libc.fclose(libc.fopen(b"/etc/passwd", b"r"))
    libc.fopen(b"/nonexistent/%d" % n, b"r")
kept.append(libc.fopen(b"/etc/hostname", b"r"))
"""
SOCKETS = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
for n in range(6):
    one = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    one.sendall(b"x")
    other.recv(1)
    one.close()
    other.close()
port = listener.getsockname()[1]
listener.close()
for n in range(3):
    try:
        socket.create_connection(("127.0.0.1", port))
    except ConnectionRefusedError:
        pass
"""
# A non-blocking operation to be retried or in progress is not a failure. A refusal is one.
NOT_BLOCKING = """
import select, socket
listener = socket.create_server(("127.0.0.1", 0))
listener.setblocking(False)
again, under_way = 0, 0
for n in range(5):
    try:
        listener.accept()
    except BlockingIOError:
        again += 1
    one = socket.socket()
    one.setblocking(False)
    under_way += one.connect_ex(listener.getsockname()) == 115
    select.select([listener], [], [])
    other, _ = listener.accept()
    other.setblocking(False)
    try:
        other.recv(1)
    except BlockingIOError:
        again += 1
    one.close()
    other.close()
port = listener.getsockname()[1]
listener.close()
one = socket.socket()
assert one.connect_ex(("127.0.0.1", port)) == 111
one.close()
print(again, under_way, flush=True)
"""
# Both ends of TLS in one process, without a network: every call must be repeated until the other
# end has said more.
TLS = """
import ssl
def ends(verify):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    return ours, server.wrap_bio(to_server, to_client, server_side=True)
def shake(verify):
    failed, open_ends = 0, list(ends(verify))
    for _ in range(20):
        for one in list(open_ends):
            try:
                one.do_handshake()
                open_ends.remove(one)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                failed += 1
                open_ends.remove(one)
    return failed
assert [shake(False) for _ in range(4)] == [0] * 4
failed = sum(shake(True) for _ in range(3))
print(failed, flush=True)
"""


class Python:
    """A program that waits until it is told to run, and reports when it is done."""

    def __init__(self, what):
        text = (
            "import socket, sqlite3, ssl, sys  # what is followed has to be loaded\n"
            f'print("ready", flush=True)\nsys.stdin.readline()\n{what}\nprint("done", flush=True)\n'
            "sys.stdin.readline()\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        check(self.line() == "ready", "python is ready")
        self.pid = self.process.pid

    def line(self):
        return self.process.stdout.readline().strip()

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def followed(preset, what):
    """The preset's findings about a Python program that has done its work, and all its output
    lines but the last."""
    with idle_daemon() as daemon, Python(what) as python, Watch(
        daemon, python.pid, "--preset", preset, *PLENTY
    ) as watch:
        python.go()
        lines = list(iter(python.line, "done"))
        yield watch.end(), lines


def make_certificate(folder):
    path = pathlib.Path(folder) / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=localhost",
            "-keyout",
            path,
            "-out",
            path.with_suffix(".part"),
        ],
        check=True,
        capture_output=True,
    )
    path.write_text(
        path.read_text(encoding="utf-8") + path.with_suffix(".part").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    return path


def databases_and_statements():
    with followed("sqlite", SQLITE) as (watch, _):
        databases, statements = watch.counts("sqlite3"), watch.counts("sqlite3_stmt")
        check(databases["created"] == 20 and databases["released"] == 20, f"{databases}")
        check(
            statements["failures"] == 20
            and statements["alive"] == 0
            and statements["created"] >= 20,
            f"{statements}",
        )
        failed = [call for call in watch.calls("sqlite3_prepare_v2") if call["failed"]]
        check(
            failed[0]["error"] == "no such table: nothing0"
            and failed[0]["title"] == "select * from nothing0",
            f"{failed[0]}",
        )


def a_failure_of_a_step_counts_once_and_has_its_text():
    """The program resets the statement before it asks for the text, and reset returns the same
    failure once more."""
    with followed("sqlite", STEPS) as (watch, _):
        check(watch.counts("sqlite3_stmt")["failures"] == 5, f"{watch.counts('sqlite3_stmt')}")
        failed = [
            (call["name"], call["result"], call["error"])
            for call in watch.calls()
            if call["failed"]
        ]
        check(failed == [("sqlite3_step", 19, "UNIQUE constraint failed: t.a")] * 5, f"{failed}")
        check(watch.totals()["sqlite3_reset"] >= 5, f"{watch.totals()}")


def files_of_the_c_library():
    with followed("stdio", FILES) as (watch, _):
        counts = watch.counts("FILE")
        check(
            (counts["created"], counts["released"], counts["alive"], counts["failures"])
            == (6, 5, 1, 5),
            f"{counts}",
        )
        failed = [call for call in watch.calls() if call["failed"]]
        check(
            [call["title"] for call in failed] == [f"/nonexistent/{n}" for n in range(5)],
            f"{failed}",
        )
        check(all(call["errno"] == 2 for call in failed), f"ENOENT: {failed}")
        check(watch.ended["oldest"][0][7] == "/etc/hostname", f"{watch.ended['oldest']}")


def sockets_by_their_numbers():
    with followed("sockets", SOCKETS) as (watch, _):
        counts = watch.counts("socket")
        # A listener, both ends of six connections, three that were refused.
        check((counts["created"], counts["released"], counts["alive"]) == (16, 16, 0), f"{counts}")
        refused = [call for call in watch.calls("connect") if call["failed"]]
        check(
            len(refused) == 3 and all(call["errno"] == 111 for call in refused),
            f"ECONNREFUSED: {refused}",
        )
        check(watch.totals()["send"] == 6 and watch.totals()["recv"] == 6, f"{watch.totals()}")


def what_does_not_block_does_not_fail():
    with followed("sockets", NOT_BLOCKING) as (watch, lines):
        check(lines == ["10 5"], f"the program's own count: {lines}")
        counts = watch.counts("socket")
        # A listener, both ends of five connections, one that was refused. An accept() without a
        # connection creates nothing.
        check((counts["created"], counts["released"], counts["alive"]) == (12, 12, 0), f"{counts}")
        failed = [(call["name"], call["errno"]) for call in watch.calls() if call["failed"]]
        check(failed == [("connect", 111)] and counts["failures"] == 1, f"{failed}, {counts}")


def both_ends_of_tls_in_python():
    with tempfile.TemporaryDirectory() as folder:
        what = TLS.replace("CERTIFICATE", repr(str(make_certificate(folder))))
        with followed("openssl", what) as (watch, lines):
            counts = watch.counts("SSL")
            check(
                (counts["created"], counts["released"], counts["alive"]) == (14, 14, 0), f"{counts}"
            )
            failed = [call for call in watch.calls() if call["failed"]]
            # Needing more from the other end is not a failure. SSL_ERROR_SSL is 1.
            check(len(failed) == int(lines[0]) > 0, f"{lines}: {failed}")
            check(
                all((call["name"], call["result"]) == ("SSL_get_error", 1) for call in failed),
                f"{failed}",
            )
            # The texts are in another library, of which no other call is watched.
            check(
                all(
                    "certificate" in call["error"] or "unknown ca" in call["error"]
                    for call in failed
                ),
                f"{failed}",
            )
            check(watch.totals()["SSL_do_handshake"] > 14, f"{watch.totals()}")


def a_server_of_openssl():
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificate(folder)
        with idle_daemon() as daemon, subprocess.Popen(
            [
                "openssl",
                "s_server",
                "-accept",
                "127.0.0.1:0",
                "-cert",
                certificate,
                "-key",
                certificate,
                "-naccept",
                "7",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as server:
            line = ""
            while not line.startswith("ACCEPT"):
                line = server.stdout.readline()
                check(line, "s_server listens")
            address = "127.0.0.1", int(line.rsplit(":", 1)[1])
            with Watch(daemon, server.pid, "--preset", "openssl", *PLENTY) as watch:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                for _ in range(4):
                    with socket.create_connection(address) as plain, context.wrap_socket(
                        plain
                    ) as secure:
                        secure.sendall(b"a line\n")
                        with contextlib.suppress(OSError):
                            secure.unwrap()
                for _ in range(3):  # a client that does not speak TLS
                    with socket.create_connection(address) as plain:
                        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
                        while plain.recv(1024):
                            pass
                server.communicate(timeout=120)
                watch.end()
            counts = watch.counts("SSL")
            check(
                (counts["created"], counts["released"], counts["alive"]) == (7, 7, 0), f"{counts}"
            )
            failed = [
                call
                for call in watch.calls("SSL_get_error")
                if call["failed"] and call["result"] == 1
            ]
            # It asks more than once for each.
            check(len(failed) >= 3 and len(failed) % 3 == 0, f"{failed}")
            check(watch.totals()["SSL_accept"] >= 7, f"{watch.totals()}")


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers with a word once it is allowed to."""

    def do_GET(self):  # pylint: disable=invalid-name # named by the base class
        if self.path == "/first":
            self.server.asked.set()
            self.server.may_answer.wait()
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def transfers_of_curl():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server, socket.create_server(
        ("127.0.0.1", 0)
    ) as listener:
        server.asked, server.may_answer = threading.Event(), threading.Event()
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            good, closed = (
                f"http://127.0.0.1:{port}"
                for port in (server.server_port, listener.getsockname()[1])
            )
            listener.close()
            urls = (
                [f"{good}/first"]
                + [f"{good}/{n}" for n in range(5)]
                + [f"{closed}/{n}" for n in range(3)]
            )
            with idle_daemon() as daemon, subprocess.Popen(
                ["curl", "--silent", *urls], stdout=subprocess.PIPE, text=True
            ) as curl:
                check(server.asked.wait(120), "curl asks for the first page")
                with Watch(daemon, curl.pid, "--preset", "curl", *PLENTY) as watch:
                    server.may_answer.set()
                    curl.communicate(timeout=120)
                    watch.end()
                counts = watch.counts("CURL")
                performed = [call for call in watch.calls("curl_easy_perform") if call["failed"]]
                # CURLE_COULDNT_CONNECT is 7. Calls running when the probes were attached had begun
                # before.
                check(
                    len(performed) == 3 and all(call["result"] == 7 for call in performed),
                    f"{performed}",
                )
                check(watch.totals()["curl_easy_perform"] == 8, f"{watch.totals()}")
                check(counts["created"] == 8 and counts["alive"] == 0, f"{counts}")
        finally:
            server.may_answer.set()
            server.shutdown()
            serving.join()


if __name__ == "__main__":
    run(
        databases_and_statements,
        a_failure_of_a_step_counts_once_and_has_its_text,
        files_of_the_c_library,
        sockets_by_their_numbers,
        what_does_not_block_does_not_fail,
        both_ends_of_tls_in_python,
        a_server_of_openssl,
        transfers_of_curl,
    )
