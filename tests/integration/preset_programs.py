"""Debian programs for the presets, each with one slow operation planted."""

import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import typing

from lagtrap_test import check, wait_for
from machine_preset_programs import (
    HOG_NAME,
    PLANTED_MS,
    beside_its_cpu,
    count_requests_without_partner,
    stack_disks,
    start_systemd,
    start_unit,
    start_waiter,
    sync_file,
    take_its_cpu,
    write_much,
    write_to_frozen_disk,
)
from servers import PYTHON, MariaDb, Nginx, Postgres, Redis, SlowWebServer


@dataclasses.dataclass
class Trial:
    preset: str
    event: str
    prepare: typing.Callable  # World -> None: starts the program, before the daemon
    provoke: typing.Callable  # World -> None: makes the slow operation, from begin to end
    guilty: str  # pattern of a function, or of the cause
    attributes: str = ""  # of <use>
    least_ms: int = PLANTED_MS
    awaits_program: bool = True  # the event watches a file that a process has mapped
    scope: typing.Callable = lambda world: ""
    prefix: typing.Callable = lambda world: ()  # of the daemon's command
    # Percentage of runs whose begin or end may have no partner; the preset's limits say why.
    unpaired_percent: int = 5
    # Called before the daemon starts; the function it returns gives how many more of them the
    # machine made since, by its own count.
    count_unpaired: typing.Callable = lambda: lambda: 0


def python_program(world, lines):
    """A Python process that runs `lines` when told to, and then ends."""
    world.program = world.start(
        PYTHON,
        "-c",
        "import sys\n"
        + lines[0]
        + "\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        + lines[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    check(world.program.stdout.readline() == "ready\n", "the program did not start")


def let_go(world):
    world.program.stdin.write("go\n")
    world.program.stdin.flush()
    check(
        world.program.wait(timeout=120) == 0, f"the program ended with {world.program.returncode}"
    )


def own_process(world):
    """Other programs use the same library or interpreter."""
    return f'<scope pid="{world.program.pid}"/>'


def python_trial(preset, event, setup, work, guilty, **more):
    return Trial(
        preset,
        event,
        lambda world: python_program(world, (setup, work)),
        let_go,
        guilty,
        scope=own_process,
        **more,
    )


def start_postgres(world):
    world.postgres = Postgres(world)
    world.postgres.ask(
        "create table account as select i as id, 0 as amount from generate_series(1, 200000) i"
    )


def wait_for_row(world):
    holder, waiter = world.postgres.session(), world.postgres.session()
    holder.tell("begin; update account set amount = 1 where id = 1;")
    check(holder.ask("select 'held';") == "held", "no lock is held")
    waiter.tell("update account set amount = 2 where id = 1;")
    wait_for(
        lambda: world.postgres.ask("select count(*) from pg_locks where not granted") != "0",
        "the wait",
    )
    time.sleep(PLANTED_MS / 1000)
    holder.tell("commit;")
    waiter.end()
    holder.end()


def vacuum_by_itself(world):
    for setting in ("autovacuum = on", "autovacuum_naptime = 1"):
        world.postgres.ask(f"alter system set {setting}")
    world.postgres.ask("select pg_reload_conf()")
    world.postgres.ask("update account set amount = 3")
    wait_for(lambda: world.daemon.event("postgresql-vacuum")["runs"] > 0, "autovacuum to come")


def start_mariadb(world):
    world.mariadb = MariaDb(world)
    world.mariadb.ask("create table test.account (id int)")


def wait_for_table(world):
    holder = world.mariadb.session()
    holder.tell("lock tables test.account write;")
    check(holder.ask("select 1;") == "1", "no lock is held")
    waiter = world.mariadb.session()
    waiter.tell("select count(*) from test.account;")
    wait_for(
        lambda: world.mariadb.ask(
            "select count(*) from information_schema.processlist where state like '%metadata lock%'"
        )
        == "1",
        "the wait",
    )
    time.sleep(PLANTED_MS / 1000)
    holder.tell("unlock tables;")
    holder.end()
    waiter.end()


def start_nginx(world):
    world.upstream = SlowWebServer(world)
    world.nginx = Nginx(world, f"location / {{ proxy_pass {world.upstream.url}; }}")


APACHE_MODULES = "/usr/lib/apache2/modules"
WSGI = (
    "import time\ndef application(environment, start):\n    time.sleep(0.4)\n"
    "    start('200 OK', [])\n    return [b'ok']\n"
)


def start_apache(world):
    world.folder.joinpath("slow.wsgi").write_text(WSGI, encoding="ascii")
    settings = world.folder / "apache.conf"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    modules = "".join(
        f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "wsgi")
    )
    settings.write_text(
        f"ServerName localhost\nListen 127.0.0.1:{port}\nServerRoot {world.folder}\n"
        f"PidFile {world.folder}/pid\n{modules}"
        f"ErrorLog {world.folder}/log\nWSGIScriptAlias / {world.folder}/slow.wsgi\nUser www-data\n"
        "Group www-data\n"
        "<Directory />\nRequire all granted\n</Directory>\n",
        encoding="ascii",
    )
    world.url = f"http://127.0.0.1:{port}/"
    apache = world.start("/usr/sbin/apache2", "-f", settings, "-D", "FOREGROUND")
    world.at_end(lambda: (apache.terminate(), apache.wait(timeout=30)))
    wait_for(lambda: fetch(world) == 0, "apache")


def fetch(world):
    return subprocess.run(["curl", "-s", "-o", "/dev/null", world.url], check=False).returncode


def start_haproxy(world):
    world.upstream = SlowWebServer(world)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = world.folder / "haproxy.cfg"
    settings.write_text(
        "defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n"
        f"frontend front\n bind 127.0.0.1:{port}\n default_backend back\n"
        f"backend back\n server one {world.upstream.url.removeprefix('http://')}\n",
        encoding="ascii",
    )
    world.url = f"http://127.0.0.1:{port}/slow"
    world.start("/usr/sbin/haproxy", "-db", "-f", settings)
    wait_for(lambda: fetch(world) == 0, "haproxy")


LONG_QUERY = (
    "with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000000) select "
    "count(*) from c;\n"
)


def start_sqlite(world):
    world.program = world.start("sqlite3", ":memory:", stdin=subprocess.PIPE)


def query_sqlite(world):
    world.program.communicate(LONG_QUERY.encode(), timeout=120)


def start_late_tls_server(world):
    """Accepts a connection but starts TLS only after some time; then it closes the connection."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        connection.recv(1)  # the handshake has begun
        time.sleep(PLANTED_MS / 1000)
        connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    world.at_end(server.close)
    port = server.getsockname()[1]
    python_program(
        world,
        (
            "import socket, ssl",
            f"""
plain = socket.create_connection(("127.0.0.1", {port}))
try:
    ssl._create_unverified_context().wrap_socket(plain)
except OSError:
    pass
""",
        ),
    )


# In its own mount namespace, so that nothing else queries this name server.
RESOLVE = (
    'mount --bind "$1" /etc/resolv.conf && exec "$2" -c '
    "\"import socket\ntry:\n    socket.getaddrinfo('nobody.example', 80)\nexcept socket.gaierror:\n"
    '    pass\n"'
)


def start_silent_name_server(world):
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.77.0.54", 53))
    world.at_end(silent.close)
    (world.folder / "resolv.conf").write_text(
        "nameserver 127.77.0.54\noptions timeout:1 attempts:1\n", encoding="ascii"
    )


def resolve(world):
    world.run("unshare", "-m", "sh", "-c", RESOLVE, "sh", world.folder / "resolv.conf", PYTHON)


def node_preset():
    """The preset for this machine's Node.js: Debian's is a library."""
    libraries = subprocess.run(
        ["ldd", shutil.which("node")], check=True, capture_output=True, text=True
    ).stdout
    return "libnode" if "libnode.so" in libraries else "node"


NODE = """process.stdin.once('data', () => { setTimeout(function spin() {
  const end = Date.now() + 450; while (Date.now() < end) JSON.stringify([1, 2, 3]);
  process.stdin.destroy(); }, 10); }); console.log('ready');"""


def start_node(world):
    world.program = world.start(
        "node", "-e", NODE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    check(world.program.stdout.readline() == "ready\n", "node did not start")


JAVA = """
public class Hoard {
    static java.util.ArrayList<Object> kept = new java.util.ArrayList<>();
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 5_000_000; i++) kept.add(new Object[] {i, null});
        System.out.println("ready");
        System.in.read();
        System.gc();
    }
}
"""


def start_java(world):
    (world.folder / "Hoard.java").write_text(JAVA, encoding="ascii")
    java = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
    world.run(java / "javac", "-d", world.folder, world.folder / "Hoard.java")
    world.program = world.start(
        java / "java",
        "-XX:+UseG1GC",
        "-Xms900m",
        "-Xmx900m",
        "-XX:ParallelGCThreads=1",
        "-cp",
        world.folder,
        "Hoard",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    check(world.program.stdout.readline() == "ready\n", "java did not start")


TRIALS = [
    Trial(
        "postgresql",
        "postgresql-query",
        start_postgres,
        lambda world: world.postgres.ask("select pg_sleep(0.4)"),
        "pg_sleep|WaitLatch",
    ),
    Trial(
        "postgresql",
        "postgresql-execute",
        start_postgres,
        lambda world: world.postgres.ask("select pg_sleep(0.4)"),
        "pg_sleep|WaitLatch",
        attributes='events="postgresql-execute"',
    ),
    Trial(
        "postgresql",
        "postgresql-lock-wait",
        start_postgres,
        wait_for_row,
        "ProcSleep|WaitLatch|lock",
        attributes='events="postgresql-lock-wait"',
    ),
    Trial(
        "postgresql",
        "postgresql-checkpoint",
        start_postgres,
        lambda world: (
            world.postgres.ask("update account set amount = 5"),
            world.postgres.ask("checkpoint"),
        ),
        "CheckPoint|write",
        attributes='events="postgresql-checkpoint" threshold="1ms"',
        least_ms=1,
    ),
    Trial(
        "postgresql",
        "postgresql-vacuum",
        start_postgres,
        vacuum_by_itself,
        "vacuum",
        attributes='events="postgresql-vacuum" threshold="5ms"',
        least_ms=5,
    ),
    Trial(
        "mariadb",
        "mariadb-command",
        start_mariadb,
        lambda world: world.mariadb.ask("select sleep(0.4)"),
        "Item_func_sleep|sleep|dispatch",
    ),
    Trial("mariadb", "mariadb-table-lock", start_mariadb, wait_for_table, "MDL_|acquire_lock"),
    Trial(
        "redis",
        "redis-command",
        lambda world: setattr(world, "redis", Redis(world)),
        lambda world: world.redis.ask("debug", "sleep", "0.4"),
        "debugCommand|sleep",
    ),
    Trial(
        "nginx",
        "nginx-request",
        start_nginx,
        lambda world: world.nginx.get("/slow"),
        "epoll|weave_page|python3",
    ),
    Trial("apache", "apache-request", start_apache, fetch, "sleep|select|wsgi"),
    Trial(
        "haproxy",
        "haproxy-request",
        start_haproxy,
        fetch,
        "epoll|python3|_do_poll",
        attributes='threshold="200ms"',
    ),
    Trial(
        "sqlite",
        "sqlite-step",
        start_sqlite,
        query_sqlite,
        "sqlite3",
        least_ms=100,
        scope=own_process,
    ),
    Trial(
        "openssl",
        "openssl-handshake",
        start_late_tls_server,
        let_go,
        "SSL_do_handshake|read|recv",
        scope=own_process,
    ),
    Trial(
        "getaddrinfo",
        "getaddrinfo",
        start_silent_name_server,
        resolve,
        "getaddrinfo|gaih_inet|res_",
        least_ms=900,
    ),
    python_trial(
        "python-gil",
        "python-gil",
        "import ctypes, threading, time\n"
        "napper = threading.Thread(target=time.sleep, args=(0.05,))",
        # Unlike a CDLL, a PyDLL keeps the lock during its calls.
        "napper.start()\nctypes.PyDLL(None).usleep(600000)\nnapper.join()",
        r"\(GIL\), which python3",
        least_ms=200,
    ),
    python_trial(
        "glib",
        "glib-turn",
        "import time\nfrom gi.repository import GLib\nloop = GLib.MainLoop()",
        "GLib.timeout_add(1, lambda: (time.sleep(0.4), loop.quit()))\nloop.run()",
        "g_main_context_dispatch|sleep",
    ),
    python_trial(
        "qt",
        "qt-event",
        "import time\nfrom PySide2 import QtCore\napp = QtCore.QCoreApplication([])",
        "QtCore.QTimer.singleShot(1, lambda: (time.sleep(0.4), app.quit()))\napp.exec_()",
        "notifyInternal2|sleep",
    ),
    python_trial(
        "libuv",
        "libuv-turn",
        "import time, uvloop\nloop = uvloop.new_event_loop()",
        "loop.call_later(0.05, lambda: (time.sleep(0.4), loop.call_later(0.05, loop.stop)))\n"
        "loop.run_forever()",
        "sleep|uv_run",
        awaits_program=False,
    ),
    Trial(
        node_preset(),
        f"{node_preset()}-callback",
        start_node,
        let_go,
        "JsonStringify|spin|Function::Call|RunTimers|Builtin",
        scope=own_process,
    ),
    Trial(
        "java",
        "java-safepoint",
        start_java,
        let_go,
        "G1|Safepoint|VMThread|gc",
        attributes='events="java-safepoint"',
        least_ms=100,
    ),
    Trial(
        "java", "java-gc", start_java, let_go, "G1|gc", attributes='events="java-gc"', least_ms=100
    ),
    python_trial(
        "python",
        "python-gc",
        "import gc\ngc.disable()\nkept = [[] for _ in range(6_000_000)]\n"
        "for one in kept: one.append(one)",
        "gc.collect()\nimport os\nos._exit(0)",
        r"\[python3.11\]|PyObject|PyGC",
        attributes='events="python-gc"',
        least_ms=100,
    ),
    Trial(
        "systemd",
        "systemd-job",
        start_systemd,
        start_unit,
        "epoll|sleep|its timer",
        attributes='threshold="200ms"',
        unpaired_percent=200,
    ),  # a job that waits for others is restarted
    Trial(
        "block",
        "block-request",
        stack_disks,
        write_to_frozen_disk,
        "loop|disk|dd|block|swapper|idle|signal|waiting|Waited|before the recording",
        awaits_program=False,
        unpaired_percent=0,
        count_unpaired=count_requests_without_partner,
    ),
    Trial(
        "run-queue",
        "run-queue",
        start_waiter,
        take_its_cpu,
        rf"for a CPU( at low priority \(nice \d+\))? while {HOG_NAME}",
        awaits_program=False,
        scope=lambda world: f'<scope unit="waiter-{os.getpid()}.service"/>',
        prefix=beside_its_cpu,
    ),
    Trial(
        "fsync",
        "fsync",
        write_much,
        sync_file,
        "fsync|disk",
        attributes='events="fsync" threshold="50ms"',
        least_ms=50,
        awaits_program=False,
        scope=lambda world: f'<scope binary="{world.program}"/>',
    ),
]
