"""Servers from Debian's packages, each with its own data in a case's folder, reached through a
socket in it."""

import pathlib
import shutil
import subprocess

from lagtrap_test import wait_for

POSTGRES_BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
REDIS = "/usr/bin/redis-server"
MARIADB = "/usr/sbin/mariadbd"
NGINX = "/usr/sbin/nginx"
PYTHON = "/usr/bin/python3"


class Redis:
    def __init__(self, world):
        self.world, self.socket = world, world.folder / "redis.sock"
        self.process = world.start(
            REDIS,
            "--port",
            0,
            "--unixsocket",
            self.socket,
            "--save",
            "",
            "--dir",
            world.folder,
            "--enable-debug-command",
            "yes",
        )
        wait_for(lambda: self.socket.exists() and self.ask("ping") == "PONG\n", "redis")

    def ask(self, *words):
        return self.world.run("redis-cli", "-s", self.socket, *words)


class Session:
    """A client that gets statements one after the other, and holds its transaction meanwhile."""

    def __init__(self, world, command):
        self.process = world.start(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )

    def ask(self, statement):
        """The first line of the answer."""
        self.tell(statement)
        return self.process.stdout.readline().strip()

    def tell(self, statement):
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.communicate(timeout=120)


class Postgres:
    """PostgreSQL 15, run by the user postgres."""

    def __init__(self, world):
        self.world, self.data = world, world.folder / "data"
        shutil.chown(world.folder, "postgres", "postgres")
        self.run(
            POSTGRES_BIN / "initdb", "-D", self.data, "--no-sync", "-A", "trust", "--locale", "C"
        )
        with open(self.data / "postgresql.conf", "a", encoding="ascii") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{world.folder}'\nfsync = off\n"
                "jit = off\n"
                "work_mem = '256MB'\nautovacuum = off\nmax_parallel_workers_per_gather = 0\n"
            )
        self.run(
            POSTGRES_BIN / "pg_ctl", "-D", self.data, "-l", world.folder / "log", "-w", "start"
        )
        world.at_end(
            lambda: self.run(POSTGRES_BIN / "pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        )

    def as_postgres(self, *words):
        return ["runuser", "-u", "postgres", "--", *words]

    def run(self, *words):
        # pg_ctl passes its output to the server it starts, so there must be no pipe, which would
        # never end.
        self.world.run(
            *self.as_postgres(*words),
            capture_output=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    def ask(self, statement):
        return self.world.run(*self.psql(), "-c", statement, cwd="/").strip()

    def psql(self):
        return self.as_postgres(POSTGRES_BIN / "psql", "-h", self.world.folder, "-qAt", "postgres")

    def session(self):
        return Session(self.world, self.psql())


class MariaDb:
    def __init__(self, world):
        self.world, self.socket, data = world, world.folder / "mariadb.sock", world.folder / "data"
        world.run(
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--user=root",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        )
        self.process = world.start(
            MARIADB,
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={self.socket}",
            "--user=root",
            "--skip-networking",
            f"--pid-file={world.folder}/pid",
            "--innodb-buffer-pool-size=64M",
            "--sort-buffer-size=64M",
        )
        wait_for(
            lambda: subprocess.run(
                [*self.client(), "-e", "select 1"], capture_output=True
            ).returncode
            == 0,
            "mariadbd",
        )
        self.ask("create database if not exists test")

    def client(self):
        return [
            "mariadb",
            "--no-defaults",
            f"--socket={self.socket}",
            "-uroot",
            "-N",
            "--unbuffered",
        ]

    def ask(self, statement):
        return self.world.run(*self.client(), "-e", statement).strip()

    def session(self):
        return Session(self.world, self.client())


# The thread id of this connection, as the kernel counts.
MARIADB_TID = "select tid from information_schema.processlist where id = connection_id();"

SLOW_WEB_SERVER = """
import hashlib, http.server, time

def weave_page(milliseconds):
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        hashlib.sha256(b'thread' * 2000).digest()

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        weave_page(400 if self.path == '/slow' else 0)
        self.send_response(200)
        self.send_header('Content-Length', '3')
        self.end_headers()
        self.wfile.write(b'ok\\n')
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class SlowWebServer:
    """A process that computes for 400 ms before it answers /slow."""

    def __init__(self, world):
        self.process = world.start(PYTHON, "-c", SLOW_WEB_SERVER, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"


class Nginx:
    """nginx with one worker and the given contents of its server block."""

    def __init__(self, world, server):
        self.world, self.socket = world, world.folder / "nginx.sock"
        settings = world.folder / "nginx.conf"
        settings.write_text(
            f"daemon off; worker_processes 1; user root; pid {world.folder}/nginx.pid; "
            f"error_log {world.folder}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; client_body_temp_path {world.folder}/body; "
            f"proxy_temp_path {world.folder}/proxy;\n"
            f"server {{ listen unix:{self.socket}; {server} }} }}\n",
            encoding="ascii",
        )
        self.process = world.start(NGINX, "-c", settings, "-p", world.folder)
        world.at_end(lambda: (self.process.terminate(), self.process.wait()))
        wait_for(
            lambda: subprocess.run(
                ["curl", "-s", "--unix-socket", self.socket, "http://localhost/nothing"],
                capture_output=True,
            ).returncode
            == 0,
            "nginx",
        )

    def get(self, path):
        self.world.run(
            "curl",
            "-s",
            "--compressed",
            "-o",
            "/dev/null",
            "--unix-socket",
            self.socket,
            f"http://localhost{path}",
        )
