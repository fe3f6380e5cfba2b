"""lagtrap objects: what creates, uses and releases objects of programs that know what they do."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile

from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, OwnedProcess, check, report, run, wait_for

SETTINGS = '<event name="idle" threshold="1h" trace-length="1s"><begin tracepoint="syscalls:sys_enter_fsync"/>' \
           '<end tracepoint="syscalls:sys_exit_fsync"/></event>'
PROGRAM = (BUILD_DIR / "tests" / "integration" / "programs" / "objects").resolve()
# Tests look at calls, not at what they cost on a busy machine.
PLENTY = ("--budget", "10000", "--rate", "1000000")
HANDLES = ("--name", "handle", "--create", "handle_open:arg1* handle_open_quickly:arg1*", "--use", "handle_use:arg0",
           "--release", "handle_close:arg0", "--message", "handle_error:result", "--error", "nonzero")
CLASSES = ("--class", "Item|Gadget")
CREATED, RELEASED, TWICE = 2, 3, 5
PYTHON = """
import sqlite3, sys
print("ready", flush=True)
sys.stdin.readline()
for n in range(20):
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a)")
    try:
        db.execute("select * from nothing%d" % n)
    except sqlite3.Error:
        pass
    db.close()
print("done", flush=True)
sys.stdin.readline()
"""


class Program(OwnedProcess):
    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "ready\n", "the program did not say that it is ready")

    def run(self, mode, count=1):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == mode + "\n", f"{mode} did not end")


class Watch:
    """lagtrap objects --json of a process, from when the probes are in."""

    def __init__(self, daemon, pid, *options):
        self.client = subprocess.Popen(
            [LAGTRAP, "objects", "--socket", daemon.socket_path, "--process", str(pid), "--json", "--for", "10min", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.client.stdout.readline()
        check(line, f"lagtrap objects ended: {self.client.stderr.read() if not line else ''}")
        self.started = json.loads(line)["started_objects"]
        self.names = [function[0] for function in self.started["functions"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.kill()
        self.client.communicate()

    def end(self):
        """As Ctrl-C does."""
        self.client.send_signal(signal.SIGINT)
        self.lines = [json.loads(line) for line in self.client.stdout]
        problem = self.client.stderr.read()
        check(self.client.wait(timeout=120) == 0, f"lagtrap objects: {problem}")
        self.ended = self.lines[-1]["ended_objects"]
        return self

    def calls(self, function=None):
        keys = ("function", "tid", "begin_ns", "end_ns", "probes_ns", "off_cpu_ns", "object", "result", "taken", "given",
                "resident", "allocations", "errno", "state", "failed", "left", "depth", "thread", "title", "error")
        calls = []
        for line in self.lines:
            for row in line.get("object_calls", []):
                call = dict(zip(keys, row))
                call["name"] = self.names[call["function"]]
                calls.append(call)
            for _, tid, _, text in line.get("messages", []):
                # Of a failure that was told before.
                next(call for call in reversed(calls) if call["tid"] == tid and call["failed"])["error"] = text
        return [call for call in calls if function in (None, call["name"])]

    def counts(self, name):
        keys = ("created", "alive", "released", "failures", "released_twice", "used_after", "unknown", "replaced",
                "not_followed")
        return dict(zip(keys, self.ended["classes"][self.started["classes"].index(name)]))

    def totals(self):
        return {self.names[row[0]]: row[1] for row in self.ended["totals"]}


def counts_equal_what_the_program_did():
    with Daemon(SETTINGS) as daemon, Program() as program, Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
        check(set(watch.started["classes"]) == {"shop::Item", "shop::Gadget"}, f"{watch.started['classes']}")
        program.run("keep", 7)
        program.run("make", 5)
        program.run("threads", 11)
        watch.end()
        check(watch.ended["not_sent"] == 0 and watch.ended["too_deep"] == 0, f"{watch.ended}")
        items, gadgets = watch.counts("shop::Item"), watch.counts("shop::Gadget")
        # A base's constructor makes no object of its own.
        check((items["created"], items["alive"], items["released"]) == (7, 7, 0), f"{items}")
        check((gadgets["created"], gadgets["alive"], gadgets["released"]) == (49, 0, 49), f"{gadgets}")
        for counts in (items, gadgets):
            check(sum(counts[key] for key in ("failures", "released_twice", "used_after", "unknown", "replaced")) == 0, f"{counts}")
        totals = watch.totals()
        check(totals["shop::Gadget::Gadget"] == 49 and totals["shop::Item::Item"] == 56, f"{totals}")
        check(totals["shop::Gadget::price"] == 49 and totals["shop::Item::price"] == 49, f"{totals}")
        oldest = watch.ended["oldest"]
        check(len(oldest) == 7 and all("keep_items" in one[8] for one in oldest), f"who had them created: {oldest}")


def memory_is_what_the_calls_took():
    with Daemon(SETTINGS) as daemon, Program() as program, Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
        check(watch.started["memory"] == "", f"{watch.started['memory']}")
        program.run("keep", 3)
        program.run("release")
        watch.end()
        made = [call for call in watch.calls("shop::Item::Item") if call["state"] == CREATED]
        gone = [call for call in watch.calls("shop::Item::~Item") if call["state"] == RELEASED]
        check(len(made) == 3 and len(gone) == 3, f"{len(made)} made, {len(gone)} gone")
        # 1,000 bytes in a block of glibc, which has 8 bytes more and is a multiple of 16.
        check(all(call["taken"] == 1008 and call["given"] == 0 and call["allocations"] == 1 for call in made), f"{made}")
        # The destructor that also gives the object's own place back is the one that is called.
        check(all(call["given"] >= 1008 for call in gone), f"{gone}")


def calls_nest_as_they_were_made():
    with Daemon(SETTINGS) as daemon, Program() as program, Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
        program.run("make", 1)
        watch.end()
        order = [(call["name"], call["depth"]) for call in watch.calls()]
        check(order[:4] == [("shop::Item::Item", 1), ("shop::Gadget::Gadget", 0), ("shop::Item::price", 1),
                            ("shop::Gadget::price", 0)], f"{order}")
        check(len({call["object"] for call in watch.calls()}) == 1, "one object")


def failed_creations_say_why():
    """Left by an exception at the same place of the stack, again and again."""
    with Daemon(SETTINGS) as daemon, Program() as program, Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
        program.run("fail", 25)
        watch.end()
        gadgets, items = watch.counts("shop::Gadget"), watch.counts("shop::Item")
        check((gadgets["created"], gadgets["alive"], gadgets["failures"]) == (0, 0, 25), f"{gadgets}")
        check(items["created"] == 0 and items["released_twice"] == 0 and items["used_after"] == 0, f"{items}")
        failed = [call for call in watch.calls("shop::Gadget::Gadget") if call["failed"]]
        check(failed[0]["error"] == "std::runtime_error: no gadget of size -1" and failed[0]["left"] == 1, f"{failed[0]}")
        check(failed[24]["error"].endswith("size -25"), f"{failed[24]}")


def handles_of_c_fail_with_their_text():
    with Daemon(SETTINGS) as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *HANDLES, *PLENTY) as watch:
            program.run("handles", 6)
            watch.end()
            counts = watch.counts("handle")
            check((counts["created"], counts["released"], counts["alive"]) == (6, 6, 0), f"{counts}")
            # The jump from one function that creates to another, or the call of it, is one failure of a creation.
            errors = [(call["name"], call["result"], call["error"]) for call in watch.calls() if call["failed"]]
            opened = [one for one in errors if one[0].startswith("handle_open")]
            used = [one for one in errors if one[0] == "handle_use"]
            check(len(used) == 6 and all(one[1:] == (9, "the handle is worn out") for one in used), f"{used}")
            check(len(opened) >= 6 and all(one[1] == 7 for one in opened), f"{opened}")
            check(sum(one[2] == "the handle is not wanted" for one in opened) == 6, f"{opened}")
        with Watch(daemon, program.process.pid, *HANDLES, *PLENTY) as watch:
            program.run("misuse")
            counts = watch.end().counts("handle")
            check(counts["released"] == 1 and counts["unknown"] + counts["released_twice"] >= 2, f"{counts}")


def a_preset_follows_a_library():
    with Daemon(SETTINGS) as daemon, subprocess.Popen([sys.executable, "-c", PYTHON], stdin=subprocess.PIPE,
                                                      stdout=subprocess.PIPE, text=True) as python:
        check(python.stdout.readline() == "ready\n", "python is ready")
        with Watch(daemon, python.pid, "--preset", "sqlite", *PLENTY) as watch:
            python.stdin.write("go\n")
            python.stdin.flush()
            check(python.stdout.readline() == "done\n", "python is done")
            watch.end()
        python.stdin.write("end\n")
        python.stdin.flush()
        databases, statements = watch.counts("sqlite3"), watch.counts("sqlite3_stmt")
        check(databases["created"] == 20 and databases["released"] == 20, f"{databases}")
        check(statements["failures"] == 20 and statements["alive"] == 0 and statements["created"] >= 20, f"{statements}")
        failed = [call for call in watch.calls("sqlite3_prepare_v2") if call["failed"]]
        check(failed[0]["error"] == "no such table: nothing0" and failed[0]["title"] == "select * from nothing0", f"{failed[0]}")


def what_is_recorded_is_shown_elsewhere():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "objects.jsonl"
        with Daemon(SETTINGS) as daemon, Program() as program:
            with Watch(daemon, program.process.pid, *CLASSES, *PLENTY, "--record", path) as watch:
                program.run("fail", 3)
                program.run("keep", 2)
                watch.end()
        shown = subprocess.run([LAGTRAP, "objects", "--read", path, "--tree"], capture_output=True, text=True, check=True).stdout
        for words in ("shop::Gadget::Gadget", "std::runtime_error: no gadget of size -1", "+ shop::Item::Item", "keep_items"):
            check(words in shown, f"{words} is missing: {shown}")
        check(shown.index("Failures") < shown.index("created"), "failures come first")
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
        cut = subprocess.run([LAGTRAP, "objects", "--read", path], capture_output=True, text=True, check=False)
        check(cut.returncode == 1 and "cut short" in cut.stderr, cut.stderr)
        path.write_text("\n".join([lines[0], '{"object_calls":[[99999]]}']), encoding="utf-8")
        wrong = subprocess.run([LAGTRAP, "objects", "--read", path], capture_output=True, text=True, check=False)
        check(wrong.returncode == 1 and f"{path}:2:" in wrong.stderr, wrong.stderr)


def what_costs_too_much_is_taken_out():
    with Daemon(SETTINGS) as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, "--budget", "1") as watch:
            out = set()
            while not {"shop::Item::Item", "shop::Item::~Item"} <= out:
                program.run("hot", 200_000)
                if watch.client.poll() is not None:
                    break
                line = json.loads(watch.client.stdout.readline())
                out.update(watch.names[function] for function, _ in line.get("taken_out", []))
            check({"shop::Item::Item", "shop::Item::~Item"} <= out, f"a class goes as a whole: {out}")
            program.run("make", 3)
            watch.end()


def wrong_requests_say_what_is_right():
    with Daemon(SETTINGS) as daemon, Program() as program:
        def refused(*options):
            done = subprocess.run([LAGTRAP, "objects", "--socket", daemon.socket_path, "--process", str(program.process.pid),
                                   *options], capture_output=True, text=True, timeout=120, check=False)
            check(done.returncode == 1, f"{options}: {done.stdout}")
            return done.stderr
        check("--class NAME" in refused(), refused())
        check("arg0 to arg5" in refused("--create", "handle_open:arg9"), "a wrong place")
        check("not-positive" in refused("--create", "handle_open:arg1*", "--error", "bad"), "a wrong failure")
        check("sqlite" in refused("--preset", "oracle"), "an unknown preset")
        check("no function of class Nothing" in refused("--class", "Nothing"), refused("--class", "Nothing"))
        check("no regular expression" in refused("--class", "(") , refused("--class", "("))


def a_breach_has_its_objects_in_the_bundle():
    event = (f'<event name="work" threshold="1ms" trace-length="10s"><function name="slow_work" binary="{PROGRAM}"/>'
             '<object class="Item|Gadget"/><object name="handle" create="handle_open:arg1*" use="handle_use:arg0" '
             'release="handle_close:arg0" message="handle_error:result" error="nonzero"/></event>')
    with Daemon(event) as daemon, Program() as program:
        program.run("slow", 20)
        wait_for(lambda: any(path.stat().st_size for path in daemon.spool.rglob("objects.jsonl")), "the probes to be in")
        program.run("fail", 3)
        program.run("keep", 4)
        program.run("handles", 2)
        bundle = daemon.wait_for_bundles(1)[0]
        objects = report(bundle)["delays"][0]["objects"]
        classes = {one["name"]: one for one in objects["classes"]}
        check(classes["shop::Item"]["created"] == 4 and classes["shop::Item"]["alive"] == 4, f"{classes}")
        check(classes["shop::Gadget"]["failures"] == 3, f"{classes}")
        failures = {(one["function"], one["count"]) for one in objects["failures"]}
        check(("shop::Gadget::Gadget", 3) in failures and ("handle_use", 2) in failures, f"{objects['failures']}")
        text = subprocess.run([LAGTRAP, "report", bundle], capture_output=True, text=True, check=True).stdout
        for words in ("Objects", "std::runtime_error: no gadget of size -1", "the handle is worn out", "keep_items"):
            check(words in text, f"{words} is missing: {text}")


def probes_are_out_when_the_daemon_is_killed():
    with Daemon(SETTINGS) as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, *PLENTY):
            daemon.process.kill()
            daemon.process.wait()
        program.run("make", 3)
        program.run("fail", 3)
        check(program.process.poll() is None, "the program goes on")


if __name__ == "__main__":
    run(counts_equal_what_the_program_did, memory_is_what_the_calls_took, calls_nest_as_they_were_made, failed_creations_say_why,
        handles_of_c_fail_with_their_text, a_preset_follows_a_library, what_is_recorded_is_shown_elsewhere,
        what_costs_too_much_is_taken_out, wrong_requests_say_what_is_right, a_breach_has_its_objects_in_the_bundle, probes_are_out_when_the_daemon_is_killed)
