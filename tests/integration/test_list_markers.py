"""The XML that list-markers prints for pasting passes the check of the settings, whatever the
names are."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from lagtrap_test import BUILD_DIR, LAGTRAP, Watched, check, run

MARKED = (BUILD_DIR / "settings" / "libsettings_test_marked.so").resolve()
POSTGRES = "/usr/lib/postgresql/15/bin/postgres"
MARIADB = "/usr/sbin/mariadbd"
RUBY = "/usr/bin/ruby3.1"
TRACEPOINT_LIMIT = 4  # markers on one tracepoint, of all events
EVENTS_LIMIT = 256


def lagtrap(*arguments):
    done = subprocess.run([LAGTRAP, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def listed(*arguments):
    """The lines to paste, without their indentation. Each parses."""
    code, out, err = lagtrap("list-markers", *arguments)
    check(code == 0 and err == "", f"list-markers {arguments}: {err}")
    lines = [line.strip() for line in out.splitlines() if line.strip().startswith("<")]
    for line in lines:
        try:
            ElementTree.fromstring(f"<event>{line}</event>")
        except ElementTree.ParseError as problem:
            check(False, f"{problem}: {line}")
    return [line for line in lines if not line.startswith("<!--")]


def event(number, markers):
    return f'<event name="e{number}" threshold="1s" trace-length="1s">{markers}</event>\n'


def accepted(all_markers, at_once=EVENTS_LIMIT):
    """Each is the markers of one event."""
    for first in range(0, len(all_markers), at_once):
        events = "".join(
            event(number, markers)
            for number, markers in enumerate(all_markers[first : first + at_once])
        )
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(f'<lagtrap version="1">\n{events}</lagtrap>\n')
            file.flush()
            code, _, err = lagtrap("check", file.name)
            refused = [
                line
                for line in err.splitlines()
                if "may end in a jump through a pointer" not in line
            ]
    check(code == 0 and not refused, f"what was listed is refused: {refused}")


def names_of(lines):
    return {ElementTree.fromstring(f"<event>{line}</event>")[0].get("name") for line in lines}


def functions_of_awkward_names():
    lines = [line for line in listed("--functions", MARKED) if line.startswith("<function")]
    names = names_of(lines)
    for name in (
        "app::Shop<long>::sold(long) const",
        "app::Shop<long>::operator<(app::Shop<long> const&) const",
        "app::Shop<long>::operator&&(app::Shop<long> const&) const",
        "app::Shop<long>::operator--()",
        'app::operator"" _cents(unsigned long long)',
        "store::get(char const*)",
        "app::(anonymous namespace)::hidden(int (*)(int), int)",
        "serve",
    ):
        check(name in names, f"{name} is not in {sorted(names)}")
    check("idle" not in names, "a function that cannot be watched is listed to be pasted")
    accepted(lines)


def functions_of_a_database():
    """All of them parse; of those that can be watched, some hundred awkward and plain names are
    accepted."""
    functions = [line for line in listed("--functions", MARIADB) if line.startswith("<function")]
    check(len(functions) > 10_000, f"only {len(functions)} functions")
    awkward = [line for line in functions if re.search(r"&|_ZN?", line)]
    check(len(awkward) > 256, f"only {len(awkward)} awkward names")
    chosen = random.Random(7)
    accepted(chosen.sample(awkward, 256) + chosen.sample(functions, 256))


def probes():
    lines = listed(POSTGRES)
    check(any('"postgresql:query__start"' in line for line in lines), f"{lines}")
    other = {
        "begin": f'<end usdt="postgresql:query__done" binary="{POSTGRES}"/>',
        "end": f'<begin usdt="postgresql:query__start" binary="{POSTGRES}"/>',
    }
    accepted([line + other[line[1:].split()[0]] for line in lines])


def tracepoints():
    lines = listed("--tracepoints")
    check(len(lines) > 500, f"only {len(lines)} tracepoints")
    found = listed("--tracepoints", "syscalls:sys_e*[rt]_writev")
    check(
        found
        == [
            '<begin tracepoint="syscalls:sys_enter_writev"/>  <!-- key: __syscall_nr, fd, vec, '
            "vlen -->",
            '<end tracepoint="syscalls:sys_exit_writev"/>  <!-- key: __syscall_nr, ret -->',
        ],
        f"{found}",
    )
    check(listed("--tracepoints", "sched_switch"), "a part of a name finds nothing")
    other = {
        "begin": '<end tracepoint="syscalls:sys_exit_getpid"/>',
        "end": '<begin tracepoint="syscalls:sys_enter_getpid"/>',
    }
    accepted(
        [
            line + other[line[1:].split()[0]]
            for line in random.Random(7).sample(lines, 256)
            if "getpid" not in line
        ],
        at_once=TRACEPOINT_LIMIT,
    )
    # Each field that is called a key can be one.
    keyed = [line for line in lines if "<!-- key: " in line]
    accepted(
        [
            f'<key/>{with_key(line)}<end tracepoint="syscalls:sys_enter_close" key="fd"/>'
            for line in random.Random(8).sample(
                [line for line in keyed if line.startswith("<begin")], 256
            )
            if 'sys_enter_close"' not in line
        ],
        at_once=TRACEPOINT_LIMIT,
    )
    code, out, err = lagtrap("list-markers", "--tracepoints", "nothing:like_this")
    check(code == 1 and out == "" and "nothing:like_this" in err, f"{code} {out} {err}")
    denied = subprocess.run(
        [LAGTRAP.resolve(), "list-markers", "--tracepoints"],
        capture_output=True,
        text=True,
        timeout=60,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    check(denied.returncode == 1 and "run as root" in denied.stderr, f"{denied}")


def with_key(line):
    element, comment = line.split("/>", 1)
    last = comment.split("key: ")[1].split(" -->")[0].split(", ")[-1]
    return f'{element} key="{last}"/>'


def functions_of_a_library():
    """A function that is not in the program but in one of its libraries: the error names the
    library."""
    libraries = [
        line.strip().split()[1]
        for line in lagtrap("list-markers", RUBY)[1].splitlines()
        if line.strip().startswith("needs ")
    ]
    library = next((path for path in libraries if "libruby" in path), "")
    check(pathlib.Path(library).exists(), f"no libruby among {libraries}")
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(
            '<lagtrap version="1">'
            + event(0, f'<function name="rb_str_concat" binary="{RUBY}"/>')
            + "</lagtrap>"
        )
        file.flush()
        code, _, err = lagtrap("check", file.name)
    check(
        code == 3 and f'binary="{library}"' in err and f'<scope binary="{RUBY}"/>' in err, f"{err}"
    )
    accepted([f'<function name="rb_str_concat" binary="{library}"/><scope binary="{RUBY}"/>'])


def functions_of_a_library_loaded_at_run_time():
    """No file says that this python needs it, but the running process does."""
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder, "python")
        shutil.copy(os.path.realpath(sys.executable), python)
        script = (
            f"import ctypes, sys; ctypes.CDLL('{MARKED}'); print('ready', flush=True); "
            "sys.stdin.readline()"
        )
        settings = pathlib.Path(folder, "settings.xml")
        settings.write_text(
            '<lagtrap version="1">'
            + event(0, f'<function name="serve" binary="{python}"/>')
            + "</lagtrap>"
        )
        code, _, err = lagtrap("check", settings)
        check(code == 3 and str(MARKED) not in err, f"{code} {err}")
        with Watched(python, "-c", script) as process:
            code, _, err = lagtrap("check", settings)
            process.go()
        check(code == 3 and f'binary="{MARKED}"' in err, f"{code} {err}")


if __name__ == "__main__":
    run(
        functions_of_awkward_names,
        functions_of_a_database,
        probes,
        tracepoints,
        functions_of_a_library,
        functions_of_a_library_loaded_at_run_time,
    )
