"""The check of the settings agrees with the daemon: it refuses what cannot be watched, accepts
what can, and says what this user cannot know."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    LAGTRAPD,
    PLANTED,
    PROGRAMS,
    Daemon,
    check,
    library_event,
    run,
)

GOROUTINES = PROGRAMS / "goroutines"
MARKED = (BUILD_DIR / "settings" / "libsettings_test_marked.so").resolve()
ARGUMENTS = PROGRAMS / "arguments"
NOBODY = 65534


def event(name, markers, attributes=""):
    return f'<event name="{name}" threshold="1s" trace-length="1s" {attributes}>{markers}</event>'


def function_event(name, function, binary=MARKED):
    return event(name, f'<function name="{function}" binary="{binary}"/>')


def tracepoint_event(name, begin, end, key=""):
    keyed = f'key="{key}"' if key else ""
    return event(
        name,
        ("<key/>" if key else "")
        + f'<begin tracepoint="{begin}" {keyed}/><end tracepoint="{end}" {keyed}/>',
    )


# Each with the texts that any user gets for it.
FAULTS = {
    "idle": (function_event("idle", "idle"), "only returns", "watch its caller"),
    "endless": (
        function_event("endless", "serve_for_ever"),
        "never returns",
        "watch what it calls",
    ),
    "missing": (function_event("missing", "serv"), 'has no function "serv"', "did you mean serve?"),
    "ambiguous": (
        function_event("ambiguous", "store::get"),
        "6 functions",
        "expected a unique name",
    ),
    "probe": (
        event(
            "probe",
            '<begin usdt="forms:constnt__begin"/><end usdt="forms:constant__end"/>',
            f'binary="{ARGUMENTS}"',
        ),
        "has no probe forms:constnt__begin",
        "did you mean forms:constant__begin?",
    ),
    "argument": (
        event(
            "argument",
            '<key/><begin usdt="forms:unreadable__begin" key="arg0"/>'
            '<end usdt="forms:unreadable__end" key="arg0"/>',
            f'binary="{ARGUMENTS}"',
        ),
        "8f@%xmm0",
        "arg0",
    ),
    "library": (
        library_event("library", MARKED, "1s"),
        "has no marker lagtrap:library__begin",
        "lagtrap.h",
    ),
    "text": (
        function_event("text", "f", pathlib.Path(__file__).resolve()),
        "ELF",
        "expected a program or library",
    ),
}
# Only root can detect these.
TRACEPOINT_FAULTS = {
    "unknown": (
        tracepoint_event("unknown", "syscalls:sys_enter_wrtev", "syscalls:sys_exit_writev"),
        "the kernel has no tracepoint syscalls:sys_enter_wrtev",
        "did you mean syscalls:sys_enter_writev?",
    ),
    "field": (
        tracepoint_event("field", "syscalls:sys_enter_writev", "syscalls:sys_enter_readv", "fdd"),
        'key is "fdd", which is not a number',
        "expected one of __syscall_nr, fd, vec, vlen",
    ),
    "string": (
        tracepoint_event("string", "sched:sched_switch", "sched:sched_wakeup", "prev_comm"),
        'key is "prev_comm", which is not a number',
        "did you mean prev_pid?",
    ),
}
GOOD = "".join(
    (
        function_event("function", "store::put"),
        function_event("overload", "store::get(int)"),
        library_event("frame", MARKED, "1s"),
        library_event("request", PLANTED, "1s", more="<key/>"),
        event(
            "half", '<begin function="idle"/><end function="serve_for_ever"/>', f'binary="{MARKED}"'
        ),
        event(
            "scoped",
            '<begin usdt="forms:constant__begin"/><end usdt="forms:constant__end"/>'
            f'<scope binary="{ARGUMENTS}"/>',
            f'binary="{ARGUMENTS}"',
        ),
    )
)
GOOD_TRACEPOINTS = tracepoint_event(
    "fsync", "syscalls:sys_enter_fsync", "syscalls:sys_exit_fsync"
) + tracepoint_event("descriptor", "syscalls:sys_enter_writev", "syscalls:sys_enter_readv", "fd")


class Settings:
    """A settings file that everybody may read; one event per line, the first in line 2."""

    def __init__(self, *events):
        self.events = events

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-check-")
        os.chmod(self.folder, 0o755)
        self.path = pathlib.Path(self.folder, "settings.xml")
        self.path.write_text('<lagtrap version="1">\n' + "\n".join(self.events) + "\n</lagtrap>\n")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def checked(self, unprivileged=False):
        """The output of `lagtrap check`, which equals that of `lagtrapd --check-settings`."""
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if unprivileged else {}
        said = [
            subprocess.run(
                [*command, self.path], capture_output=True, text=True, timeout=120, **user
            )
            for command in ([LAGTRAP.resolve(), "check"], [LAGTRAPD.resolve(), "--check-settings"])
        ]
        outcome = [(one.returncode, one.stdout, one.stderr) for one in said]
        check(outcome[0] == outcome[1], f"lagtrap and lagtrapd say different things: {outcome}")
        return said[0]


def check_faults(faults, unprivileged):
    with Settings(*(fault[0] for fault in faults.values())) as settings:
        checked = settings.checked(unprivileged)
        check(checked.returncode == 3, f"{checked}")
        for number, (name, (_, *expected)) in enumerate(faults.items()):
            place = f"{settings.path}:{number + 2}:"
            said = [
                part
                for part in checked.stderr.split(str(settings.path))
                if part.startswith(f":{number + 2}:")
            ]
            check(said, f"nothing is said of {name} at {place}: {checked.stderr}")
            for words in expected:
                check(any(words in part for part in said), f"{name}: {words} is not in {said}")


def faults_are_told():
    """Reported to root and to other users, each with its line."""
    check_faults({**FAULTS, **TRACEPOINT_FAULTS}, unprivileged=False)
    check_faults(FAULTS, unprivileged=True)


def faults_are_the_daemons():
    """Started with the same settings, the daemon arms none of these events."""
    faults = {**FAULTS, **TRACEPOINT_FAULTS}
    # Several overloads are watched; the check asks which one is meant.
    events = [fault[0] for name, fault in faults.items() if name != "ambiguous"]
    daemon = Daemon("".join(events))
    daemon.expect_armed = False
    with daemon:
        for one in daemon.status()["events"]:
            check(not one["armed"] and one["problem"], f"{one['name']} is armed: {one}")


def a_program_may_be_installed_later():
    later = function_event("later", "f", "/usr/bin/nothing-of-this-name")
    with Settings(later) as settings:
        checked = settings.checked()
        check(
            checked.returncode == 0
            and 'warning: "/usr/bin/nothing-of-this-name" does not exist yet' in checked.stderr,
            f"{checked}",
        )
    with Daemon(later) as daemon:
        event_status = daemon.status()["events"][0]
        check(
            event_status["armed"] and event_status["absent"] == ["/usr/bin/nothing-of-this-name"],
            f"{event_status}",
        )


def what_passes_is_armed():
    with Settings(GOOD, GOOD_TRACEPOINTS) as settings:
        checked = settings.checked()
        check(
            checked.returncode == 0
            and checked.stderr == ""
            and "8 events, no errors\n" in checked.stdout,
            f"{checked}",
        )
    with Daemon(GOOD + GOOD_TRACEPOINTS) as daemon:
        check(len(daemon.status()["events"]) == 8, "an event is missing")


def what_may_not_be_looked_at_is_said():
    """For an unprivileged user, a tracepoint and a file of root are neither right nor wrong."""
    with Settings(GOOD) as settings:
        checked = settings.checked(unprivileged=True)
        check(checked.returncode == 0 and checked.stderr == "", f"{checked}")
    with tempfile.TemporaryDirectory() as folder:  # which nobody else may enter
        program = pathlib.Path(folder, "program")
        shutil.copy(MARKED, program)
        with Settings(GOOD_TRACEPOINTS, function_event("hidden", "idle", program)) as settings:
            checked = settings.checked(unprivileged=True)
            check(checked.returncode == 0, f"what cannot be looked at is called wrong: {checked}")
            for what in (
                "tracepoint syscalls:sys_enter_fsync could not be checked:",
                f"{program} could not be checked:",
            ):
                check(f"note: {what}" in checked.stderr, f"{what} is not in {checked.stderr}")
            check(checked.stderr.count("; run as root\n") == 5, checked.stderr)
            check(
                "3 events, no errors; 5 markers or files could not be checked" in checked.stdout,
                checked.stdout,
            )
            check(
                settings.checked().returncode == 3,
                "root is not told of a function that does nothing",
            )


if __name__ == "__main__":
    run(
        faults_are_told,
        faults_are_the_daemons,
        what_passes_is_armed,
        a_program_may_be_installed_later,
        what_may_not_be_looked_at_is_said,
    )
