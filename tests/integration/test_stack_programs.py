"""Call stacks of Debian's programs at work, and what the daemon keeps of processes that come and
go."""

import contextlib
import pathlib
import re
import shutil
import subprocess

from lagtrap_test import check, run, wait_for
from stack_recorder import Load, Recorder, family, pids_of
from test_postgresql import BIN as POSTGRES_BIN, Postgres


# ---- processes that come and go ----


class Storm:
    """Starts 200 processes a second, like a busy shell script, until it is told to stop."""

    SCRIPT = (
        "import os, time\nprint('ready', flush=True)\nbegun, made = time.monotonic(), 0\n"
        "while True:\n"
        "    for child in [os.posix_spawn('/bin/true', ['true'], {}) for _ in range(10)]: "
        "os.waitpid(child, 0)\n"
        "    made += 10\n    time.sleep(max(0, begun + made / 200 - time.monotonic()))\n"
    )

    def __enter__(self):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", self.SCRIPT], stdout=subprocess.PIPE, text=True
        )
        check(self.process.stdout.readline() == "ready\n", "the storm does not begin")
        self.before = self.forks()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    @staticmethod
    def forks():
        return int(
            re.search(r"^processes (\d+)", pathlib.Path("/proc/stat").read_text(), re.MULTILINE)[1]
        )

    def wait(self, count):
        wait_for(lambda: self.forks() - self.before >= count, f"{count} processes")


def memory_of(pid, unwinder):
    """(resident bytes, bytes of BPF maps and programs) of the daemon without the regions for
    unwind tables, whose number depends on programs that others run meanwhile. `forgotten` bounds
    their content."""
    resident = (
        int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
        * 1024
    )
    locked = {}
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        text = entry.read_text()
        number = re.search(r"^(map_id|prog_id):\s*(\d+)", text, re.MULTILINE)
        size = re.search(r"^memlock:\s*(\d+)", text, re.MULTILINE)
        if number and size:
            locked[number[1], number[2]] = int(size[1])
    return resident, sum(locked.values()) - unwinder["taken_bytes"]


MOST_GROWTH_RESIDENT, MOST_GROWTH_MAPS, MOST_PROCESSES_LEFT = 4 << 20, 1 << 20, 10
MOST_TABLES_LEFT = 10


def storm_of_processes():
    """Some thousand processes of a few milliseconds, between and during captures: nothing of
    them remains."""
    with Recorder(length="2s") as recorder:
        pid = recorder.process.pid

        def storm():
            with Storm() as load:
                load.wait(400)
                recorder.begin()
                capture = recorder.finish()
                load.wait(1000)
            return capture

        storm()  # what the daemon needs for any storm at all does not count
        settled = forgotten(recorder)
        resident, maps = memory_of(pid, settled)
        for _ in range(2):
            capture = storm()
        after = forgotten(recorder)
        grown_resident, grown_maps = (
            now - then for now, then in zip(memory_of(pid, after), (resident, maps))
        )
        print(
            f"  grown by {grown_resident} bytes resident, {grown_maps} of maps ({maps} before); "
            + ", ".join(
                f"{what} {settled[what]} then {after[what]}"
                for what in ("processes", "spaces", "tables", "table_bytes")
            )
        )
        check(
            grown_resident <= MOST_GROWTH_RESIDENT,
            f"the daemon has grown by {grown_resident} bytes",
        )
        check(grown_maps <= MOST_GROWTH_MAPS, f"its maps have grown by {grown_maps} bytes")
        check(after["lost"] == 0, f"{after['lost']} events lost")
        short_lived = [child for child in capture.parents if child not in capture.programs]
        complete, total, others = capture.share_complete(short_lived)
        print(
            f"  samples of processes begun in the capture: {complete} of {total} complete, "
            f"others {others}"
        )


def live_processes():
    """Processes with their own memory, so without kernel threads."""
    live = 0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                live += "VmSize" in (entry / "status").read_text()
    return live


def code_files():
    """How many files living processes have mapped as code."""
    files = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                files |= {
                    tuple(line.split(None, 5)[3:5])
                    for line in (entry / "maps").read_text(errors="replace").splitlines()
                    if line.split(None, 2)[1][2] == "x"
                }
    return len(files)


def forgotten(recorder):
    """The unwinder's status, once it knows no more processes than exist, and keeps no more
    tables than they need."""
    last = {}

    def few():
        last.update(recorder.unwinder())
        return (
            all(
                last[what] <= live_processes() + MOST_PROCESSES_LEFT
                for what in ("processes", "spaces")
            )
            and last["tables"] <= code_files() + MOST_TABLES_LEFT
        )

    try:
        wait_for(few, "the processes to be forgotten")
    except AssertionError as late:
        raise AssertionError(
            f"{late}: {live_processes()} live with code of {code_files()} files, the unwinder has "
            f"{last}"
        ) from None
    return last


# ---- Debian's own programs at work ----

PYTHON_LOAD = """
import hashlib, json, random, re, zlib
print("ready", flush=True)
random.seed(1)
words = ["%x" % random.getrandbits(40) for _ in range(3000)]
while True:
    text = json.dumps({
        word: [word, len(word), {"digest": hashlib.sha256(word.encode()).hexdigest()}]
        for word in words
    })
    found = re.findall(r'"([a-f]+[0-9]*)":', text)
    ordered = sorted(json.loads(text), key=lambda word: (word[::-1], len(word)))
    packed = zlib.compress(text.encode() + "".join(ordered + found).encode())
    assert zlib.decompress(packed)
"""
NODE_LOAD = """
console.log("ready");
function spin(depth) {
  if (depth) return spin(depth - 1) + 1;
  return JSON.stringify(Array.from({length: 200}, Math.random)).length;
}
for (;;) spin(30);
"""


def check_program(capture, name, pids, wanted):
    """Prints what share of a program's stacks is complete; fails if that is too little, or if
    frames are impossible."""
    shares = []
    for kinds in (("sample",), ("switch", "sleeping")):
        complete, total, others = capture.share_complete(pids, kinds)
        shares.append((kinds[0], complete, total))
        print(f"  {name}, {kinds[0]}: {complete} of {total} complete, others {others}", flush=True)
    impossible = []
    for stack in capture.stacks.values():
        if stack.pid in pids and not stack.by_frame_pointer and capture.not_called(stack):
            impossible.append(capture.describe(stack))
    print(f"  {name}: {len(impossible)} stacks with frames that no call leads to")
    if wanted:
        for kind, complete, total in shares:
            check(total > 0 or kind != "sample", f"{name} was not seen")
            check(
                complete >= wanted * total,
                f"{name}: {complete} of {total} stacks ({kind}) are complete",
            )
        check(
            not impossible,
            f"{name}: {len(impossible)} impossible stacks; the first:\n"
            + "\n".join(impossible[:2]),
        )


def postgresql():
    with Postgres() as postgres, Recorder() as recorder:
        work = postgres.command(
            POSTGRES_BIN / "pgbench", "-h", postgres.folder, "-n", "-c", 4, "-T", 600, "postgres"
        )
        sort = postgres.command(
            POSTGRES_BIN / "psql", "-h", postgres.folder, "-c", POSTGRES_SORT, "postgres"
        )
        with Load(*work, cwd="/") as pgbench, Load(*sort, cwd="/") as psql:
            wait_for(
                lambda: postgres.run(
                    POSTGRES_BIN / "psql", "-h", postgres.folder, "-Atc", POSTGRES_BUSY, "postgres"
                )
                > "4",
                "the sessions to be at work",
            )
            capture = recorder.record(pgbench, psql)
        check_program(capture, "PostgreSQL", pids_of(capture, POSTGRES_BIN / "postgres"), 0.95)


POSTGRES_SORT = (
    "select count(distinct md5(i::text)) from generate_series(1, 100000000) i where i::text ~ "
    "'[13]+$' and (i || '-' || i) like '%7%'"
)
POSTGRES_BUSY = "select count(*) from pg_stat_activity where state <> 'idle'"


def redis():
    with Recorder() as recorder, Load(
        "redis-server", "--port", "7381", "--save", "", cwd=recorder.folder
    ) as server:
        wait_for(
            lambda: subprocess.run(["redis-cli", "-p", "7381", "ping"], capture_output=True).stdout
            == b"PONG\n",
            "redis",
        )
        with Load(
            "redis-benchmark", "-p", "7381", "-t", "set,get,lpush,lrange_100,zadd", "-l", "-q"
        ) as load:
            capture = recorder.record(load, server)
        for name in ("redis-server", "redis-benchmark"):
            check_program(capture, name, pids_of(capture, shutil.which(name)), 0.95)


def python():
    with Recorder() as recorder, Load("/usr/bin/python3", "-c", PYTHON_LOAD) as load:
        load.ready()
        capture = recorder.record(load)
        check_program(capture, "python3", [load.process.pid], 0.95)


def node_and_git():
    """Shares that depend on JIT code and on hand-written assembly: shown, not judged."""
    with Recorder() as recorder:
        for options in ([], ["--perf-basic-prof", "--interpreted-frames-native-stack"]):
            with Load("node", *options, "-e", NODE_LOAD, cwd=recorder.folder) as load:
                load.ready()
                capture = recorder.record(load)
                check_program(capture, " ".join(["node", *options]), [load.process.pid], 0)
            for left in pathlib.Path("/tmp").glob(f"perf-{load.process.pid}.map"):
                left.unlink()
        repository = recorder.folder / "repository"
        subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
        stream = "".join(
            f"commit refs/heads/main\ncommitter a <a@b> {i} +0000\ndata 1\nc\n"
            f"M 644 inline f{i % 200}\n"
            f"data {len(text)}\n{text}\n"
            for i, text in ((i, f"{i * 7919}\n" * (i % 900 + 1)) for i in range(2000))
        )
        subprocess.run(
            ["git", "fast-import", "--quiet"], input=stream, text=True, check=True, cwd=repository
        )
        script = (
            "while git log -p --stat >/dev/null && git repack -adfq --window=50 && git gc -q; "
            "do :; done"
        )
        with Load("sh", "-c", script, cwd=repository) as load:
            capture = recorder.record(load)
            pids = family(capture, [load.process.pid]) | set(pids_of(capture, shutil.which("git")))
            check_program(capture, "git", pids, 0)


if __name__ == "__main__":
    run(storm_of_processes, postgresql, redis, python, node_and_git)
