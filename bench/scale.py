"""lagtrap-server under 1,000 machines, with PostgreSQL and S3, while somebody views pages:
uploaders' requests (TLS, one connection each, HEAD then PUT, a token each) at a fixed rate,
whatever the server does. Times start when a request was due, so they include queueing.

Each machine makes a run per second and sends them in batches of ten minutes: at 10,000 runs a
second, an hour of the machines passes in six minutes.

By itself: scale.py [SECONDS] [RUNS A SECOND] [BUNDLES A SECOND]; without arguments the hour: 360
s at 10,000 and 10.
"""

import collections
import concurrent.futures
import contextlib
import hashlib
import http.client
import io
import json
import math
import os
import pathlib
import pwd
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse

BUILD_DIR = pathlib.Path(os.environ["LAGTRAP_BUILD_DIR"])
SOURCE_DIR = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE_DIR / "tests" / "integration"))
import lagtrap_test as parts  # noqa: E402

SERVER, MAKE_RUNS = (BUILD_DIR / "server" / name for name in ("lagtrap-server", "make_runs"))
RADOSGW = SOURCE_DIR / "tests" / "integration" / "radosgw.sh"
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
MACHINES, RUNS_OF_BATCH, EVENTS = 1000, 600, 20
TICKS = os.sysconf("SC_CLK_TCK")
PAGES = {
    "overview": "/api/v1/overview?from={day}&to={now}&limit=200",
    "events": "/api/v1/events?from={day}&limit=100",
    "an event": "/api/v1/events/event-3/summary?from={day}",
    "its runs": "/api/v1/events/event-3/runs?from={day}&limit=200",
    "its trend": "/api/v1/events/event-3/trend?from={day}&to={now}",
    "its delays": "/api/v1/delays?event=event-3&from={day}&limit=100",
    "known causes": "/api/v1/causes",
    "bundles": "/api/v1/bundles?limit=100",
}


@contextlib.contextmanager
def postgres(folder):
    """Starts a PostgreSQL that syncs every commit; returns its address and the ancestor of all
    its processes."""
    owner = pwd.getpwnam("postgres")
    os.chown(folder, owner.pw_uid, -1)

    def run(*command):
        subprocess.run(
            ["runuser", "-u", "postgres", "--", *command],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    data = folder / "data"
    run(POSTGRES / "initdb", "-A", "trust", "-U", "lagtrap", "-D", data)
    run(
        POSTGRES / "pg_ctl",
        "-D",
        data,
        "-w",
        "-l",
        folder / "log",
        "-o",
        f"-k {folder} -c listen_addresses= -c shared_buffers=1GB -c max_wal_size=4GB",
        "start",
    )
    try:
        run(POSTGRES / "createdb", "-h", folder, "-U", "lagtrap", "lagtrap")
        yield f"postgresql://lagtrap@/lagtrap?host={folder}", int(
            (data / "postmaster.pid").read_text().split()[0]
        )
    finally:
        run(POSTGRES / "pg_ctl", "-D", data, "-m", "immediate", "stop")


@contextlib.contextmanager
def object_store(folder):
    done = subprocess.run([RADOSGW, "start", folder], capture_output=True, text=True, check=False)
    try:
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        address = done.stdout.strip()
        subprocess.run(
            [
                "curl",
                "-fsS",
                "--aws-sigv4",
                "aws:amz:us-east-1:s3",
                "-u",
                "AKTEST:SKTEST",
                "-X",
                "PUT",
                "-H",
                "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                f"{address}/lagtrap",
            ],
            check=True,
            capture_output=True,
        )
        yield address, [int(path.read_text()) for path in folder.glob("*.pid")]
    finally:
        subprocess.run([RADOSGW, "stop", folder], check=False)


def certificate(folder):
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "certificate.pem",
        ],
        check=True,
        capture_output=True,
    )
    return folder / "certificate.pem", folder / "key.pem"


class Server:
    def __init__(self, folder, store, blobs):
        self.certificate, key = certificate(folder)
        data, log = folder / "data", folder / "server.log"
        self.admin = subprocess.run(
            [
                SERVER,
                "--data",
                data,
                "--store",
                store,
                "token",
                "add",
                "bench",
                "--scope",
                "admin",
                "--quiet",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "AKTEST",
            "AWS_SECRET_ACCESS_KEY": "SKTEST",
        }
        with open(log, "w", encoding="utf8") as errors:
            self.process = subprocess.Popen(
                [
                    SERVER,
                    "--listen",
                    "127.0.0.1:0",
                    "--data",
                    data,
                    "--store",
                    store,
                    "--blobs",
                    blobs,
                    "--tls-certificate",
                    self.certificate,
                    "--tls-key",
                    key,
                    "--requests-per-second",
                    "0",
                    "--max-connections-of-address",
                    "2000",
                ],
                stderr=errors,
                env=environment,
            )
        while not (found := re.search(r"listening on https://127.0.0.1:(\d+)", log.read_text())):
            if self.process.poll() is not None:
                raise RuntimeError(log.read_text())
            time.sleep(0.05)
        self.port = int(found[1])
        self.context = ssl.create_default_context(cafile=self.certificate)

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)

    def ask(self, connection, method, path, token, body=None, **headers):
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", **headers})
        response = connection.getresponse()
        return response.status, response.read()

    def metric(self, name):
        text = self.ask(self.connect(), "GET", "/metrics", self.admin)[1].decode()
        return int(re.search(rf"^{name} (\d+)$", text, re.M)[1])

    def tokens(self):
        """One for each machine, bound to its host."""
        connection = self.connect()
        made = []
        for number in range(MACHINES):
            wanted = json.dumps(
                {"name": f"machine-{number}", "scope": "upload", "host": f"machine-{number}"}
            )
            status, body = self.ask(
                connection,
                "POST",
                "/api/v1/tokens",
                self.admin,
                wanted,
                **{"Content-Type": "application/json"},
            )
            if status != 201:
                raise RuntimeError(body)
            made.append(json.loads(body)["token"])
        return made


def record(folder):
    """The parts (name and bytes) of a bundle that the daemon records here: 300 ms waiting for a
    lock, in a trace of a second."""
    event = parts.library_event(
        "work",
        parts.PLANTED,
        threshold="50ms",
        trace_length="1s",
        stages=("prepare", "execute", "finish"),
    )
    with parts.Daemon(event) as daemon:
        with parts.Watched(
            parts.PLANTED, "--kind", "lock", "--fast", "1000", "--slow-ms", "300", "--wait"
        ) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        unpacked = subprocess.run(["zstd", "-dc", bundle], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        return [(entry.name, archive.extractfile(entry).read()) for entry in archive]


def pack(path, members, session, host):
    """The same recording as if from another machine."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            if name == "system.xml":
                content = re.sub(
                    rb'( session=")[^"]*', rb"\g<1>" + session.encode(), content, count=1
                )
                content = re.sub(rb'( host=")[^"]*', rb"\g<1>" + host.encode(), content, count=1)
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    subprocess.run(["zstd", "-q", "-1", "-o", path], input=written.getvalue(), check=True)
    return path


def make_uploads(folder, batches, bundles):
    """The machines' uploads: (kind, machine, file), each once."""
    since_s = int(time.time()) - RUNS_OF_BATCH * math.ceil(batches / MACHINES)
    recording = record(folder)

    def batch(number):
        machine, path = number % MACHINES, folder / f"{number}.runs"
        subprocess.run(
            [
                MAKE_RUNS,
                f"machine-{machine}",
                f"event-{number % EVENTS}",
                str(RUNS_OF_BATCH),
                "0",
                str(since_s + number // MACHINES * RUNS_OF_BATCH),
                "0",
                path,
            ],
            check=True,
        )
        return "batches", machine, path

    def bundle(number):
        machine = number * 7 % MACHINES
        path = pack(
            folder / f"{number}.bundle",
            recording,
            f"00000000-0000-4000-8000-{number:012}",
            f"machine-{machine}",
        )
        return "bundles", machine, path

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(batch, range(batches))), list(pool.map(bundle, range(bundles)))


def cpu_seconds(roots):
    """CPU time of these processes, their children, and children that have ended."""
    parents, times = collections.defaultdict(list), {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            pid = int(stat.parent.name)
            parents[int(fields[1])].append(pid)
            times[pid] = sum(map(int, fields[11:15])) / TICKS
    total, left = 0.0, list(roots)
    while left:
        pid = left.pop()
        total += times.get(pid, 0)
        left += parents[pid]
    return total


def memory_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return (
        sum(int(re.search(rf"{name}:\s+(\d+)", text)[1]) for name in ("RssAnon", "RssShmem")) / 1024
    )


class Load:
    """Sends each upload when it is due."""

    def __init__(self, server, tokens):
        self.server, self.tokens = server, tokens
        self.took_s = {"batches": [], "bundles": []}
        self.refused = collections.Counter()
        self.lock = threading.Lock()

    def send(self, due_s, upload):
        kind, machine, path = upload
        content = path.read_bytes()
        address = f"/api/v1/{kind}/{hashlib.sha256(content).hexdigest()}"
        outcome = None
        try:
            with contextlib.closing(self.server.connect()) as connection:
                outcome, _ = self.server.ask(connection, "HEAD", address, self.tokens[machine])
                if outcome == 404:
                    outcome, _ = self.server.ask(
                        connection,
                        "PUT",
                        address,
                        self.tokens[machine],
                        content,
                        **{"Content-Type": "application/zstd"},
                    )
        except (OSError, http.client.HTTPException) as error:
            outcome = type(error).__name__
        with self.lock:
            if outcome == 201:
                self.took_s[kind].append(time.monotonic() - due_s)
            else:
                self.refused[outcome] += 1

    def run(self, batches, bundles, seconds):
        """Sends both kinds, spread evenly over the time; returns when all have been answered,
        with the time that took."""
        begun = time.monotonic()
        due = sorted(
            [(number * seconds / len(batches), upload) for number, upload in enumerate(batches)]
            + [(number * seconds / len(bundles), upload) for number, upload in enumerate(bundles)],
            key=lambda entry: entry[0],
        )
        with concurrent.futures.ThreadPoolExecutor(128) as pool:
            for after_s, upload in due:
                time.sleep(max(0.0, begun + after_s - time.monotonic()))
                pool.submit(self.send, begun + after_s, upload)
        return time.monotonic() - begun


class Reader:
    """Requests a page each half second, one after the other."""

    def __init__(self, server):
        self.server, self.took_s, self.memory, self.stopping = (
            server,
            collections.defaultdict(list),
            [],
            threading.Event(),
        )
        self.thread = threading.Thread(target=self.work)

    def work(self):
        connection = self.server.connect()
        while not self.stopping.is_set():
            for name, path in PAGES.items():
                now_s = int(time.time())
                begun = time.monotonic()
                status, body = self.server.ask(
                    connection,
                    "GET",
                    path.format(now=f"{now_s}000000000", day=f"{now_s - 86400}000000000"),
                    self.server.admin,
                )
                if status != 200:
                    raise RuntimeError(f"{name}: {status} {body[:200]}")
                self.took_s[name].append(time.monotonic() - begun)
                self.memory.append(memory_mib(self.server.process.pid))
                if self.stopping.wait(0.5):
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


def at(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1e3


def measure(seconds, runs_per_second, bundles_per_second):
    """Returns figures by name."""
    with contextlib.ExitStack() as stack:
        folders = []
        for _ in range(3):
            folders.append(pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-scale-")))
            stack.callback(shutil.rmtree, folders[-1], ignore_errors=True)
        work, database, objects = folders
        store, postmaster = stack.enter_context(postgres(database))
        s3, gateway = stack.enter_context(object_store(objects))
        server = Server(work, store, f"s3://lagtrap?endpoint={urllib.parse.quote(s3, safe=':/')}")
        stack.callback(lambda: (server.process.terminate(), server.process.wait()))
        batches, bundles = make_uploads(
            work, runs_per_second * seconds // RUNS_OF_BATCH, bundles_per_second * seconds
        )
        load = Load(server, server.tokens())
        processes = {
            "server": [server.process.pid],
            "PostgreSQL": [postmaster],
            "S3": gateway,
            "generator": [os.getpid()],
        }
        before = {name: cpu_seconds(pids) for name, pids in processes.items()}
        with Reader(server) as reader:
            took_s = load.run(batches, bundles, seconds)
            cpu = {
                name: (cpu_seconds(pids) - before[name]) / took_s
                for name, pids in processes.items()
            }
            # The generator is the ancestor of the server.
            cpu["generator"] -= cpu["server"]
            begun = time.monotonic()
            while (
                server.metric("lagtrap_server_bundles_parsed_total") < len(load.took_s["bundles"])
                and time.monotonic() - begun < 600
            ):
                time.sleep(0.5)
            caught_up_s = time.monotonic() - begun
        stored = server.metric("lagtrap_server_runs")
        if (
            stored != len(load.took_s["batches"]) * RUNS_OF_BATCH
            or server.metric("lagtrap_server_bundles_bad") > 0
        ):
            raise RuntimeError(
                f"{stored} runs are stored, {server.metric('lagtrap_server_bundles_bad')} bundles "
                "cannot be read"
            )
        quarter = max(1, len(reader.memory) // 4)
        return {
            "seconds": took_s,
            "asked_runs_per_second": runs_per_second,
            "asked_bundles_per_second": bundles_per_second,
            "runs_per_second": len(load.took_s["batches"]) * RUNS_OF_BATCH / took_s,
            "bundles_per_second": len(load.took_s["bundles"]) / took_s,
            "bundle_bytes": statistics.median(path.stat().st_size for _, _, path in bundles),
            "refused": dict(load.refused),
            "upload_ms": {
                kind: [round(at(values, share)) for share in (0.5, 0.99, 1)]
                for kind, values in load.took_s.items()
            },
            "page_ms": {
                name: [round(at(values, share)) for share in (0.5, 0.99, 1)]
                for name, values in reader.took_s.items()
            },
            "memory_mib": [
                round(statistics.median(part))
                for part in (reader.memory[:quarter], reader.memory[-quarter:])
            ],
            "cpus": {name: round(value, 2) for name, value in cpu.items()},
            "caught_up_s": round(caught_up_s, 1),
        }


def bench(row):
    figures = measure(360, 10_000, 10)
    row(
        "runs; bundles acknowledged a second",
        f"{figures['runs_per_second']:,.0f}; {figures['bundles_per_second']:.1f}",
        wanted="10,000; 10",
    )
    for kind, values in figures["upload_ms"].items():
        row(
            f"{kind}, from when they are due: p50, p99, longest",
            ", ".join(f"{value} ms" for value in values),
        )
    slowest = max(figures["page_ms"].items(), key=lambda entry: entry[1][1])
    row(f"slowest page ({slowest[0]}): p99", f"{slowest[1][1]} ms", wanted="under 1,000 ms")
    row(
        "server memory, first and last quarter",
        "{} and {} MiB".format(*figures["memory_mib"]),
        wanted="constant",
    )
    row("last bundle analysed, after the last upload", f"{figures['caught_up_s']} s", wanted="0 s")
    row("CPUs used", ", ".join(f"{name} {value}" for name, value in figures["cpus"].items()))


if __name__ == "__main__":
    print(
        json.dumps(
            measure(
                *(
                    int(text)
                    for text in (sys.argv[1:] + ["360", "10000", "10"][len(sys.argv) - 1 :])
                )
            ),
            indent=2,
        )
    )
