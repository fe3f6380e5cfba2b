"""Throughput and response times of lagtrap-server: uploads over loopback, runs, a page over many
runs, causes."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import store

BUILD_DIR = pathlib.Path(os.environ["LAGTRAP_BUILD_DIR"])
UPLOADS, UPLOAD_BYTES, AT_ONCE = 120, 8 << 20, 8
BATCHES = 3000


@contextlib.contextmanager
def running(folder, *options):
    log = folder / f"log-{len(list(folder.iterdir()))}"
    with open(log, "w") as errors:
        process = subprocess.Popen(
            [
                BUILD_DIR / "server" / "lagtrap-server",
                "--listen",
                "127.0.0.1:0",
                "--data",
                folder / f"data-{log.name}",
                "--parsers",
                "0",
                "--requests-per-second",
                "0",
                *options,
            ],
            stderr=errors,
        )
    try:
        while not (found := re.search(r"listening on (https?)://127.0.0.1:(\d+)", log.read_text())):
            if process.poll() is not None:
                raise RuntimeError(f"the server ended: {log.read_text()}")
            time.sleep(0.02)
        yield process, found[1], int(found[2])
    finally:
        process.terminate()
        process.wait()


def make_files(folder):
    """Incompressible files and their digests."""
    files = []
    for number in range(UPLOADS):
        content = os.urandom(UPLOAD_BYTES)
        path = folder / f"upload-{number}"
        path.write_bytes(content)
        files.append((path, hashlib.sha256(content).hexdigest()))
    return files


def upload(files, scheme, port):
    """Bytes per second of curl sending all files, several in parallel."""
    lines = []
    for path, digest in files:
        lines += [
            f'url = "{scheme}://127.0.0.1:{port}/api/v1/bundles/{digest}"',
            f'upload-file = "{path}"',
            'output = "/dev/null"',
            'header = "Expect:"',
            "insecure",
            "fail",
            "next",
        ]
    settings = "\n".join(lines[:-1])
    begun = time.monotonic()
    subprocess.run(
        [
            "curl",
            "--no-progress-meter",
            "--parallel",
            "--parallel-max",
            str(AT_ONCE),
            "--config",
            "-",
        ],
        input=settings,
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return sum(path.stat().st_size for path, _ in files) / (time.monotonic() - begun)


def copy_and_hash(files, folder):
    """The peer: cp of the same files, then sha256sum and sync, one pass each, two in parallel."""
    begun = time.monotonic()

    def one(path):
        copy = folder / (path.name + ".copy")
        subprocess.run(["cp", path, copy], check=True)
        subprocess.run(["sha256sum", copy], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["sync", copy], check=True)
        copy.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, [path for path, _ in files]))
    return sum(path.stat().st_size for path, _ in files) / (time.monotonic() - begun)


def memory_mib(process, name):
    return (
        int(
            re.search(rf"{name}:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[
                1
            ]
        )
        / 1024
    )


def many_at_once(process, port, count=200):
    """Peak memory with `count` uploads open at once, each of which then succeeds."""
    content = os.urandom(1 << 20)
    bodies = [content + number.to_bytes(4, "little") for number in range(count)]
    connections = []
    for body in bodies:
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(
            (
                f"PUT /api/v1/bundles/{hashlib.sha256(body).hexdigest()} HTTP/1.1\r\n"
                "Host: localhost\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            ).encode()
            + body[: len(body) // 2]
        )
        connections.append(connection)
    for connection, body in zip(connections, bodies):
        connection.sendall(body[len(body) // 2 :])
    for connection in connections:
        answer = connection.recv(64)
        if b" 201 " not in answer:
            raise RuntimeError(f"an upload was answered {answer!r}")
        connection.close()
    return memory_mib(process, "VmHWM")


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
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "certificate.pem",
        ],
        check=True,
        capture_output=True,
    )
    return "--tls-certificate", folder / "certificate.pem", "--tls-key", folder / "key.pem"


def bench_uploads(row):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = make_files(folder)
        peer = copy_and_hash(files, folder)
        with running(folder) as (_, scheme, port):
            plain = upload(files, scheme, port)
        with running(folder, *certificate(folder)) as (_, scheme, port):
            secure = upload(files, scheme, port)
        with running(folder) as (process, _, port):
            memory = many_at_once(process, port)
    for what, rate, wanted in (("plain", plain, "300 MB/s"), ("TLS", secure, "200 MB/s")):
        row(
            f"bundles uploaded by curl over loopback, {AT_ONCE} at once: {what}",
            f"{rate / 1e6:.0f} MB/s",
            f"`cp`, `sha256sum` and `sync` of the same files: {peer / 1e6:.0f} MB/s",
            f"{rate / peer:.2f}",
            wanted,
        )
    row("memory with 200 uploads at once", f"{memory:.0f} MiB", wanted="under 64 MB")


def bench_store(row):
    program = str(BUILD_DIR / "server" / "store" / "store_bench")
    figures = store.measure(program, "10000000")
    row(
        "durable runs stored a second: SQLite",
        f"{figures['sqlite_write']['runs_per_second']:,.0f}",
        wanted="30,000",
    )
    for connections, figure in figures["postgres_write"].items():
        row(
            f"durable runs stored a second: PostgreSQL, {connections.replace('_', ' ')}",
            f"{figure['runs_per_second']:,.0f}",
            wanted="150,000",
        )
    page = figures["sqlite_page"]
    row(
        "summary and newest 1,000 runs of an event, 10 million runs, SQLite, in memory",
        f"{page['first_answer_ms']:.0f} ms",
        wanted="under 300 ms",
    )


def bench_batches(row):
    """Batches over HTTP, at sizes as small and as large as machines send them. The server knows the
    names already."""
    program = BUILD_DIR / "server" / "store" / "batches_bench"

    def send(port, runs, batches):
        done = subprocess.run(
            [program, f"http://127.0.0.1:{port}", str(runs), str(batches), str(AT_ONCE)],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)["runs_per_second"]

    def cpu_s(process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")

    with tempfile.TemporaryDirectory() as name:
        with running(pathlib.Path(name)) as (process, _, port):
            send(port, 61, 1000)
            begun_s = cpu_s(process)
            small = send(port, 61, BATCHES)
            small_ms = (cpu_s(process) - begun_s) * 1000 / BATCHES
            large = send(port, 20_000, 20)
    row(
        f"runs a second in batches of 61 through HTTP, {AT_ONCE} senders, SQLite; the server's "
        "CPU time a batch",
        f"{small:,.0f}; {small_ms:.1f} ms",
        f"batches of 20,000: {large:,.0f}",
        f"{small / large:.2f}",
        "25,000",
    )


def bench_causes(row):
    done = subprocess.run(
        [BUILD_DIR / "server" / "reports" / "causes_bench", "20"], capture_output=True, text=True
    )
    size, *rates = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    row("causes: " + size.split(":")[0], size.split(": ")[1], wanted="under 2 s")
    for line in rates:
        row("causes: " + line[:44].strip(), line[44:].strip())


def bench_pages(row):
    weight = subprocess.run(
        [
            "node",
            "-e",
            "const z=require('zlib'),f=require('fs');let n=0;for(const p of "
            "f.readdirSync(process.argv[1],"
            "{recursive:true}))try{n+=z.gzipSync(f.readFileSync(process.argv[1]+'/'+p),"
            "{level:9}).length}catch{};console.log(n)",
            BUILD_DIR / "server" / "web" / "site" / "dist",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    row("all pages, gzip", f"{int(weight) / 1000:.0f} KB", wanted="under 150 KB")


def bench(row):
    bench_uploads(row)
    bench_pages(row)
    bench_causes(row)
    bench_store(row)
    bench_batches(row)
