"""Days of use in hours: daemon, uploader and server at work, with breaches, reloads and
processes that come and go.

    ./dev soak [--minutes N]        120 minutes by default

Every minute (of a long run) a program is too slow once; all its other runs are recorded too. A
shell loop starts ten short-lived programs a second. Now and then the settings are reloaded: with
another threshold, and from an invalid file. At the end, every slow run must be in a bundle on
the server, every other run must be there too, and the spool must be empty. Each idle program
must have no more descriptors than it ever had in the first half, and its memory must be flat: it
has grown by less than 2 % between the beginning and the end of the second half. The server's
database grows, so its cache is limited to a size that is soon full. In runs under an hour memory
is still settling, so it is shown and not judged.

Prints a line for each check and one line of JSON at the end. Exits with 1 if any of this does
not hold.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import lagtrap_test as parts  # noqa: E402  (the path is set above)
from lagtrap_server import Server  # noqa: E402

CHURN = "while :; do for i in 1 2 3 4 5; do /bin/true; /bin/ls / >/dev/null; done; sleep 1; done"
WRONG = "<lagtrap version='1'><event name='work' threshold='-1ms'/></lagtrap>"
LONG_MINUTES = 60
MOST_GROWTH = 0.02
STORE_CACHE = "2MiB"
UNITS = parts.SOURCE_DIR / "packaging" / "systemd"
EVENT = "work"
PROGRAMS = ("daemon", "uploader", "server")


def heap_of_units():
    """The C library's heap setting, on which the three units agree."""
    settings = {
        tuple(
            re.findall(
                r"^Environment=(GLIBC_TUNABLES)=(.+)$",
                (UNITS / f"{unit}.service").read_text(),
                re.M,
            )
        )
        for unit in ("lagtrapd", "lagtrap-uploader", "lagtrap-server")
    }
    parts.check(
        len(settings) == 1 and () not in settings,
        f"the units differ, or say nothing of the heap: {settings}",
    )
    return dict(settings.pop())


# How many sockets lagtrapd has for each helper (at most three and four of them).
SOCKETS_OF_HELPERS = {"lagtrap-reader": 2, "lagtrap-inspect": 1}


def sockets_of_helpers(pid):
    count = 0
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in children.read_text().split():
                count += SOCKETS_OF_HELPERS.get(
                    pathlib.Path(f"/proc/{child}/comm").read_text().strip(), 0
                )
    return count


def kinds_of_descriptors(pid):
    """The descriptors that a process has open, by kind. Excludes those that stay as numerous as
    at the busiest moment, up to a limit: the store's connections to database files (one for each
    parallel query, at most eight), and the sockets to helpers."""
    kinds = collections.Counter()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(entry.path)
            if ".sqlite" not in target:
                kinds[re.sub(r"\d+", "N", target)] += 1
    kinds["socket:[N]"] -= sockets_of_helpers(pid)
    return kinds


def process_facts(pid):
    """Resident bytes of a process without those of mapped files, and its open descriptors."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    kinds = kinds_of_descriptors(pid)
    return {
        "memory": 1024 * int(re.search(r"RssAnon:\s+(\d+)", status).group(1)),
        "descriptors": kinds.total(),
        "kinds": kinds,
    }


def events(threshold):
    return parts.library_event(
        EVENT,
        parts.PLANTED,
        threshold,
        "2s",
        ("prepare", "execute", "finish"),
        attributes='record="runs" stacks="markers"',
    )


def load_settings(daemon):
    loaded = daemon.status()["settings"]["loaded_realtime_ns"]
    daemon.process.send_signal(signal.SIGHUP)
    parts.wait_for(
        lambda: daemon.status()["settings"]["loaded_realtime_ns"] != loaded,
        "the settings to be taken: " + daemon.log(),
    )


class Soak:
    def __init__(self, daemon, server, uploader, minutes):
        self.daemon, self.server, self.uploader = daemon, server, uploader
        self.long = minutes >= LONG_MINUTES
        self.begun = time.monotonic()
        self.length_s = minutes * 60
        self.between_delays_s = 60 if self.long else 10
        self.slow_pids, self.looks = [], []
        self.reloads = self.runs = 0

    def passed_s(self):
        return time.monotonic() - self.begun

    def make_delay(self):
        slow = subprocess.run(
            [
                parts.PLANTED,
                "--kind",
                ("sleep", "lock", "cpu")[len(self.slow_pids) % 3],
                "--fast",
                "2000",
                "--gap-us",
                "500",
                "--slow-ms",
                "400",
            ],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        said = json.loads(slow.stdout.strip().splitlines()[-1])
        self.slow_pids.append(said["pid"])
        self.runs += said["runs"]

    def reload(self):
        """The settings with another threshold; every third time an invalid file, and then the
        valid one again."""
        self.reloads += 1
        if self.reloads % 3 == 0:
            right = self.daemon.settings_path.read_text()
            self.daemon.settings_path.write_text(WRONG)
            self.daemon.process.send_signal(signal.SIGHUP)
            parts.wait_for(
                lambda: self.daemon.status()["settings"]["reload_error"],
                "the wrong settings to be refused",
            )
            self.daemon.settings_path.write_text(right)
        else:
            self.daemon.write_settings(events(("200ms", "210ms")[self.reloads % 2]))
        load_settings(self.daemon)

    def facts(self):
        pids = (self.daemon.process.pid, self.uploader.pid, self.server.process.pid)
        return {program: process_facts(pid) for program, pid in zip(PROGRAMS, pids)}

    def look(self):
        """Just before the next delay, because storing a bundle temporarily takes memory."""
        facts = self.facts()
        self.looks.append((self.passed_s(), facts))
        status = self.daemon.status()
        shown = ", ".join(
            f"{name} {each['memory'] / 2**20:.1f} MiB {each['descriptors']} fd"
            for name, each in facts.items()
        )
        print(
            f"{self.passed_s():6.0f} s  {len(self.slow_pids)} slow runs, "
            f"{status['captures']['done']} captures, {shown}",
            flush=True,
        )

    def work(self):
        while self.passed_s() < self.length_s:
            due = self.passed_s() + self.between_delays_s
            self.make_delay()
            captures = len(self.slow_pids)
            self.daemon.wait_for_bundles(captures, seconds=600)
            if captures % 2 == 0:
                self.reload()
            time.sleep(max(0.0, due - self.passed_s()))
            self.look()

    def growth(self):
        """For each program, the median of its memory in the last quarter of the second half,
        relative to that in the first."""
        grown = {}
        half = [look for look in self.looks if look[0] >= self.length_s / 2]
        count = max(1, len(half) // 4)
        for program in PROGRAMS:
            first, last = (
                statistics.median(facts[program]["memory"] for _, facts in part)
                for part in (half[:count], half[-count:])
            )
            grown[program] = {"from": first, "to": last, "growth": round(last / first - 1, 4)}
        return grown

    def check_descriptors(self):
        """Descriptors come and go with connections, captures and helpers. At rest there are no
        more than there ever were in the first half: a leak of one per capture or reload would
        exceed that."""
        half = [facts for at, facts in self.looks if at < self.length_s / 2]
        fullest = {
            program: max((facts[program] for facts in half), key=lambda facts: facts["descriptors"])
            for program in PROGRAMS
        }
        most = {program: facts["descriptors"] for program, facts in fullest.items()}

        def more():
            return {
                program: (
                    f"{most[program]}, then {now['descriptors']}: "
                    f"{now['kinds'] - fullest[program]['kinds']} more, "
                    f"{fullest[program]['kinds'] - now['kinds']} less"
                )
                for program, now in self.facts().items()
                if now["descriptors"] > most[program]
            }

        with contextlib.suppress(parts.TestFailure):
            parts.wait_for(lambda: not more(), "descriptors to be closed", 120)
        leaked = more()
        parts.check(not leaked, f"descriptors leaked: {leaked}")
        return most

    def check_nothing_lost(self):
        """Every slow run is in a bundle on the server, and the spool is empty."""
        captures = self.daemon.status()["captures"]["done"]
        rows = self.server.parsed_bundles(captures, seconds=300)
        parts.check(
            len(rows) == captures, f"{captures} captures, {len(rows)} bundles on the server"
        )
        bad = [row for row in rows if row["bad_reason"]]
        parts.check(not bad, f"bundles that cannot be read: {bad}")
        seen = {
            delay["pid"]
            for row in rows
            for delay in self.server.get(f"/api/v1/bundles/{row['digest']}/delays")["delays"]
        }
        missing = [pid for pid in self.slow_pids if pid not in seen]
        parts.check(not missing, f"slow runs in no bundle: processes {missing}")
        parts.check(not self.daemon.bundles(), "bundles are left in the spool")
        return captures

    def check_runs(self):
        batches = self.daemon.status()["batches"]
        parts.check(
            batches["lost_runs"] == 0 and batches["failed"] == 0, f"runs were lost: {batches}"
        )

        def stored():
            return self.server.get(f"/api/v1/events/{EVENT}/runs?limit=1&dirty=1")["total"]

        with contextlib.suppress(parts.TestFailure):
            parts.wait_for(
                lambda: stored() >= self.runs, "all recorded runs to be on the server", 120
            )
        parts.check(
            stored() == self.runs,
            f"{self.runs} runs were made, {stored()} are on the server; "
            f"{self.daemon.status()['batches']}, "
            f"{self.daemon.event(EVENT)}",
        )
        return self.runs


@contextlib.contextmanager
def running(*command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--minutes", type=float, default=120)
    minutes = arguments.parse_args().minutes
    parts.require_bpf()
    os.environ.update(heap_of_units())
    more = '<upload url="{}"/><runs limit-per-second="100000" batch-interval="2s"/>'
    with (
        Server("--store-cache", STORE_CACHE) as server,
        parts.Daemon(
            events("200ms"),
            more=more.format(server.url),
            recording='cool-down="100ms" captures-per-hour="3600"',
        ) as daemon,
        open(daemon.folder / "uploader.log", "wb") as log,
        running(
            parts.UPLOADER, "--settings", daemon.settings_path, stdout=log, stderr=log
        ) as uploader,
        running("/bin/sh", "-c", CHURN),
    ):
        soak = Soak(daemon, server, uploader, minutes)
        soak.work()
        outcome = {
            "minutes": round(soak.passed_s() / 60, 1),
            "slow_runs": len(soak.slow_pids),
            "reloads": soak.reloads,
            "captures": soak.check_nothing_lost(),
            "runs": soak.check_runs(),
            "descriptors": soak.check_descriptors(),
            "memory": soak.growth(),
        }
    print(json.dumps(outcome))
    grown = {
        program: part for program, part in outcome["memory"].items() if part["growth"] > MOST_GROWTH
    }
    parts.check(not soak.long or not grown, f"grown by more than {MOST_GROWTH:.0%}: {grown}")


if __name__ == "__main__":
    main()
