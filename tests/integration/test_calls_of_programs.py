"""lagtrap calls on real programs: Debian servers and a Rust program, whose own counts and times
tell what is right."""

import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from call_programs import (
    PROGRAMS,
    CallTrace,
    OwnedProcess,
    Program,
    check_parts,
    with_depths,
)  # noqa: E402
from case import World  # noqa: E402  (the path is set above)
from lagtrap_test import LAGTRAP, check, run, wait_for  # noqa: E402
from servers import MARIADB_TID, MariaDb, Postgres, Redis  # noqa: E402
from trace_client import idle_daemon  # noqa: E402

SLEEP_NS = 200_000_000


def trace(daemon, pid, function, *options):
    return CallTrace(daemon, pid, function, *options)


def path_to(tree, number):
    """Names from the outermost call to this one."""
    calls, path = tree["calls"], []
    while number is not None:
        path.insert(0, calls[number]["function"])
        number = calls[number]["parent"]
    return path


def path_of_the_sleep(tree):
    """To the innermost call that was blocked for the planted time."""
    blocked = [
        number for number, call in enumerate(tree["calls"]) if call["blocked_ns"] >= 0.9 * SLEEP_NS
    ]
    check(blocked and blocked[0] == 0, f"the outermost call was blocked: {tree['calls'][0]}")
    return path_to(tree, blocked[-1])


def statements_of_postgresql():
    """Each statement is a tree, and the slow one shows where it slept. Debian's program is
    stripped of exec_simple_query, which is static."""
    with World() as world, idle_daemon() as daemon:
        server = Postgres(world)
        session = server.session()
        pid = int(session.ask("select pg_backend_pid();"))
        with trace(daemon, pid, "PortalRun", "--depth", "4") as watched:
            check(
                any(name == "standard_ExecutorRun" for name, *_ in watched.started["functions"]),
                "four levels are watched",
            )
            for number in range(20):
                check(session.ask(f"select {number};") == str(number), "the server answers as ever")
            check(session.ask("select 1 from pg_sleep(0.2);") == "1", "the server sleeps as ever")
            trees = watched.take(21)
        session.end()
        for tree in trees:
            check_parts(tree)
            check(
                tree["calls"][0]["end"] == "returned"
                and not any(call["end"] == "left" for call in tree["calls"]),
                f"{tree['calls'][:3]}",
            )
        path = path_of_the_sleep(trees[-1])
        check(
            path[0] == "PortalRun" and "standard_ExecutorRun" in path,
            f"the way to the sleep: {path}",
        )


def commands_of_mariadb():
    """C++ with exceptions, of 20 million bytes: one tree for each command, as the server counts
    its questions."""
    with World() as world, idle_daemon() as daemon:
        server = MariaDb(world)
        session = server.session()
        tid = int(session.ask(MARIADB_TID))

        def asked():
            return int(session.ask("show session status like 'Questions';").split()[-1])

        with trace(daemon, server.process.pid, "dispatch_command", "--depth", "2") as watched:
            before = asked()
            for number in range(20):
                check(session.ask(f"select {number};") == str(number), "the server answers as ever")
            check(session.ask("select sleep(0.2);") == "0", "the server sleeps as ever")
            trees = watched.take(
                asked() - before + 1
            )  # the first of the two queries is counted, and watched
        session.end()
        check(
            {tree["tid"] for tree in trees} == {tid},
            f"of the session's thread {tid}: {trees[0]['tid']}",
        )
        for tree in trees:
            check_parts(tree)
        # Others may take as long if they wait for a CPU.
        slept = max(trees, key=lambda tree: tree["calls"][0]["blocked_ns"])
        path = path_of_the_sleep(slept)
        check(
            path[0].startswith("dispatch_command") and any("mysql_parse" in name for name in path),
            f"the way to the sleep: {path}",
        )


def commands_of_redis():
    """As many as the server itself counts."""
    with World() as world, idle_daemon() as daemon:
        server = Redis(world)

        def handled():
            return int(re.search(r"total_commands_processed:(\d+)", server.ask("info", "stats"))[1])

        with trace(daemon, server.process.pid, "processCommand", "--depth", "3") as watched:
            before = handled()
            for number in range(20):
                server.ask("set", f"key{number}", "value")
            server.ask("debug", "sleep", "0.2")
            trees = watched.take(
                handled() - before + 1
            )  # INFO counts the commands before it; the first one itself is watched too
        for tree in trees:
            check_parts(tree)
        path = path_of_the_sleep(max(trees, key=lambda tree: tree["calls"][0]["wall_ns"]))
        check(
            path[:2] == ["processCommand", "call"] and "nanosleep" in path[-1],
            f"the way to the sleep: {path}",
        )


class Shell(OwnedProcess):
    """SQLite's, one statement at a time."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["sqlite3", ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        check(self.ask("select 'ready';") == ["ready"], "sqlite3 is ready")

    def ask(self, statement):
        """The lines of the answer."""
        self.process.stdin.write(f"{statement}\n.print end of answer\n")
        self.process.stdin.flush()
        return list(iter(lambda: self.process.stdout.readline().rstrip("\n"), "end of answer"))


def steps_of_sqlite():
    """One step for each row and one that finds no more; prepared once, finalized once. They come
    within a millisecond or two: those that find no room until lagtrapd reads them are counted."""
    with idle_daemon() as daemon, Shell() as shell, trace(
        daemon, shell.process.pid, "sqlite3_step", "--depth", "1"
    ) as steps, trace(daemon, shell.process.pid, "sqlite3_prepare_v2", "--depth", "3") as prepared:
        rows = shell.ask(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < 500) select "
            "x from c;"
        )
        check(rows == [str(number) for number in range(1, 501)], "the shell answers as ever")
        calls = prepared.take(1)[0]["calls"]
        check(calls[0]["end"] == "returned" and len(calls) > 5, f"{calls}")
        shell.process.kill()
        lines = steps.lines()
        trees = [line["tree"] for line in lines if "tree" in line]
        ended = next(line["ended"] for line in lines if "ended" in line)
        check(
            0 < len(trees) == ended["calls"] == 501 - ended["not_kept"],
            f"{len(trees)} trees, {ended}",
        )
        for tree in trees:
            check_parts(tree)


def orders_of_a_program_of_rust():
    """Trait functions are called through tables, and panics are caught: the report equals the
    program's notes."""
    with idle_daemon() as daemon, Program(PROGRAMS / "rust_calls") as program, trace(
        daemon,
        program.process.pid,
        "rust_calls::serve_order",
        "--match",
        "rust_calls::(compute|find_item|check_item|.*Price>::price)$",
    ) as watched:
        noted = []

        def is_whole():
            """A function called through a table is watched once it was seen."""
            noted[:] = program.run("1000")
            return with_depths(watched.next_tree()) == noted

        wait_for(is_whole, "a tree with what is called through tables")
        check(
            len(noted) == 36 and ["<rust_calls::Taxed as rust_calls::Price>::price", 1] in noted,
            f"{noted}",
        )
        tree = watched.tree
        check_parts(tree)
        ends = [
            call["end"] for call in tree["calls"] if call["function"] == "rust_calls::check_item"
        ]
        check(ends == 2 * ["returned", "returned", "left"], f"two panics: {ends}")
        seen = {row[0] for row in watched.more if row[3]}
        check("<rust_calls::Plain as rust_calls::Price>::price" in seen, f"seen, not read: {seen}")
        check(
            all(call["source"].endswith("main.rs") and call["line"] > 0 for call in tree["calls"]),
            f"{tree['calls'][0]}",
        )


def functions_of_go_are_refused_with_the_reason():
    program = PROGRAMS / "goroutines"
    with idle_daemon() as daemon:
        process = subprocess.Popen([program, "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            wait_for(
                lambda: program.name
                in pathlib.Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8"),
                "it to run",
            )
            asked = [
                LAGTRAP,
                "functions",
                "--socket",
                daemon.socket_path,
                "--process",
                str(process.pid),
            ]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
            check(
                done.returncode == 1 and "Go" in done.stderr and done.stderr.count("\n") == 1,
                f"{done}",
            )
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


run(
    statements_of_postgresql,
    commands_of_mariadb,
    commands_of_redis,
    steps_of_sqlite,
    orders_of_a_program_of_rust,
    functions_of_go_are_refused_with_the_reason,
)
