"""The programs in Python, Ruby, Java and JavaScript whose functions the tests trace."""

import pathlib
import re
import subprocess
import tempfile

from lagtrap_test import OwnedProcess, check

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "managed"
JDK = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
RUBY = ("/usr/bin/ruby", PROGRAMS / "shop.rb")
RUBY_TRACED = (*RUBY, "trace")
PYTHON = ("/usr/bin/python3", PROGRAMS / "shop.py")
NODE = ("/usr/bin/node", "-e", 'setInterval(() => {}, 1000); console.log("ready")')


class Shop(OwnedProcess):
    """Fills carts, whose checkout sleeps."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(
            self.process.stdout.readline() == "ready\n",
            f"{command[0]} did not say that it is ready",
        )
        self.pid = self.process.pid

    def say(self, carts, sleep_ms):
        self.process.stdin.write(f"{carts} {sleep_ms}\n")
        self.process.stdin.flush()

    def fill(self, carts, sleep_ms=0):
        """The cost of all carts."""
        self.say(carts, sleep_ms)
        return int(self.process.stdout.readline())

    def file(self, pattern):
        """Path of a mapped file, and the address of its first byte."""
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text(encoding="ascii", errors="replace")
        begin, path = re.search(
            rf"(?m)^([0-9a-f]+)-\S+ \S+ 00000000 .* (/\S*{pattern}\S*)$", maps
        ).groups()
        return path, int(begin, 16)

    def semaphores(self, pattern):
        """The counts of the semaphores of the runtime's function probes, which the runtime
        checks before it reports."""
        path, begin = self.file(pattern)
        notes = subprocess.run(
            ["readelf", "-n", path], capture_output=True, text=True, check=True
        ).stdout
        fixed = (
            "EXEC"
            in subprocess.run(
                ["readelf", "-h", path], capture_output=True, text=True, check=True
            ).stdout
        )
        counts = {}
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            for name, place in re.findall(
                r"Name: (\w+__(?:entry|return))\n.*Semaphore: (0x[0-9a-f]+)", notes
            ):
                if re.fullmatch("c?method__.*|function__.*", name):
                    memory.seek(int(place, 16) + (0 if fixed else begin))
                    counts[name] = int.from_bytes(memory.read(2), "little")
        return counts


class JavaShop(Shop):
    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([JDK / "javac", "-d", self.folder.name, PROGRAMS / "Shop.java"], check=True)
        super().__init__(JDK / "java", *options, "-cp", self.folder.name, "Shop")

    def __exit__(self, *what):
        super().__exit__(*what)
        self.folder.cleanup()


class Rounds(OwnedProcess):
    """Does what each line says, and repeats the line."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        check(
            self.process.stdout.readline() == "ready\n",
            f"{command[0]} did not say that it is ready",
        )
        self.pid = self.process.pid

    def run(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == f"{line}\n", f"{line} did not end")


class ManyFunctions(Rounds):
    """A Java class with this many functions, which two threads call in step."""

    def __init__(self, count):
        self.folder = tempfile.TemporaryDirectory()
        functions = "\n".join(
            f"static int f{number}(int from) {{ return from + {number}; }}"
            for number in range(count)
        )
        cases = "".join(f"case {number}: f{number}(number); return; " for number in range(count))
        source = (
            (PROGRAMS / "Many.java")
            .read_text(encoding="utf-8")
            .replace(
                "//FUNCTIONS",
                f"static final int COUNT = {count};\n{functions}\n"
                f"static void call(int number) {{ switch (number) {{ {cases}}} }}",
            )
        )
        path = pathlib.Path(self.folder.name, "Many.java")
        path.write_text(source, encoding="utf-8")
        subprocess.run([JDK / "javac", "-d", self.folder.name, path], check=True)
        super().__init__(JDK / "java", "-XX:+DTraceMethodProbes", "-cp", self.folder.name, "Many")

    def __exit__(self, *what):
        super().__exit__(*what)
        self.folder.cleanup()
