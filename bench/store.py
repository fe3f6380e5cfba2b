#!/usr/bin/env python3
"""Throughput and response times of the server's store: store.py PATH_OF_store_bench [RUNS of the
page, 10000000]. Uses SQLite in a temporary folder, and a separate PostgreSQL server that syncs
every commit. Prints one JSON object."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

POSTGRES = "/usr/lib/postgresql/15/bin"


def bench(program: str, *arguments: str) -> dict:
    done = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def as_postgres(*command: str) -> None:
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run(
        [*prefix, *command],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )


def postgres(program: str, folder: str) -> dict:
    if not os.path.exists(POSTGRES + "/initdb"):
        return {"skipped": "PostgreSQL 15 is not installed"}
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    data = folder + "/data"
    as_postgres(POSTGRES + "/initdb", "-A", "trust", "-U", "lagtrap", "-D", data)
    settings = f"-k {folder} -c listen_addresses= -c shared_buffers=1GB -c max_wal_size=4GB"
    as_postgres(
        POSTGRES + "/pg_ctl", "-D", data, "-w", "-l", folder + "/log", "-o", settings, "start"
    )
    try:
        answers = {}
        for threads in (1, 2, 4):
            name = f"bench{threads}"
            as_postgres(POSTGRES + "/createdb", "-h", folder, "-U", "lagtrap", name)
            address = f"postgresql://lagtrap@/{name}?host={folder}"
            answers[f"{threads}_connections"] = bench(
                program, "write", address, "1000000", str(threads)
            )
        return answers
    finally:
        as_postgres(POSTGRES + "/pg_ctl", "-D", data, "-m", "fast", "-w", "stop")


def measure(program: str, runs: str) -> dict:
    figures = {}
    for name, figure in (
        (
            "sqlite_write",
            lambda folder: bench(program, "write", folder + "/w.sqlite", "1000000", "2"),
        ),
        ("postgres_write", lambda folder: postgres(program, folder)),
        ("sqlite_page", lambda folder: bench(program, "page", folder + "/p.sqlite", runs)),
    ):
        folder = tempfile.mkdtemp(prefix="lagtrap-bench-")
        try:
            figures[name] = figure(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return figures


def main() -> None:
    print(
        json.dumps(measure(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "10000000"), indent=2)
    )


if __name__ == "__main__":
    main()
