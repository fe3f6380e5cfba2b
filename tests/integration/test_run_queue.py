"""Waits for a CPU as runs: each of them, only of threads in scope, compared with the kernel's
own counts."""

import contextlib
import os
import subprocess
import sys

from control_groups import command_in, group

from lagtrap_test import LAGTRAP, Daemon, OwnedProcess, Watched, check, run, wait_for

# Three threads that sleep, compute and yield. It prints how long they waited for a CPU, and how
# often they left one, which they do once for each wait. Both readings are between those of the
# daemon's counts.
PROGRAM = """
import json, os, resource, sys, threading, time
def waited_ns():
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
        return int(file.read().split()[1])
def switches():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw
def work(waited):
    first_ns = waited_ns()
    for i in range(300):
        time.sleep(0.001)
        end = time.thread_time_ns() + 200_000
        while time.thread_time_ns() < end: pass
        os.sched_yield()
    waited.append(waited_ns() - first_ns)
print("ready", flush=True)
sys.stdin.readline()
first = switches()
waited = []
threads = [threading.Thread(target=work, args=(waited,)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"waited_ns": sum(waited), "times": switches() - first}))
"""


def event(name, scope, threshold="10s"):
    return (
        f'<event name="{name}" threshold="{threshold}" trace-length="200ms"><scope {scope}/>'
        "<run-queue/></event>"
    )


def program_in(folder):
    return Watched(*command_in(folder, sys.executable, "-c", PROGRAM))


def each_wait_of_a_unit_is_counted():
    """Two units with an event each; both run at once, and the waits of one do not count for the
    other."""
    own = os.getpid()  # scopes match units of that name in any group of the machine
    with group("app.slice", f"web-{own}.service") as web, group(
        "app.slice", f"batch-{own}.service"
    ) as batch, Daemon(
        event("web", f'unit="web-{own}"') + event("batch", f'unit="batch-{own}"')
    ) as daemon, program_in(
        web
    ) as one, program_in(
        batch
    ) as other:
        before = {name: daemon.event(name) for name in ("web", "batch")}
        one.go()
        other.go()
        for name, told in (("web", one.result()), ("batch", other.result())):
            now = daemon.event(name)
            runs, waited_ns = (
                now["runs"] - before[name]["runs"],
                now["timed"]["runnable_ns"] - before[name]["timed"]["runnable_ns"],
            )
            # The threads also wait before and after they count. Some kernels leave out up to three
            # switches in a thousand.
            check(
                told["times"] * 0.99 <= runs <= told["times"] + 60,
                f"{name}: {runs} runs, the kernel counts {told}",
            )
            check(
                now["timed"]["ns"] == now["timed"]["runnable_ns"]
                and waited_ns > told["waited_ns"] * 0.5,
                f"{name}: {now}, the kernel counts {told}",
            )
            check(
                now["unmatched_begins"] <= told["times"] * 0.01
                and now["unmatched_ends"] + now["abandoned"] + now["lost"] == 0,
                f"not paired: {now}",
            )
            check(now["out_of_scope"] > 0, f"all of the machine is in the unit: {now}")
        for name in (
            "web",
            "batch",
        ):  # a thread that ended may still wait for the CPU on which it is removed
            wait_for(
                lambda name=name: daemon.event(name)["open"] == 0,
                f"{name}: nobody to wait any more",
            )


def by_process_user_and_program():
    """The scope is that of the waiting thread, not of the one that wakes it or yields."""
    with group("x") as folder, program_in(folder) as program:
        pid = program.process.pid
        scopes = {
            "pid": f'pid="{pid}"',
            "user": 'user="root"',
            "program": f'binary="{os.path.realpath(sys.executable)}"',
            "nobody": 'user="54321"',
            "other": f'pid="{os.getpid()}"',
        }
        with Daemon("".join(event(name, scope) for name, scope in scopes.items())) as daemon:
            before = daemon.event("pid")["runs"]
            program.go()
            told = program.result()
            runs = {name: daemon.event(name)["runs"] for name in scopes}
            check(
                told["times"] * 0.99 <= runs["pid"] - before <= told["times"] + 60,
                f"{runs}, the kernel counts {told}",
            )
            check(
                runs["user"] >= runs["program"] >= told["times"] * 0.99,
                f"{runs}, the kernel counts {told}",
            )
            check(runs["other"] > 0, f"this program waits for a CPU as well: {runs}")
            check(runs["nobody"] == 0, f"a user without processes: {runs}")


class Switching(OwnedProcess):
    """Two processes that pass a byte back and forth on one CPU."""

    def __init__(self):
        self.process = subprocess.Popen(
            [
                "taskset",
                "-c",
                str(min(os.sched_getaffinity(0))),
                sys.executable,
                "-c",
                "import os\n(a, b), (c, d) = os.pipe(), os.pipe()\nif os.fork() == 0:\n"
                "    os.close(b)\n    os.close(c)\n"
                "    while os.read(a, 1): os.write(d, b'x')\n    os._exit(0)\n"
                "os.close(a)\nos.close(d)\nwhile True:\n    os.write(b, b'x')\n    os.read(c, 1)\n",
            ]
        )


def the_budget_holds():
    """With a tiny share the event is disabled, and with it its programs in the scheduler; another
    event of its kind keeps them."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(Switching())
        daemon = stack.enter_context(
            Daemon(
                event("all", 'user="root"'),
                budget='share="0.1%" disable="events" interval="300ms" pause="1h"',
                more='<history length="0s" early-share="0%" times="no"/>',
            )
        )
        disabled = wait_for(
            lambda: (one := daemon.event("all"))["disabled"]
            and "is disabled" in daemon.log()
            and one,
            "the event to be disabled",
        )
        check("of a CPU with" in disabled["problem"], f"the reason is not told: {disabled}")
        hits = wait_for(
            lambda: (one := daemon.event("all"))["open"] == 0 and one, "what is open to be dropped"
        )["hits"]
        looks = daemon.status()["budget"]["looks"]
        wait_for(lambda: daemon.status()["budget"]["looks"] >= looks + 3, "three looks")
        check(daemon.event("all")["hits"] == hits, "hits are counted after the event was disabled")
        shown = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check("disabled" in shown, shown)


if __name__ == "__main__":
    run(each_wait_of_a_unit_is_counted, by_process_user_and_program, the_budget_holds)
