"""An unprivileged user owns a watched file and makes the most harmful use of it: the watched
program of another user is still watched, its delay is recorded and explained, and status names
the owner of the file."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import (
    LAGTRAP,
    LAGTRAPD,
    PLANTED,
    PROGRAMS,
    Daemon,
    OwnedProcess,
    Watched,
    check,
    check_memory,
    library_event,
    report,
    run,
    wait_for,
)
from test_watched_faults import NOP, WATCHED, Program, step_event

HOSTILE = PROGRAMS / "hostile_neighbour" / "hostile_neighbour"
NOBODY = 65534  # the hostile user
OTHER_USER = 65533
SLOW_MS = 600
UNIT_MEMORY_BYTES = 1 << 30  # MemoryMax of lagtrapd.service


class Hostile(OwnedProcess):
    """The program in a mode, until the end of a with-statement."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [str(part) for part in (HOSTILE, *arguments)],
            stdout=subprocess.PIPE,
            text=True,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        check(self.process.stdout.readline() == "ready\n", f"{arguments} did not begin")


@contextlib.contextmanager
def folder_of_nobody():
    with tempfile.TemporaryDirectory(prefix="lagtrap-hostile-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def copy_for(user, source, target):
    shutil.copy(source, target)
    os.chown(target, user, user)
    return target


def neighbour_event():
    return library_event("work", PLANTED, "250ms", "2s")


def check_limits(daemon):
    """The daemon, without its readers, used no more memory than its unit allows."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    peak_bytes = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
    check_memory(LAGTRAPD, peak_bytes, UNIT_MEMORY_BYTES, "lagtrapd beside a hostile user")
    disabled = [event["name"] for event in daemon.status()["events"] if event["disabled"]]
    check(not disabled, f"events were given up for their cost: {disabled}")


def check_neighbour(daemon):
    """The other user's delay, made now, is recorded, and the report names the planted function."""
    before = set(daemon.bundles())
    with Watched(
        PLANTED,
        "--kind",
        "cpu",
        "--fast",
        20,
        "--slow-ms",
        SLOW_MS,
        "--wait",
        "--directory",
        daemon.folder,
        user=OTHER_USER,
        group=OTHER_USER,
        extra_groups=[],
    ) as program:
        told = program.go().result()
    fresh = set(daemon.wait_for_bundles(len(before) + 1)) - before
    delays = report(fresh.pop())["delays"]
    delay = next(
        (
            delay
            for delay in delays
            if delay["begin_tid"] == told["tid"]
            and told["slow_inner_ns"] <= delay["duration_ns"] <= told["slow_outer_ns"]
        ),
        None,
    )
    check(delay, f"the delay is not among those that were caught: {delays}")
    names = [function["name"] for function in delay["functions"]]
    check(
        any(name.startswith(told["planted_function"]) for name in names), f"not explained: {names}"
    )


def reload(daemon):
    """Reloads the settings, and returns when they are in force."""
    before = daemon.status()["settings"]["loaded_realtime_ns"]
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(
        lambda: daemon.status()["settings"]["loaded_realtime_ns"] != before,
        "the settings to be in force",
    )
    wait_for(lambda: daemon.status()["arming"] is None, "the events to be armed")


def status_text(daemon):
    return subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def without_its_markers(source, target):
    """The same code, with markers of another name."""
    target.write_bytes(source.read_bytes().replace(b"step__", b"stop__"))
    target.chmod(0o755)
    return target


def swapped_for_a_link():
    """The name leads to the owner's file when it is read and to another user's when probes are
    attached, or the other way round: no probe may end up in the other's file."""
    with folder_of_nobody() as folder, tempfile.TemporaryDirectory() as others:
        os.chmod(others, 0o755)
        victim = without_its_markers(WATCHED, pathlib.Path(others) / "victim")
        own = copy_for(NOBODY, WATCHED, folder / "own")
        (folder / "link").symlink_to(victim)
        daemon = Daemon(step_event(own) + neighbour_event())
        daemon.expect_armed = False
        with Program("serve") as model, Program("serve", victim) as program:
            base = {at: program.code_byte(at) for at in places_in(program, model)}
            check(set(base.values()) == {NOP}, f"code of the victim before: {base}")
            with Hostile("swap", own, folder / "link"), daemon:
                for _ in range(12):
                    now = {at: program.code_byte(at) for at in base}
                    check(
                        now == base, f"a probe is in a file that was not read: {now}, before {base}"
                    )
                    daemon.stop()
                    daemon.start()
                check_neighbour(daemon)
                check_limits(daemon)


def slow_to_read():
    """Files that keep a reader busy: while they are read, the daemon is ready, the other user's
    event is armed and its delay recorded; afterwards each of their events says why it is not
    armed, and who owns the file."""
    with folder_of_nobody() as folder:
        slow = [folder / f"slow{number}" for number in range(3)]
        for path in slow:
            subprocess.run(
                [HOSTILE, "slow", path], check=True, user=NOBODY, group=NOBODY, extra_groups=[]
            )
        names = [f"{path.name}-{number}" for path in slow for number in range(3)]
        events = "".join(
            f'<event name="{name}" threshold="1s" trace-length="1s">'
            f'<function name="slow" binary="{folder / name.split("-")[0]}"/></event>'
            for name in names
        )
        daemon = Daemon(events + neighbour_event())
        daemon.expect_armed = daemon.await_arming = False
        with daemon:
            wait_for(lambda: daemon.event("work")["armed"], "the other user's event to be armed")
            check(
                all(daemon.event(name)["arming"] for name in names),
                "a slow file was read, or given up, at once",
            )
            check_neighbour(daemon)
            wait_for(
                lambda: daemon.status()["arming"] is None, "the slow files to be given up", 300
            )
            for name in names:
                event = daemon.event(name)
                check(
                    not event["armed"]
                    and "reading the file took " in event["problem"]
                    and "the file belongs to user nobody (65534)" in event["problem"],
                    f"event {name}: {event['problem']}",
                )
            for path in slow:
                said = f"{path} of user nobody (65534) is too slow to read for an event"
                check(said in status_text(daemon), f"not in the status: {status_text(daemon)}")
            check_neighbour(daemon)
            check_limits(daemon)


def in_two_runs():
    """A neighbour's program with two open runs, one inside the other, and how to end them."""
    program = Program("nest")
    check(
        program.ask("begin") == "in a run\n" and program.ask("inside") == "in a run\n",
        f"{program.printed}",
    )
    return program


def end_both(program):
    check(program.ask("end") == "ended\n" and program.ask("end") == "ended\n", f"{program.printed}")


def check_both_counted(daemon, ended=2):
    event = daemon.event("step")
    wrong = {
        key: event[key]
        for key in ("unmatched_begins", "unmatched_ends", "abandoned", "lost", "open")
        if event[key]
    }
    check(event["runs"] == ended and not wrong, f"{event['runs']} runs of {ended} counted, {wrong}")


def rearm_beside(mode):
    """A file of the hostile user changes all the time: the runs that the other user's program
    has open meanwhile are counted when they end, the changed file's event is armed again and
    again, with pauses, and status names its owner."""
    with folder_of_nobody() as folder:
        own = copy_for(NOBODY, PLANTED, folder / "own")
        hostile = library_event("hostile", own, "10s").replace('name="hostile"', 'name="work"', 1)
        with Daemon(step_event() + hostile) as daemon, in_two_runs() as program, Hostile(mode, own):
            wait_for(
                lambda: daemon.log().count("was replaced on disk") == 2,
                "the file to be armed anew twice",
                120,
            )
            said = (
                re.escape(f"{own} of user nobody (65534) changed: rearmed ")
                + "[2-4] times, again in "
            )
            end_both(program)
            check_both_counted(daemon)
            delays = report(daemon.wait_for_bundles(1)[0])["delays"]
            check(
                {delay["event"] for delay in delays} == {"step"},
                f"other delays than the neighbour's: {delays}",
            )
            check(re.search(said, status_text(daemon)), f"not in the status: {status_text(daemon)}")
            check_limits(daemon)


def replaced_all_day():
    rearm_beside("replace")


def written_all_day():
    rearm_beside("touch")


def reload_keeps_open_runs():
    """The settings are reloaded while runs are open. Runs of an unchanged event continue,
    including nested ones, whatever happens to other events; those of an event with another
    threshold are dropped."""
    with Daemon(
        neighbour_event() + step_event(), recording='captures-per-hour="1000" cool-down="100ms"'
    ) as daemon:
        with in_two_runs() as program:
            daemon.write_settings(step_event())
            reload(daemon)
            check(
                daemon.event("step")["open"] == 2,
                f"{daemon.event('step')['open']} of 2 runs are open after it",
            )
            end_both(program)
            check_both_counted(daemon)
        with in_two_runs() as program:
            daemon.write_settings(step_event(threshold="20s"))
            reload(daemon)
            end_both(program)
            event = daemon.event("step")
            check(
                (event["runs"], event["abandoned"], event["open"]) == (2, 2, 0),
                f"runs of a changed event: {event}",
            )


def delay_noticed_before_a_reload():
    """A delay that was noticed while it was open, before the settings were reloaded, is counted
    once."""
    with Daemon(
        step_event(threshold="100ms"), recording='captures-per-hour="1000" cool-down="100ms"'
    ) as daemon:
        with in_two_runs() as program:
            daemon.wait_for_bundles(1)
            wait_for(lambda: daemon.event("step")["delays"] == 2, "both runs to be noticed")
            reload(daemon)
            check(
                daemon.event("step")["delays"] == 2,
                f"{daemon.event('step')['delays']} delays after the reload",
            )
            end_both(program)
            check_both_counted(daemon)
            check(
                daemon.event("step")["delays"] == 2,
                f"{daemon.event('step')['delays']} delays at the end",
            )


def maps_much_code():
    """A process with 60,000 mappings of code makes runs at ever new addresses: it is inspected
    less and less often, and the runs of the other user's program have resolved addresses."""
    mapped = library_event("mapped", HOSTILE, "10s", attributes='record="runs" stacks="markers"')
    neighbour = library_event(
        "work", PLANTED, "250ms", "2s", attributes='record="runs" stacks="markers"'
    )
    with Daemon(mapped + neighbour) as daemon, Hostile("map", 60_000):
        wait_for(lambda: daemon.status()["limited_looks"], "the hostile user to be limited")
        limited = daemon.status()["limited_looks"]
        check_neighbour(daemon)
        later = wait_for(
            lambda: next(
                (
                    user
                    for user in daemon.status()["limited_looks"]
                    if user["put_off"] > limited[0]["put_off"] + 1000
                ),
                None,
            ),
            "many places that are not looked up",
        )
        check(later["user"] == "nobody (65534)", f"another user was limited: {later}")
        # Measured by the clock, because an inspection may wait for what the process holds: on busy
        # CPUs one may take long for any process.
        others = [
            user for user in daemon.status()["limited_looks"] if user["user"] != "nobody (65534)"
        ]
        check(
            all(100 * user["put_off"] < later["put_off"] for user in others),
            f"others are limited too: {others}, {later}",
        )
        check(
            "inspecting processes of user nobody (65534) is slow" in status_text(daemon),
            status_text(daemon),
        )
        check_limits(daemon)


def no_room_for_signals():
    """A writer opens a watched file while no more signals can be queued: the daemon survives,
    and detaches from the file first."""
    with folder_of_nobody() as folder:
        own = copy_for(NOBODY, WATCHED, folder / "own")
        with Daemon(step_event(own)) as daemon:
            resource.prlimit(daemon.process.pid, resource.RLIMIT_SIGPENDING, (0, 0))
            with own.open("ab"):
                event = daemon.event("step")
                check(
                    not event["armed"] and "is being written" in event["problem"],
                    f"not left: {event['problem']}",
                )


def others_may_write():
    """A watched file in a folder where everybody can replace it: check, status and doctor say
    so."""
    with folder_of_nobody() as folder:
        own = copy_for(NOBODY, WATCHED, folder / "own")
        with Daemon(step_event(own)) as daemon:
            quiet = status_text(daemon)
            check(
                f"folder {folder} above" not in quiet,
                f"the status says what does not hold: {quiet}",
            )
        folder.chmod(0o777)
        said = f"folder {folder} above {own} is writable by everyone"
        with Daemon(step_event(own)) as daemon:
            check(said in status_text(daemon), f"not in the status: {status_text(daemon)}")
            checked = subprocess.run(
                [LAGTRAP, "check", daemon.settings_path], capture_output=True, text=True, check=True
            )
            check(f"warning: {said}" in checked.stderr, f"not said by check: {checked}")
            doctor = subprocess.run(
                [LAGTRAP, "doctor", "--json", "--settings", daemon.settings_path],
                text=True,
                capture_output=True,
                check=False,
            )
            check(said in doctor.stdout, f"not said by doctor: {doctor.stdout}")


def places_in(program, model):
    """The addresses of `model`'s markers in the memory of `program`, which has the same code."""

    def base(pid):
        with open(f"/proc/{pid}/maps") as maps:
            return int(maps.readline().split("-")[0], 16)

    return [place - base(model.pid) + base(program.pid) for place in model.markers()]


if __name__ == "__main__":
    run(
        swapped_for_a_link,
        slow_to_read,
        replaced_all_day,
        written_all_day,
        reload_keeps_open_runs,
        delay_noticed_before_a_reload,
        maps_much_code,
        no_room_for_signals,
        others_may_write,
    )
