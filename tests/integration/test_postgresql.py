"""Debian's PostgreSQL 15, unmodified: the event `query` with its stages, one slow query among
10,000 fast ones."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from lagtrap_test import Daemon, check, check_trace, report, run, wait_for

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
STAGES = ("parse", "plan", "execute")
EVENT = (
    f'<event name="query" threshold="300ms" trace-length="1s" binary="{BIN}/postgres">'
    '<begin usdt="postgresql:query__start"/>'
    + "".join(
        f'<stage name="{stage}" usdt="postgresql:query__{stage}__start"/>' for stage in STAGES
    )
    + '<end usdt="postgresql:query__done"/></event>'
)
SLOW_QUERY = "select count(*), pg_sleep(0.4) from generate_series(1, 1000000)"


class Postgres:
    """A server of its own in a temporary folder, run by the user postgres, reached through a
    Unix socket."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-postgres-"))
        shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        self.run(BIN / "initdb", "-D", data, "--no-sync", "-A", "trust")
        with open(data / "postgresql.conf", "a", encoding="ascii") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
                "log_min_duration_statement = 200\nlogging_collector = off\n"
            )
        self.run(BIN / "pg_ctl", "-D", data, "-l", self.folder / "log", "-w", "start")
        self.run(BIN / "pgbench", "-h", self.folder, "-i", "-q", "postgres")
        return self

    def __exit__(self, *_):
        self.run(BIN / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *words):
        return ["runuser", "-u", "postgres", "--", *[str(word) for word in words]]

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, cwd="/")
        check(done.returncode == 0, f"{words[0]}: {done.stderr}")
        return done.stdout

    def logged_duration_ms(self):
        durations = re.findall(
            r"duration: ([0-9.]+) ms  statement: select count", (self.folder / "log").read_text()
        )
        check(len(durations) == 1, f"{len(durations)} slow queries in PostgreSQL's log")
        return float(durations[0])


def slow_query_among_fast_ones():
    with Postgres() as postgres, Daemon(EVENT) as daemon:
        fast = subprocess.Popen(
            postgres.command(
                BIN / "pgbench", "-h", postgres.folder, "-n", "-S", "-c", 4, "-t", 2500, "postgres"
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
        )
        wait_for(lambda: daemon.event("query")["runs"] > 1000, "pgbench to be at work")
        postgres.run(BIN / "psql", "-h", postgres.folder, "-c", SLOW_QUERY, "postgres")
        output = fast.communicate(timeout=120)[0]
        check("actually processed: 10000/10000" in output, f"pgbench: {output}")
        bundles = daemon.wait_for_bundles(1)
        check(len(bundles) == 1, f"{len(bundles)} captures for one slow query")
        counted = daemon.event("query")
        check(
            counted["runs"] > 10000 and counted["delays"] == 1 and counted["lost"] == 0,
            f"{counted}",
        )
        check_trace(bundles[0])
        delays = report(bundles[0])["delays"]
        check(len(delays) == 1, f"{len(delays)} delays")
        delay = delays[0]
        check(
            delay["process"] == "postgres" and delay["program"] == str(BIN / "postgres"),
            f"{delay['process']} {delay['program']}",
        )
        installed = subprocess.run(
            ["dpkg-query", "-W", "-f=${Version}", "postgresql-15"],
            capture_output=True,
            text=True,
            check=True,
        )
        check(
            delay["program_version"] == installed.stdout,
            f"{delay['program_version']} is installed as {installed.stdout}",
        )
        check(
            [stage["name"] for stage in delay["stages"] if stage["name"]] == list(STAGES),
            f"{delay['stages']}",
        )
        check(delay["user"] == "postgres", f"user {delay['user']}")
        logged_ms = postgres.logged_duration_ms()
        # The marker comes after the log line, and another process may have the CPU in between.
        more_ms = delay["duration_ns"] / 1e6 - logged_ms
        check(
            -1 < more_ms < 1 + delay["split"]["runnable_ns"] / 1e6,
            f"{more_ms} ms more than PostgreSQL says; {delay['split']}",
        )
        names = [function["name"] for function in delay["functions"]]
        check(
            any(name.startswith("pg_sleep") or "WaitLatch" in name for name in names),
            f"pg_sleep is not among {names}",
        )


if __name__ == "__main__":
    run(slow_query_among_fast_ones)
