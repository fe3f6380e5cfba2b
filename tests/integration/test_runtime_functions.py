"""lagtrap functions of programs whose runtimes tell of their functions by probes of their own: Ruby, Java, Python."""

import pathlib
import re
import subprocess
import tempfile

from call_programs import FunctionTrace
from lagtrap_test import LAGTRAP, Daemon, OwnedProcess, check, check_trace, decode_trace, report, run, wait_for
from trace_client import idle_daemon

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "managed"
# Tests look at calls, not at what they cost on a busy machine.
PLENTY = ("--budget", "10000", "--rate", "50MB", "--min", "1us")
JDK = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
RUBY = ("/usr/bin/ruby", PROGRAMS / "shop.rb")
RUBY_TRACED = (*RUBY, "trace")
PYTHON = ("/usr/bin/python3", PROGRAMS / "shop.py")
NODE = ("/usr/bin/node", "-e", 'setInterval(() => {}, 1000); console.log("ready")')


class Shop(OwnedProcess):
    """Fills carts, whose checkout sleeps."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "ready\n", f"{command[0]} did not say that it is ready")
        self.pid = self.process.pid

    def say(self, carts, sleep_ms):
        self.process.stdin.write(f"{carts} {sleep_ms}\n")
        self.process.stdin.flush()

    def fill(self, carts, sleep_ms=0):
        """What all carts cost."""
        self.say(carts, sleep_ms)
        return int(self.process.stdout.readline())

    def file(self, pattern):
        """Path of a file that is mapped, and where its first byte would be."""
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text(encoding="ascii", errors="replace")
        begin, path = re.search(rf"(?m)^([0-9a-f]+)-\S+ \S+ 00000000 .* (/\S*{pattern}\S*)$", maps).groups()
        return path, int(begin, 16)

    def semaphores(self, pattern):
        """How often each of the runtime's probes of functions is asked for: what the runtime looks at before it tells."""
        path, begin = self.file(pattern)
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        fixed = "EXEC" in subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=True).stdout
        counts = {}
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            for name, place in re.findall(r"Name: (\w+__(?:entry|return))\n.*Semaphore: (0x[0-9a-f]+)", notes):
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


def unwatched(*arguments):
    with Shop(*RUBY_TRACED) as shop:
        return shop.fill(*arguments)


def calls_of(counts):
    return {name: row[1] for name, row in counts.items()}


def methods_of_ruby_are_counted_and_timed():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop:
        check(set(shop.semaphores("libruby").values()) == {0}, f"{shop.semaphores('libruby')}")
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            asked = {name for name, count in shop.semaphores("libruby").items() if count}
            check(asked == {"method__entry", "method__return"}, f"methods in C are not watched: {asked}")
            check(shop.fill(3, 50) == unwatched(3, 50), "the program's result")
            lines = trace.end()
        counts = trace.counts(lines)
        expected = {"Object#fill": 3, "Cart#initialize": 3, "Cart#add": 66, "Cart#discounted": 66, "Cart#checkout": 3}
        check(calls_of(counts) == expected, f"{calls_of(counts)}")
        slow = counts["Cart#checkout"]
        check(slow[3] >= 3 * 50_000_000 and slow[4] >= 50_000_000, f"it sleeps: {slow}")
        check(max(counts, key=lambda name: counts[name][3]) == "Cart#checkout", f"{counts}")
        check([trace.names[caller] for caller in slow[5]] == ["Object#fill"], f"{slow}")
        more = {row[0]: row for line in lines for row in line.get("more", ())}
        check(more["Cart#add"][7:] == [str(PROGRAMS / "shop.rb"), 10], f"{more['Cart#add']}")
        check(lines[-1]["ended_functions"]["runtimes"][0][0] == "Ruby", f"{lines[-1]}")
        check(lines[-1]["ended_functions"]["unnamed"] == 0, f"{lines[-1]}")
        wait_for(lambda: set(shop.semaphores("libruby").values()) == {0}, "nothing to be asked for")


def methods_in_c_are_watched_where_they_are_wanted():
    with idle_daemon() as daemon, Shop(*RUBY) as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY, "--include", "#sleep$") as trace:
            shop.fill(2, 50)
            lines = trace.end()
        counts = trace.counts(lines)
        check(calls_of(counts) == {"Kernel#sleep": 2} and counts["Kernel#sleep"][4] >= 50_000_000, f"{counts}")
        left_out = dict(lines[-1]["ended_functions"]["runtimes"][0][2])
        check(left_out["in C"] >= 2, f"{left_out}")


def methods_of_java_are_counted_and_timed_compiled_ones_too():
    with idle_daemon() as daemon, JavaShop("-XX:+DTraceMethodProbes") as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            check(not any("/jvm/" in path for path in trace.started["own_files"]), f"{trace.started['own_files']}")
            check(shop.fill(5000) == unwatched(5000), "the program's result")
            check(shop.fill(3, 50) == unwatched(3, 50), "the program's result")
            lines = trace.end()
        counts = trace.counts(lines)
        expected = {"Shop.fill": 5003, "Shop$Cart.<init>": 5003, "Shop$Cart.add": 22 * 5003, "Shop$Cart.discounted": 22 * 5003,
                    "Shop$Cart.checkout": 5003}
        ended = {name: value for name, value in lines[-1]["ended_functions"].items() if name != "totals"}
        check(calls_of(counts) == expected, f"{calls_of(counts)}: {ended}")
        # The classes that are loaded meanwhile call hundreds of functions of the language, which are taken out while they are open.
        check(ended["too_deep"] == 0, f"{ended}")
        slow = counts["Shop$Cart.checkout"]
        check(slow[4] >= 50_000_000 and [trace.names[caller] for caller in slow[5]] == ["Shop.fill"], f"{slow}")
        check(dict(lines[-1]["ended_functions"]["runtimes"][0][2])["library of the language"] >= 1, f"{lines[-1]}")


def functions_of_python_are_counted():
    """Debian's 3.11 tells ends alone: there are no times, and that is said."""
    with idle_daemon() as daemon, Shop(*PYTHON) as shop:
        check(set(shop.semaphores("python3").values()) == {0}, f"{shop.semaphores('python3')}")
        with FunctionTrace(daemon, shop.pid, *PLENTY) as trace:
            shop.fill(3, 50)
            lines = trace.end()
        totals = {trace.names[row[0]]: row for row in lines[-1]["ended_functions"]["totals"]}
        seen = {name.removeprefix("shop.py:"): row[1] + row[6] for name, row in totals.items()}
        check({name: seen[name] for name in ("fill", "add", "discounted", "checkout")} ==
              {"fill": 3, "add": 60, "discounted": 60, "checkout": 3}, f"{seen}")
        check(all(row[3] == row[4] == 0 for row in totals.values() if row[6]), f"no time is made up: {totals}")
        wait_for(lambda: set(shop.semaphores("python3").values()) == {0}, "nothing to be asked for")


def what_cannot_be_seen_is_said_with_what_to_do():
    def told(shop):
        done = subprocess.run([LAGTRAP, "functions", "--socket", daemon.socket_path, "--process", str(shop.pid), "--for", "200ms"],
                              capture_output=True, text=True)
        check(max(map(len, done.stdout.splitlines() or [""])) <= 80, done.stdout)
        return " ".join((done.stdout + done.stderr).split())

    with idle_daemon() as daemon:
        with Shop(*RUBY) as shop:
            text = told(shop)
            check("method__entry method__return" in text and "while a TracePoint is on" in text, text)
            check("put TracePoint.new(:call, :return) {}.enable at the program's begin" in text, text)
        with JavaShop() as shop:
            check("start it with -XX:+DTraceMethodProbes" in told(shop), told(shop))
        with Shop(*PYTHON) as shop:
            check("since 3.11 most calls have an end alone" in told(shop), told(shop))
        with Shop(*NODE) as shop:
            check("Node.js has no probes of functions" in told(shop), told(shop))


def slices_nest_as_the_calls_did():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "functions.pftrace"
        with FunctionTrace(daemon, shop.pid, "--budget", "10000", "--min", "20ms", "--output", path) as trace:
            shop.fill(2, 50)
            trace.end()
        slices = [(call["name"], call["depth"]) for call in decode_trace(path, 100_000)["calls"]]
        least = min(depth for _, depth in slices)
        check([(name, depth - least) for name, depth in slices] == 2 * [("Object#fill", 0), ("Cart#checkout", 1)], f"{slices}")


def a_recording_has_them():
    with Shop(*RUBY_TRACED) as shop:
        library, _ = shop.file("libruby")
        # It jumps to what sleeps, so its own runs are short.
        event = (f'<event name="work" threshold="1us" trace-length="3s"><function name="rb_thread_wait_for" binary="{library}"/>'
                 '<functions share="10000%" rate="10MiB" min="1us"/></event>')
        with Daemon(event) as daemon:
            def is_watched():
                traces = (daemon.event("work")["functions"] or {}).get("traces", [])
                return bool(traces) and shop.semaphores("libruby")["method__entry"] == 1

            shop.fill(1, 50)
            wait_for(is_watched, "the trace")
            shop.fill(2, 50)
            bundle = daemon.wait_for_bundles(1)[0]
            rows = {row["function"]: row for row in report(bundle)["delays"][0]["traced_functions"]["functions"]}
            check(rows["Cart#checkout"]["calls"] == 2 and rows["Cart#checkout"]["path"] == ["Object#fill"], f"{rows}")
            check(rows["Cart#add"]["source"].endswith("shop.rb") and rows["Cart#add"]["line"] == 10, f"{rows['Cart#add']}")
            names = [call["name"] for call in check_trace(bundle, 100_000)["function_calls"]]
            check(names.count("Cart#checkout") == 2, f"{names}")


def what_costs_too_much_is_watched_in_turns():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop, FunctionTrace(daemon, shop.pid, "--budget", "20") as trace:
        for _ in range(500):
            shop.say(5000, 0)

        def is_asked_for():
            return shop.semaphores("libruby")["method__entry"] == 1

        check(is_asked_for(), "the probes are in at first")
        wait_for(lambda: not is_asked_for(), "the probes to go out")
        wait_for(is_asked_for, "the probes to come back")
        ended = trace.end()[-1]["ended_functions"]
        check(ended["runtimes"][0][3] < ended["length_ns"], f"{ended['runtimes']}")


def probes_are_out_when_the_daemon_is_killed():
    with idle_daemon() as daemon, Shop(*RUBY_TRACED) as shop:
        with FunctionTrace(daemon, shop.pid, *PLENTY):
            check(shop.semaphores("libruby")["method__entry"] == 1, "a probe is in")
            daemon.kill()
            wait_for(lambda: set(shop.semaphores("libruby").values()) == {0}, "the kernel to take them out")
        check(shop.fill(3) == unwatched(3), "the program's result")


run(methods_of_ruby_are_counted_and_timed, methods_in_c_are_watched_where_they_are_wanted,
    methods_of_java_are_counted_and_timed_compiled_ones_too, functions_of_python_are_counted,
    what_cannot_be_seen_is_said_with_what_to_do, slices_nest_as_the_calls_did, a_recording_has_them,
    what_costs_too_much_is_watched_in_turns, probes_are_out_when_the_daemon_is_killed)
