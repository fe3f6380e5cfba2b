"""`lagtrap live` in an 80 by 24 terminal with a real daemon: events as they run, delays as they
occur, its keys, resizing, and a terminal that is restored however it ends."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    Daemon,
    Watched,
    check,
    library_event,
    run,
    skip,
    wait_for,
)

# Debian's packages are also found if another Python is first in PATH; this one has no compiled
# part.
sys.path.append("/usr/lib/python3/dist-packages")
try:
    import pyte
except ImportError as missing:
    skip(f"Debian's python3-pyte is needed: {missing}")


class Screen:
    """The program in a terminal, and what a person would see."""

    def __init__(self, *arguments, columns=80, rows=24):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.slave = slave

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [LAGTRAP, "live", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=own_terminal,
            env={**os.environ, "TERM": "xterm-256color"},
        )

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if kind is not None:
            print("--- the screen\n" + "\n".join(self.lines()) + "\n---")
        os.close(self.master)
        os.close(self.slave)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            self.stream.feed(data)

    def lines(self):
        self.read()
        return [line.rstrip() for line in self.screen.display]

    def shows(self, pattern, what=None):
        def found():
            check(self.process.poll() is None, f"it ended with {self.process.poll()}")
            return re.search(pattern, "\n".join(self.lines()), re.M)

        return wait_for(found, what or f"the screen to show {pattern!r}")

    def press(self, keys):
        os.write(self.master, keys.encode())

    def check_restored(self):
        """As a shell would find it: the main screen, a cursor, echo, line wrapping."""
        self.read()
        check(
            self.raw.count(b"\x1b[?1049h") == self.raw.count(b"\x1b[?1049l"),
            "the other screen is still there",
        )
        for on, off in ((b"\x1b[?25h", b"\x1b[?25l"), (b"\x1b[?7h", b"\x1b[?7l")):
            check(self.raw.rfind(on) > self.raw.rfind(off), f"{off} is not taken back")
        check(
            termios.tcgetattr(self.slave) == self.before,
            "the terminal has other settings than before",
        )


def live(daemon, *arguments, **size):
    return Screen("--socket", daemon.socket_path, "--spool", daemon.spool, *arguments, **size)


def keys_and_delays(daemon):
    with live(daemon) as screen:
        screen.shows(r"^lagtrap \S+  up ")
        screen.shows(r"^> work +50\.0 ms")
        screen.shows(r"no delays since")
        check(
            len(screen.lines()) == 24 and screen.lines()[-1].startswith("q quit"),
            "the keys are not in the last line",
        )
        with Watched(
            PLANTED, "--kind", "sleep", "--fast", 60, "--slow-ms", 200, "--wait"
        ) as program:
            program.go().result()
        row = screen.shows(
            r"^> work +50\.0 ms +([\d.,]+) +1 +(\S+ \S+) +(\S+ \S+) +(\S+ %) +(\S+ %)$",
            "the event's row",
        )
        check(float(row[1].replace(",", "")) > 0, f"runs a second: {row[0]}")
        check(row[2].endswith("us"), f"the median is not that of the fast runs: {row[0]}")
        check(int(row[5].split()[0]) > 50, f"a run that slept is not blocked: {row[0]}")
        screen.shows(r"\d\d:\d\d:\d\d  work: 1 run over 50\.0 ms$")
        screen.shows(r"\d\d:\d\d:\d\d  work took \d+ ms: planted_delays \(\d+\)$")

        screen.press("r")
        screen.shows(r"^work took \d+ ms; its threshold is 50\.0 ms$")
        screen.shows(r"^q back .* line 1 of \d+$")
        screen.press("\x1b[6~")
        screen.shows(r"^q back .* line (?!1 )\d+ of \d+$")
        screen.press("q")
        screen.shows(r"^> work ")
        screen.press("\x1b[B")
        screen.shows(r"^> other ")
        screen.press("e")
        screen.shows(r"^other", "the explanation")
        screen.press("\x1b")
        screen.shows(r"^> other ")
        made = daemon.status()["captures"]["done"]
        screen.press("t")
        screen.shows(r"^recording for other$")
        wait_for(lambda: daemon.status()["captures"]["done"] > made, "the recording")
        screen.press("p")
        screen.shows(r"^paused")
        screen.press("\x1b[A")
        screen.shows(r"^> work ")
        before = screen.lines()
        made = daemon.status()["captures"]["done"]
        daemon.ask("trigger", event="work")
        wait_for(lambda: daemon.status()["captures"]["done"] > made, "the recording")
        screen.press("\x1b[B")
        screen.shows(r"^> other ")
        check(
            [line.lstrip("> ") for line in screen.lines()[1:]]
            == [line.lstrip("> ") for line in before[1:]],
            f"the screen changes while it is paused: {before} {screen.lines()}",
        )
        screen.press("p")

        for columns, rows in ((100, 40), (60, 12), (80, 24)):
            screen.resize(columns, rows)
            wait_for(
                lambda: len(screen.lines()) == rows
                and screen.lines()[-1].startswith("q quit")
                and screen.lines()[0].startswith("lagtrap"),
                f"a screen of {columns} by {rows}",
            )
        screen.press("q")
        check(screen.process.wait(timeout=60) == 0, "q is no good end")
        screen.check_restored()


def ends_cleanly(daemon):
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with live(daemon) as screen:
            screen.shows(r"^> work ")
            screen.process.send_signal(signal_number)
            check(
                screen.process.wait(timeout=60) == -signal_number, f"{signal_number} did not end it"
            )
            screen.check_restored()
    with live(daemon) as screen:
        screen.shows(r"^> work ")
        screen.press("\x03")
        check(screen.process.wait(timeout=60) == -signal.SIGINT, "Ctrl-C did not end it")
        screen.check_restored()
    with live(daemon) as screen:
        screen.shows(r"^> work ")
        screen.press("\x1a")
        wait_for(
            lambda: os.waitpid(screen.process.pid, os.WUNTRACED | os.WNOHANG)[0],
            "Ctrl-Z to stop it",
        )
        screen.check_restored()
        screen.raw = b""
        screen.process.send_signal(signal.SIGCONT)
        wait_for(
            lambda: screen.read() or b"> work" in screen.raw.replace(b"\x1b[1m", b""), "it to go on"
        )
        screen.press("q")
        screen.process.wait(timeout=60)


def daemon_goes_and_comes(daemon):
    with live(daemon) as screen:
        screen.shows(r"^> work ")
        daemon.stop()
        screen.shows(r"^lagtrapd is not running")
        daemon.start()
        screen.shows(r"recordings? made$")
        screen.press("q")
        screen.process.wait(timeout=60)
    piped = subprocess.run(
        [LAGTRAP, "live", "--socket", daemon.socket_path], capture_output=True, text=True
    )
    check(
        piped.returncode == 1 and "needs a terminal" in piped.stderr and not piped.stdout,
        f"{piped}",
    )


def screen_follows_the_daemon():
    os.environ["TZ"] = "UTC"
    time.tzset()
    events = library_event("work", PLANTED, "50ms", "500ms", ("prepare", "execute", "finish"))
    events += (
        f'<event name="other" threshold="10s" trace-length="200ms" copies="none">'
        f'<function name="planted_sleep" binary="{PLANTED.resolve()}"/></event>'
    )
    with Daemon(events) as daemon:
        keys_and_delays(daemon)
        ends_cleanly(daemon)
        daemon_goes_and_comes(daemon)


if __name__ == "__main__":
    run(screen_follows_the_daemon)
