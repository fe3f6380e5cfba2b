"""`lagtrap why`: what a process does or waits for right now, without settings and without a
service."""

import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from case import World  # noqa: E402  (the path is set above)
from control_groups import command_in, hierarchy  # noqa: E402
from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    SOURCE_DIR,
    Daemon,
    Watched,
    check,
    library_event,
    report,  # noqa: E402
    require_bpf,
    run,
    wait_for,
)


def why(*words, code=0, socket="/none", **more):
    done = subprocess.run(
        [LAGTRAP, "why", *[str(word) for word in words], "--socket", socket],
        capture_output=True,
        text=True,
        timeout=300,
        **more,
    )
    check(
        done.returncode == code,
        f"lagtrap why ended with {done.returncode}: {done.stdout}{done.stderr}",
    )
    return done


def start_stuck(world, sellers, pool):
    world.fifo = world.folder / "deliveries"
    os.mkfifo(world.fifo)
    stuck = world.start(
        PROGRAMS / "stuck", world.fifo, str(sellers), str(pool), stdout=subprocess.PIPE, text=True
    )
    check(stuck.stdout.readline() == "ready\n", "stuck did not start")
    return stuck


def run_in(told, function):
    """The run whose cause names this function."""
    return next((one for one in told["runs"] if function in json.dumps(one["causes"])), None)


def a_hang_is_explained():
    """The report says what each thread waits for; threads without work share a line."""
    with World() as world:
        stuck = start_stuck(world, sellers=3, pool=5)
        told = json.loads(why(stuck.pid, "--for", "500ms", "--json").stdout)
        check(
            told["pid"] == stuck.pid and told["process"] == "stuck" and told["threads"] == 11, told
        )
        sellers, holder = run_in(told, "sell"), next(
            (one for one in told["runs"] if "file" in one), None
        )
        check(sellers and len(sellers["others"]) == 2 and not sellers["waits_for_work"], told)
        sentences = " ".join(sellers["causes"]["sentences"])
        check(
            "for a lock" in sentences and "read_delivery" in sentences,
            "the lock's owner is not named: " + sentences,
        )
        check(sellers["blocked_ns"] == sellers["wall_ns"], sellers)
        check(holder and "read_delivery" in json.dumps(holder["causes"]), told)
        check(f"on the pipe {world.fifo}" in json.dumps(holder["causes"]["sentences"]), holder)
        check(
            str(world.fifo) in holder["file"] and "no other process has open" in holder["file"],
            holder,
        )
        pool = run_in(told, "take_job")
        check(
            pool["waits_for_work"]
            and len(pool["others"]) == 4
            and run_in(told, "serve")["waits_for_work"],
            told,
        )
        text = why(stuck.pid, "--for", "200ms").stdout
        for line in text.splitlines():
            check(len(line) <= 80, line)
        check("6 more threads wait for work" in text, text)


def a_busy_process_is_explained():
    with World() as world:
        busy = world.start(sys.executable, "-c", "while True: pass")
        told = json.loads(why(busy.pid, "--for", "500ms", "--json").stdout)
        run_of_it = told["runs"][0]
        check(
            run_of_it["blocked_ns"] < run_of_it["wall_ns"] / 2 and not run_of_it["waits_for_work"],
            run_of_it,
        )
        # On a busy machine most of it may wait for a CPU.
        check(re.search("Computed|CPU", " ".join(run_of_it["causes"]["sentences"])), run_of_it)


def a_crowd_fits_on_a_screen():
    with World() as world:
        stuck = start_stuck(world, sellers=250, pool=250)
        lines = why(stuck.pid, "--for", "200ms").stdout.splitlines()
        check(len(lines) <= 40, lines)
        check(
            any("250 threads" in line for line in lines) and all(len(line) <= 80 for line in lines),
            lines,
        )


NEVER = (
    '<event name="never" threshold="1h" trace-length="5min">'
    '<begin tracepoint="syscalls:sys_enter_sync"/>'
    '<end tracepoint="syscalls:sys_exit_sync"/></event>'
)


def the_daemon_that_runs_records():
    with World() as world, Daemon(NEVER) as daemon:
        stuck = start_stuck(world, sellers=1, pool=0)
        told = json.loads(
            why(stuck.pid, "--for", "300ms", "--json", socket=str(daemon.socket_path)).stdout
        )
        check(run_in(told, "sell") and 300_000_000 <= told["length_ns"], told)
        check("for a client" in daemon.log(), "whose recording was it? " + daemon.log())


def clients_folder_is_empty(daemon):
    return not list((daemon.spool / "clients").iterdir())


def it_takes_nothing_from_events():
    """Neither cool-down nor the recordings of the hour; and the uploader gets nothing to send."""
    with Daemon(NEVER, recording='cool-down="1h" captures-per-hour="1"') as daemon:
        for _ in range(2):
            why(os.getpid(), "--for", "100ms", socket=str(daemon.socket_path))
            status = daemon.status()
            check(
                status["state"] == "waiting" and status["captures"]["done"] == 0,
                f"{status['state']} {status['captures']}",
            )
            never = daemon.event("never")
            check(never["without_recordings"] is None and never["recordings"] == 0, f"{never}")
        check(not daemon.bundles(), f"in the spool: {daemon.bundles()}")
        wait_for(lambda: clients_folder_is_empty(daemon), "the recordings to go")


@contextlib.contextmanager
def why_that_records(daemon):
    asked = subprocess.Popen(
        [LAGTRAP, "why", str(os.getpid()), "--for", "10min", "--socket", daemon.socket_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: daemon.status()["capture"], "the recording to begin")
        yield asked
    finally:
        asked.kill()
        asked.communicate()


def as_its_unit_confines_it(folder):
    """A command that becomes the daemon: with the capabilities of the unit, and read-only files
    except in `folder`."""
    unit = (SOURCE_DIR / "packaging" / "systemd" / "lagtrapd.service").read_text()
    names = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1).split()
    kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in names)
    script = (
        f"mount --bind {folder} {folder} && mount -o remount,bind,ro / && umask 0077 && "
        f'exec setpriv --bounding-set=-all,{kept} --no-new-privs "$@"'
    )
    return ("unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh")


def a_confined_daemon_records():
    daemon = Daemon(NEVER)
    daemon.prefix = as_its_unit_confines_it(daemon.folder)
    with daemon:
        told = json.loads(
            why(os.getpid(), "--for", "100ms", "--json", socket=str(daemon.socket_path)).stdout
        )
        check(told["pid"] == os.getpid() and "for a client" in daemon.log(), daemon.log())
        wait_for(lambda: clients_folder_is_empty(daemon), "the recording to go")
        check(
            "Permission denied" not in daemon.log() and "Read-only" not in daemon.log(),
            daemon.log(),
        )


def the_status_names_the_client():
    with Daemon(NEVER) as daemon, why_that_records(daemon) as asked:
        capture = daemon.status()["capture"]
        check(
            capture["client"] == {"pid": asked.pid, "uid": 0} and capture["event"] is None,
            f"{capture}",
        )
        shown = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check(f"recording for a client, process {asked.pid} of" in shown, shown)


def a_delay_in_it_is_kept():
    """A delay that happens meanwhile would have begun a recording: this one is also the event's."""
    with Daemon(
        NEVER + library_event("work", PLANTED, "50ms"),
        recording='cool-down="1h" captures-per-hour="100"',
    ) as daemon:
        with why_that_records(daemon) as asked:
            with Watched(
                PLANTED, "--kind", "sleep", "--fast", 1, "--slow-ms", 120, "--wait"
            ) as program:
                program.go().result()
            wait_for(lambda: daemon.event("work")["delays"] == 1, "the delay")
            asked.send_signal(signal.SIGINT)
            output, errors = asked.communicate(timeout=300)
            check(asked.returncode == 0, output + errors)
        bundle = daemon.wait_for_bundles(1)[0]
        check(
            [delay["event"] for delay in report(bundle)["delays"]] == ["work"],
            report(bundle)["delays"],
        )
        check(
            daemon.event("work")["without_recordings"]["reason"] == "cool-down",
            "the delay was recorded",
        )
        check(daemon.event("never")["without_recordings"] is None, "it had no delay")
        check(
            daemon.event("work")["recordings"] == 1 and daemon.event("never")["recordings"] == 0,
            "whose recording is it?",
        )
        wait_for(lambda: clients_folder_is_empty(daemon), "the rest to go")


def a_killed_client_leaves_nothing_with_the_daemon():
    with Daemon(NEVER) as daemon:
        with why_that_records(daemon):
            pass
        wait_for(lambda: not daemon.status()["capture"], "the recording to end")
        wait_for(lambda: clients_folder_is_empty(daemon), "the recording to go")
        status = daemon.status()
        check(status["captures"]["failed"] == 0 and not daemon.bundles(), f"{status['captures']}")
        check(not list((daemon.spool / "captures").iterdir()), "a capture is left")


def a_unit_is_explained():
    """All processes of the unit's control group."""
    unit = f"lagtrap-test-{os.getpid()}.service"
    group = hierarchy() / unit
    with contextlib.ExitStack() as ends, World() as world:
        group.mkdir()
        ends.callback(group.rmdir)
        ends.callback(
            wait_for,
            lambda: not (group / "cgroup.procs").read_text(),
            "the unit's processes to end",
        )
        world.fifo = world.folder / "deliveries"
        os.mkfifo(world.fifo)
        world.start(
            *command_in(group, PROGRAMS / "stuck", world.fifo, "2", "3"), stdout=subprocess.PIPE
        )
        world.start(*command_in(group, sys.executable, "-c", "while True: pass"))
        world.start(*command_in(group, "sleep", "100"))
        told = json.loads(why(unit, "--for", "600ms", "--json").stdout)
        names = {process["process"] for process in told["processes"]}
        check(
            told["target"] == unit and {"stuck", "sleep"} <= names and len(told["processes"]) == 3,
            told["processes"],
        )
        check(run_in(told, "sell")["process"] == "stuck", told)
        text = why(unit, "--for", "200ms").stdout
        check(re.match(rf"{unit}, 3 processes, \d+ threads, over", text), text)
        check(re.search(r"^2 threads such as stuck \(\d+\) of stuck \(\d+\)", text, re.M), text)
        check(all(len(line) <= 80 for line in text.splitlines()), text)


def several_processes_of_a_name_are_explained():
    with World() as world:
        name = f"many-{os.getpid()}"
        program = world.folder / name
        program.symlink_to("/usr/bin/sleep")
        for _ in range(3):
            world.start(program, "100")
        wait_for(
            lambda: len(
                subprocess.run(
                    ["pgrep", "-x", name], capture_output=True, check=False
                ).stdout.split()
            )
            == 3,
            "the processes",
        )
        text = why(name, "--for", "200ms").stdout
        check(
            text.startswith(f"{name}, 3 processes, 3 threads, over")
            and "3 threads such as" in text,
            text,
        )


def it_repeats_until_interrupted():
    """Without a terminal, one report follows the other; on one, it replaces the one before."""
    with World() as world:
        stuck = start_stuck(world, sellers=1, pool=250)
        words = [LAGTRAP, "why", str(stuck.pid), "--for", "100ms", "--watch"]
        asked = subprocess.Popen(
            [*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3):
            check(run_in(json.loads(asked.stdout.readline()), "sell"), "no report")
        asked.send_signal(signal.SIGINT)
        output, errors = asked.communicate(timeout=60)
        check(asked.returncode == 0 and not errors, f"{asked.returncode}: {output}{errors}")
        control, terminal = pty.openpty()
        asked = subprocess.Popen(
            words, stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, start_new_session=True
        )
        os.close(terminal)
        shown = b""
        while shown.count(b"\x1b[H\x1b[2J") < 2:
            shown += os.read(control, 65536)
        asked.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):
            while more := os.read(control, 65536):
                shown += more
        check(asked.wait(timeout=60) == 0, asked.stderr.read())
        os.close(control)
        screen = shown.split(b"\x1b[H\x1b[2J")[1]
        check(b"stuck (" in screen and screen.count(b"\n") < 24, screen)


def processes_below(pid):
    """All descendants of the process."""
    parents = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int(
                (process / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except (OSError, IndexError):
            continue
    below, found = {pid}, set()
    while below:
        below = {child for child, parent in parents.items() if parent in below} - found
        found |= below
    return found


def nothing_is_left_behind():
    """If killed while it records, it leaves neither processes nor files behind."""
    with World() as world, tempfile.TemporaryDirectory() as folder:
        stuck = start_stuck(world, sellers=1, pool=0)
        asked = subprocess.Popen(
            [LAGTRAP, "why", str(stuck.pid), "--for", "10min", "--socket", "/none"],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": folder},
        )
        try:
            check("Recording" in asked.stderr.readline(), "it does not record")
            wait_for(lambda: list(pathlib.Path(folder).glob("*/spool/captures/*")), "a recording")
            started = processes_below(asked.pid)
            check(started, "no daemon")
        finally:
            asked.send_signal(signal.SIGKILL)
            asked.wait()
        wait_for(
            lambda: not any(pathlib.Path("/proc", str(pid)).exists() for pid in started),
            "its processes to end",
        )
        wait_for(lambda: not list(pathlib.Path(folder).iterdir()), "its files to go")
        # After Ctrl-C it still reports what it has recorded.
        asked = subprocess.Popen(
            [LAGTRAP, "why", str(stuck.pid), "--for", "10min", "--socket", "/none"],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": folder},
        )
        check("Recording" in asked.stderr.readline(), "it does not record")
        wait_for(lambda: list(pathlib.Path(folder).glob("*/spool/captures/*")), "a recording")
        asked.send_signal(signal.SIGINT)
        text, errors = asked.communicate(timeout=300)
        check(asked.returncode == 0 and "for a lock" in text, text + errors)
        check(not list(pathlib.Path(folder).iterdir()), "files are left")


def command_json(*words, code=0, options=(), **more):
    """The report (the last line of standard error), the command's output, and its other lines on
    standard error."""
    done = subprocess.run(
        [LAGTRAP, "why", "--json", "--socket", "/none", *options, "--", *words],
        capture_output=True,
        text=True,
        timeout=300,
        **more,
    )
    check(done.returncode == code, f"ended with {done.returncode}: {done.stdout}{done.stderr}")
    *before, last = done.stderr.splitlines()
    return json.loads(last), done.stdout, before


def a_command_is_explained():
    """The shell waits for a child that sleeps. Its output and exit status are passed through."""
    told, output, errors = command_json(
        "sh", "-c", "echo begun; sleep 0.4; echo trouble >&2; exit 3", code=3
    )
    check(output == "begun\n" and errors == ["trouble"], (output, errors))
    check(told["exit_status"] == 3 and told["took_ns"] >= 400_000_000, told)
    sleep = next(
        (
            part
            for part in told["parts"]
            if part["process"] == "sleep" and part["reason"] == "sleep"
        ),
        None,
    )
    check(sleep and sleep["time_ns"] > told["wall_ns"] / 3, told["parts"])
    check(sum(part["time_ns"] for part in told["parts"]) == told["wall_ns"], told)
    check(
        any("sleep 0.4" in started["command_line"] for started in told["started"]), told["started"]
    )
    longest = told["waits"][0]
    check(
        longest["reason"] == "child process" and longest["ended_by"]["process"] == "sleep", longest
    )


def a_command_beyond_the_limit():
    told, _, _ = command_json("sleep", "1.5", options=("--limit", "300ms"))
    check(told["beyond_limit"] and told["wall_ns"] < told["took_ns"], told)
    check(told["took_ns"] >= 1_500_000_000, told)


def the_report_goes_into_a_file():
    """The command's output and errors stay alone; a bad name is known before the command runs."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "why.json"
        words = [LAGTRAP, "why", "--json", "--socket", "/none"]
        done = subprocess.run(
            [*words, "-o", file, "--", "sh", "-c", "echo out; echo err >&2; exit 3"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        check((done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n"), f"{done}")
        check(json.loads(file.read_text())["exit_status"] == 3, file.read_text())
        done = subprocess.run(
            [*words, "-o", file / "none", "--", "echo", "out"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        check(done.returncode == 125 and not done.stdout and "--output: " in done.stderr, f"{done}")
        why(os.getpid(), "--for", "100ms", "-o", file)
        check("recording cost" in file.read_text(), file.read_text())


def a_command_is_of_the_user_who_calls():
    told, output, _ = command_json(
        "id", "-u", env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
    )
    check(output == "65534\n", output)
    check(told["exit_status"] == 0, told)


def commands_that_do_not_run():
    def fails(code, words, text):
        done = subprocess.run(
            [LAGTRAP, "why", "--socket", "/none", "--", *words],
            capture_output=True,
            text=True,
            timeout=300,
        )
        check(
            done.returncode == code and text in done.stderr and not done.stdout,
            f"{done.returncode}: {done.stdout}{done.stderr}",
        )

    fails(127, ["/no/such/command"], "No such file or directory")
    fails(126, ["/etc/passwd"], "Permission denied")
    done = subprocess.run(
        [LAGTRAP, "why", "--socket", "/none", "--", "sh", "-c", "kill -9 $$"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    check(done.returncode == 128 + signal.SIGKILL, done)


def what_is_wrong_is_said():
    check("no process 4194303" in why(4194303, code=1).stderr, "a number")
    check(
        "no process is named no-such-thing, and the unit no-such-thing.service has no processes"
        in why("no-such-thing", code=1).stderr,
        "a name",
    )
    check(
        "the unit no-such.timer has no processes" in why("no-such.timer", code=1).stderr, "a unit"
    )
    check(
        "--for: expected 10ms to 10min" in why(os.getpid(), "--for", "1ms", code=1).stderr, "a time"
    )
    check(
        "why: a process or unit or, after --, a command is required" in why(code=2).stderr,
        "nothing",
    )


if __name__ == "__main__":
    require_bpf()
    run(
        a_hang_is_explained,
        a_busy_process_is_explained,
        a_crowd_fits_on_a_screen,
        a_unit_is_explained,
        several_processes_of_a_name_are_explained,
        it_repeats_until_interrupted,
        the_daemon_that_runs_records,
        it_takes_nothing_from_events,
        a_delay_in_it_is_kept,
        a_killed_client_leaves_nothing_with_the_daemon,
        nothing_is_left_behind,
        the_status_names_the_client,
        a_confined_daemon_records,
        the_report_goes_into_a_file,
        a_command_is_explained,
        a_command_beyond_the_limit,
        a_command_is_of_the_user_who_calls,
        commands_that_do_not_run,
        what_is_wrong_is_said,
    )
