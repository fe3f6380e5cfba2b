"""Functions of real programs as events: each begin has its end, and the program behaves as when
unwatched."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from lagtrap_test import PROGRAMS, Daemon, Watched, check, run, wait_for

MARIADB = "/usr/sbin/mariadbd"
NODE = "/usr/bin/node"
CLANG = "/usr/bin/clang-14"
CLANG_LIBRARY = "/usr/lib/llvm-14/lib/libclang-cpp.so.14"
WAYS = (
    "leaf",
    "cold",
    "conditional",
    "pointer",
    "switch",
    "throw",
    "catch",
    "recursive",
    "far",
    "near",
    "tail",
)


def own_copy(file, folder):
    """A private copy: calls in other processes of the same program do not count."""
    return pathlib.Path(shutil.copy(file, folder))


def function_events(binary, functions):
    return "".join(
        f'<event name="f{number}" threshold="100s" trace-length="1s">'
        f'<function name="{name}" binary="{binary}"/></event>'
        for number, name in enumerate(functions)
    )


def sample(binary, pattern, count):
    """Functions of a binary by symbol: always the same ones for the same file."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", binary], capture_output=True, text=True, check=True
    ).stdout
    names = sorted(
        {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] in "TWt"}
    )
    matching = [name for name in names if re.search(pattern, name)]
    check(len(matching) >= count, f"only {len(matching)} functions of {binary} match {pattern}")
    return random.Random(7).sample(matching, count)


def check_pairs(daemon, functions, least_called, may_be_left=()):
    """Every begin has its end: nothing is open when all is quiet, and nothing ended that had not
    begun."""
    wait_for(
        lambda: all(event["open"] == 0 for event in daemon.status()["events"]),
        "the last calls to be over",
    )
    called = 0
    for event, name in zip(daemon.status()["events"], functions):
        if not event["armed"]:
            reasons = ("only returns", "only jumps", "never returns", "no such function")
            check(
                any(reason in event["problem"] for reason in reasons), f"{name}: {event['problem']}"
            )
            continue
        check(
            event["unmatched_ends"] == event["unmatched_begins"] == event["lost"] == 0,
            f"{name}: {event}",
        )
        check(
            event["abandoned"] == 0 or any(part in name for part in may_be_left), f"{name}: {event}"
        )
        called += event["runs"] > 0
    check(called >= least_called, f"only {called} of {len(functions)} functions were called")
    return called


def ways_out():
    """Each call is counted once, however the function is left, in programs of two compilers,
    including stripped ones."""
    for compiler in ("gcc", "clang"):
        for form in ("", "_stripped"):
            program = (PROGRAMS / f"ways_out_{compiler}{form}").resolve()
            unwatched = json.loads(
                subprocess.run(
                    [program, "600"], input="go\n", capture_output=True, text=True, check=True
                ).stdout.splitlines()[-1]
            )
            with Daemon(function_events(program, [f"way_{way}" for way in WAYS])) as daemon:
                with Watched(program, 600) as watched:
                    told = watched.go().result()
                check(told == unwatched, f"{program.name}: {told} watched, {unwatched} unwatched")
                for way, event in zip(WAYS, daemon.status()["events"]):
                    where = f"{program.name} {way}: {event}, {told[way]} calls"
                    left = event["abandoned"] + event["open"]
                    check(event["runs"] + left == told[way] and event["unmatched_ends"] == 0, where)
                    check(left == 0 or way in ("throw", "far"), where)
                check(
                    daemon.event(f"f{WAYS.index('throw')}")["runs"] == 450,
                    "throws are not told from returns",
                )


def compiler():
    """clang's own functions while it compiles: the object file is the same."""
    functions = sample(
        CLANG_LIBRARY, r"^_ZN5clang(4Sema|6Parser|5Lexer|12Preprocessor|7CodeGen|10ASTContext)", 200
    )
    source = (
        '#include <map>\n#include <string>\nint f(std::map<std::string,int>& m) { return m["a"]++; '
        "}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "source.cpp")
        path.write_text(source)
        library = own_copy(CLANG_LIBRARY, folder)

        def compiled():
            subprocess.run(
                [CLANG, "-O1", "-c", "-x", "c++", "-o", f"{folder}/out.o", path],
                check=True,
                timeout=300,
                env={**os.environ, "LD_LIBRARY_PATH": folder},
            )
            return pathlib.Path(folder, "out.o").read_bytes()

        unwatched = compiled()
        daemon = Daemon(function_events(library, functions))
        daemon.expect_armed = False
        with daemon:
            check(compiled() == unwatched, "the object differs when the compiler is watched")
            print(check_pairs(daemon, functions, 30), "functions of clang were called")


def database():
    """MariaDB's functions, including dispatch_command, which gcc has split in two."""
    functions = [
        "_Z16dispatch_command19enum_server_commandP3THDPcjb",
        "_Z11mysql_parseP3THDPcjP12Parser_state",
    ]
    functions += sample(
        MARIADB,
        r"^_ZN?K?(3THD|4JOIN|5Field|4Item|7handler|3LEX|13st_select_lex|5TABLE|6String)",
        198,
    )
    statements = (
        "create database t;\nuse t;\ncreate table a (i int primary key, s varchar(20)) "
        "engine=aria;\n"
        + "".join(f"insert into a values ({i}, 'row {i}');\n" for i in range(50))
        + "select count(*), sum(i), max(s) from a where i % 3 = 1 group by i % 7 order by 2;\n"
        "select * from a x join a y using (i) where x.s like '%4%' order by y.s limit 5;\n"
    )

    def bootstrapped():
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            done = subprocess.run(
                [
                    program,
                    "--no-defaults",
                    "--bootstrap",
                    "--user=root",
                    f"--datadir={folder}",
                    "--skip-innodb",
                    "--default-storage-engine=aria",
                    "--silent-startup",
                    f"--log-error={folder}/log",
                ],
                input=statements,
                capture_output=True,
                text=True,
                timeout=300,
            )
            return done.returncode, done.stdout

    with tempfile.TemporaryDirectory() as own:
        program = own_copy(MARIADB, own)
        unwatched = bootstrapped()
        check(unwatched[0] == 0, f"mariadbd --bootstrap: {unwatched}")
        daemon = Daemon(function_events(program, functions))
        daemon.expect_armed = False
        with daemon:
            check(
                bootstrapped() == unwatched, "the database does something else when it is watched"
            )
            print(check_pairs(daemon, functions, 30), "functions of mariadbd were called")
            check(daemon.event("f0")["armed"], f"dispatch_command: {daemon.event('f0')['problem']}")


def interpreter():
    """Node.js: C++ with tables, tail calls and no exceptions; the script's answer is the same."""
    functions = sample(
        NODE,
        r"^_ZN2v8(8internal)?(6Object|7Isolate|6String|8internal(7Factory|4Heap|8JSObject|7Scanner|"
        r"10ParserBase|6Parser|12LookupIterator|8Compiler|6Object))",
        200,
    )
    script = (
        "let s=0; for (let i=0;i<2e4;i++) s+=JSON.stringify({i,a:[i,i+1]}).length; "
        "console.log(s, process.version)"
    )

    def answered():
        return subprocess.run(
            [program, "-e", script], capture_output=True, text=True, check=True, timeout=300
        ).stdout

    with tempfile.TemporaryDirectory() as own:
        program = own_copy(NODE, own)
        unwatched = answered()
        daemon = Daemon(function_events(program, functions))
        daemon.expect_armed = False
        with daemon:
            check(answered() == unwatched, "the script answers something else when node is watched")
            print(check_pairs(daemon, functions, 20), "functions of node were called")


if __name__ == "__main__":
    run(ways_out, compiler, database, interpreter)
