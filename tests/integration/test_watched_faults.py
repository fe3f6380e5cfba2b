"""Watched programs that crash, are killed, exec, fork, are debugged or replaced while they are
probed: they print the same and end the same way as without the daemon, and no probes remain when
the daemon stops or is killed."""

import ctypes
import errno
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import PROGRAMS, Daemon, OwnedProcess, check, library_event, run, skip, wait_for

WATCHED = PROGRAMS / "faults" / "watched"
NOP, BREAKPOINT = b"\x90", b"\xcc"


def step_event(binary=WATCHED, threshold="10s", attributes=""):
    return library_event("step", binary, threshold, attributes=attributes)


def runs_of(daemon):
    return sum(bucket["count"] for bucket in daemon.event("step")["histogram"])


class Program(OwnedProcess):
    """A watched program, with its output and how it ended."""

    def __init__(self, what, binary=WATCHED):
        self.process = subprocess.Popen(
            [str(binary), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.printed = [self.process.stdout.readline()]

    @property
    def pid(self):
        return self.process.pid

    def say(self, line="go"):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self

    def ask(self, line):
        self.say(line)
        return self.read_line()

    def read_line(self):
        self.printed.append(self.process.stdout.readline())
        return self.printed[-1]

    def outcome(self):
        rest, _ = self.process.communicate(timeout=120)
        return "".join(self.printed) + rest, self.process.returncode

    def code_byte(self, address):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(address)
            return memory.read(1)

    def markers(self):
        """The addresses of the markers in its memory."""
        listed = subprocess.run(
            ["readelf", "--notes", "--wide", os.readlink(f"/proc/{self.pid}/exe")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        places = [
            int(place, 16)
            for place in re.findall(r"Name: step__\w+\s+Location: (0x[0-9a-f]+)", listed)
        ]
        check(places, f"no markers: {listed}")
        with open(f"/proc/{self.pid}/maps") as maps:
            base = int(maps.readline().split("-")[0], 16)
        return [base + place for place in places]

    def code(self):
        return {self.code_byte(place) for place in self.markers()}


class Gdb(OwnedProcess):
    """gdb, driven line by line: each command has ended when command() returns."""

    def __init__(self, pid):
        self.process = subprocess.Popen(
            ["gdb", "-nx", "-q"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.number = 0
        for setting in ("set pagination off", "set confirm off", "set debuginfod enabled off"):
            self.command(setting)
        attached = self.command(f"attach {pid}")
        check(
            "warning: process" not in attached and "ptrace" not in attached,
            f"gdb cannot attach: {attached}",
        )

    def send(self, line):
        self.number += 1
        self.process.stdin.write(f"{line}\necho \\nended-{self.number}\\n\n")
        self.process.stdin.flush()

    def answer(self):
        text = ""
        while f"\nended-{self.number}\n" not in text:
            line = self.process.stdout.readline()
            check(line, f"gdb ended: {text}")
            text += line
        return text

    def command(self, line):
        self.send(line)
        return self.answer()

    def quit(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait(60)


def same_as_without(act, check_daemon=None, what="serve"):
    """The outcome of `act(program)` without a daemon and with one; both must be equal."""
    outcomes = []
    with Program(what) as program:
        act(program)
        outcomes.append(program.outcome())
    with Daemon(step_event()) as daemon:
        with Program(what) as program:
            check(program.code() == {BREAKPOINT}, "the probes are not in the program")
            act(program)
            outcomes.append(program.outcome())
        if check_daemon:
            check_daemon(daemon)
    check(outcomes[0] == outcomes[1], f"without the daemon {outcomes[0]}, with it {outcomes[1]}")
    return outcomes[1]


def crash_in_a_run():
    _, status = same_as_without(
        lambda program: program.say(),
        what="crash",
        check_daemon=lambda daemon: wait_for(
            lambda: daemon.event("step")["abandoned"] == 1 and daemon.event("step")["open"] == 0,
            "the run to be given up",
        ),
    )
    check(status == -signal.SIGSEGV, f"ended with {status}")


def killed_in_a_run():
    def act(program):
        program.say().read_line()
        program.process.kill()

    _, status = same_as_without(
        act,
        what="wait",
        check_daemon=lambda daemon: wait_for(
            lambda: daemon.event("step")["abandoned"] == 1 and daemon.event("step")["open"] == 0,
            "the run to be given up",
        ),
    )
    check(status == -signal.SIGKILL, f"ended with {status}")


def exec_in_a_run():
    """The run ends with its program: it is dropped, is not a delay, and does not affect the next
    program's runs."""

    def act(program):
        program.say().read_line()
        program.read_line()

    with Program("exec") as program:
        act(program)
        expected = program.say().outcome()
    with Daemon(step_event()) as daemon, Program("exec") as program:
        act(program)
        check(runs_of(daemon) == 3, f"{runs_of(daemon)} runs counted of 3")
        wait_for(lambda: daemon.event("step")["abandoned"] == 1, "the run to be given up")
        event = daemon.event("step")
        check(event["open"] == event["unmatched_ends"] == event["delays"] == 0, f"{event}")
        outcome = program.say().outcome()
    check(
        outcome == expected and outcome[1] == 7, f"without the daemon {expected}, with it {outcome}"
    )


def fork_in_a_run():
    """The run is the parent's; what the child ends is not its own."""

    def look(daemon):
        event = daemon.event("step")
        check(
            runs_of(daemon) == 1 and event["unmatched_ends"] == 1 and event["open"] == 0, f"{event}"
        )

    same_as_without(lambda program: program.say(), look, what="fork")


def threads_that_leave_runs_open():
    same_as_without(
        lambda program: program.say(),
        lambda daemon: wait_for(
            lambda: daemon.event("step")["abandoned"] == 200 and daemon.event("step")["open"] == 0,
            "the runs to be given up",
        ),
        what="threads",
    )


def require_gdb():
    if not shutil.which("gdb"):
        skip("gdb is not installed")


def debugged_beside_the_markers():
    """Attached and detached, stopped at a function inside a run, and single-stepped over the
    markers."""

    def act(program):
        program.say().ask(5)
        with Gdb(program.pid) as gdb:
            gdb.command("detach")
            gdb.quit()
        program.ask(3)
        with Gdb(program.pid) as gdb:
            gdb.command("break work")
            gdb.send("continue")
            program.say(2)
            check("Breakpoint" in gdb.answer(), "gdb did not stop in the run")
            for _ in range(60):
                gdb.command("stepi")
            gdb.command("delete")
            gdb.command("detach")
            gdb.quit()
        program.read_line()
        program.ask(4)

    def look(daemon):
        event = daemon.event("step")
        check(
            runs_of(daemon) == 14 and event["open"] == 0 and event["unmatched_ends"] == 0,
            f"{event}",
        )

    same_as_without(act, look)


def stop_in_a_run(program, gdb):
    """Breakpoints on all markers and between two of them, and a stop at whichever comes first.
    While a marker has a probe, the kernel takes a breakpoint's trap at the same address for the
    probe's, and the debugger stops at the next."""
    for place in program.markers():
        gdb.command(f"break *{place:#x}")
    gdb.command("break work")
    gdb.send("continue")
    program.say(3)
    check("Breakpoint" in gdb.answer(), "gdb did not stop in the run")
    gdb.command("stepi")


def debugged_on_the_markers():
    def act(program):
        program.say().ask(5)
        with Gdb(program.pid) as gdb:
            stop_in_a_run(program, gdb)
            gdb.command("delete")
            gdb.command("detach")
            gdb.quit()
        program.read_line()
        program.ask(4)

    same_as_without(act)


def bpf_objects_of(pid):
    """Ids of the BPF programs and links that a process holds."""
    numbers = set()
    for one in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = one.read_text()
        except FileNotFoundError:  # closed meanwhile
            continue
        for kind in ("prog_id", "link_id"):
            if found := re.search(rf"^{kind}:\s+(\d+)$", text, re.M):
                numbers.add((kind, int(found.group(1))))
    return numbers


def bpf_object_exists(kind, number):
    get_program_by_id, get_link_by_id = 13, 30
    attributes = (ctypes.c_uint32 * 16)(number)
    libc = ctypes.CDLL(None, use_errno=True)
    command = get_program_by_id if kind == "prog_id" else get_link_by_id
    descriptor = libc.syscall(321, command, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if descriptor < 0:
        check(
            ctypes.get_errno() == errno.ENOENT, f"bpf({command}): {os.strerror(ctypes.get_errno())}"
        )
        return False
    os.close(descriptor)
    return True


def probes_come_out(end):
    with Program("serve") as program:
        with Daemon(step_event()) as daemon:
            program.say().ask(1000)
            check(program.code() == {BREAKPOINT}, "the probes are not in the program")
            objects = bpf_objects_of(daemon.process.pid)
            check(len(objects) > 3, f"the daemon holds {objects}")
            end(daemon)
            wait_for(lambda: program.code() == {NOP}, "the probes to be out")
            wait_for(
                lambda: not any(bpf_object_exists(*one) for one in objects),
                "the BPF programs and links to be gone",
            )
        program.ask(1000)
        _, status = program.outcome()
        check(status == 0, f"ended with {status}")


def probes_come_out_at_a_stop():
    probes_come_out(lambda daemon: daemon.stop())


def probes_come_out_when_the_daemon_is_killed():
    probes_come_out(lambda daemon: daemon.kill())


def probes_come_out_of_a_busy_program():
    """Detached and attached again while two programs hit markers all the time: no trap goes
    astray."""
    with Program("busy") as first, Program("busy") as second:
        programs = (first, second)
        for program in programs:
            program.say()
        for _ in range(2):
            with Daemon(step_event()) as daemon:
                wait_for(lambda: runs_of(daemon) > 1000, "runs to be counted")
                daemon.kill()
        for program in programs:
            program.say("enough")
            outcome = program.outcome()
            check(outcome == ("ready\nright\n", 0), f"{outcome}")


def detached_under_a_debugger():
    """The daemon stops while a debugger's breakpoint is on a marker."""

    def act(program, end):
        program.say().ask(5)
        with Gdb(program.pid) as gdb:
            stop_in_a_run(program, gdb)
            end()
            gdb.command("delete")
            gdb.command("detach")
            gdb.quit()
        program.read_line()
        program.ask(4)

    with Program("serve") as program:
        act(program, lambda: None)
        expected = program.outcome()
    with Daemon(step_event()) as daemon, Program("serve") as program:
        act(program, daemon.stop)
        outcome = program.outcome()
    check(outcome == expected, f"without the daemon {expected}, with it {outcome}")


def attached_under_a_debugger():
    """The daemon starts while a debugger's breakpoint is on a marker, and stops when the
    debugger is gone."""
    with Program("serve") as program:
        program.say().ask(5)
        with Gdb(program.pid) as gdb:
            stop_in_a_run(program, gdb)
            with Daemon(step_event()) as daemon:
                gdb.command("delete")
                gdb.command("detach")
                gdb.quit()
                program.read_line()
                program.ask(100)
        program.ask(4)
        _, status = program.outcome()
        check(status == 0, f"ended with {status}")


def replaced_on_disk():
    """A new file replaces the old one: old processes continue undisturbed, new ones are watched
    once it is noticed."""
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "watched"
        shutil.copy(WATCHED, binary)
        with Daemon(step_event(binary)) as daemon, Program("serve", binary) as old:
            old.say().ask(10)
            check(runs_of(daemon) == 10, f"{runs_of(daemon)} runs counted of 10")
            fresh = binary.with_suffix(".new")
            shutil.copy(WATCHED, fresh)
            fresh.rename(binary)
            wait_for(lambda: "was replaced on disk" in daemon.log(), "the daemon to notice")
            with Program("serve", binary) as new:
                new.say()
                wait_for(lambda: new.code() == {BREAKPOINT}, "the new file to be watched")
                new.ask(20)
                check(runs_of(daemon) == 30, f"{runs_of(daemon)} runs counted of 30")
                check(new.outcome()[1] == 0, "the new one did not end well")
            old.ask(10)
            check(old.outcome()[1] == 0, "the old one did not end well")


def overwritten_on_disk():
    """Another program is written into the same file, as cp does it: it runs correctly from the
    first moment."""
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "watched"
        shutil.copy(WATCHED, binary)
        with Daemon(step_event(binary)) as daemon:
            with Program("serve", binary) as program:
                program.say().ask(10)
                program.outcome()
            subprocess.run(["cp", "/bin/true", binary], check=True)
            done = [subprocess.run([binary], timeout=60).returncode for _ in range(5)]
            check(done == [0] * 5, f"/bin/true in its place ended with {done}")
            wait_for(lambda: "was replaced on disk" in daemon.log(), "the daemon to notice")
            subprocess.run(["cp", WATCHED, binary], check=True)
            wait_for(lambda: daemon.event("step")["armed"], "the program to be watched again")
            with Program("serve", binary) as program:
                program.say().ask(10)
                check(runs_of(daemon) == 20, f"{runs_of(daemon)} runs counted of 20")
                program.outcome()


if __name__ == "__main__":
    require_gdb()
    run(
        crash_in_a_run,
        killed_in_a_run,
        exec_in_a_run,
        fork_in_a_run,
        threads_that_leave_runs_open,
        probes_come_out_at_a_stop,
        probes_come_out_when_the_daemon_is_killed,
        probes_come_out_of_a_busy_program,
        debugged_beside_the_markers,
        debugged_on_the_markers,
        detached_under_a_debugger,
        attached_under_a_debugger,
        replaced_on_disk,
        overwritten_on_disk,
    )
