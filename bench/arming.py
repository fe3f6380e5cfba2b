"""The benchmark of arming: how long it takes to attach to 200 functions of one large library, and
to detach from all of them."""

import re
import signal
import subprocess
import time

from lagtrap_test import Daemon, check, wait_for

EVENTS = 200
LIBRARY_NAME = "libLLVM"


def large_library():
    """The newest of the machine's; clang, which builds the BPF programs, includes one."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    paths = re.findall(rf"=> (\S*/{LIBRARY_NAME}\S*)", listed)
    check(paths, f"there is no {LIBRARY_NAME}")
    return sorted(paths)[-1]


def functions_of(library):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--print-size", library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    large = [
        fields[3].split("@")[0]
        for fields in map(str.split, listed.splitlines())
        if len(fields) == 4 and fields[2] == "T" and int(fields[1], 16) > 200
    ]
    step = len(large) // EVENTS
    check(step > 0, f"{library} has {len(large)} functions")
    return large[::step][:EVENTS]


def measure_daemon(library, functions):
    events = "".join(
        f'<event name="event{number}" threshold="1h" trace-length="1s">'
        f'<function name="{name}" binary="{library}"/></event>'
        for number, name in enumerate(functions)
    )
    daemon = Daemon(events)
    daemon.expect_armed = False
    begun = time.monotonic()
    with daemon:
        answers = time.monotonic() - begun
        wait_for(
            lambda: not any(event["arming"] for event in daemon.status()["events"]),
            "all to be armed",
        )
        armed = time.monotonic() - begun
        problems = [event["problem"] for event in daemon.status()["events"] if not event["armed"]]
        check(len(problems) < EVENTS // 50, f"not armed: {problems}")
        begun = time.monotonic()
        daemon.stop()
        return answers, armed, time.monotonic() - begun


def measure_bpftrace(library, functions):
    script = 'BEGIN { printf("armed\\n"); }' + "".join(
        f"uprobe:{library}:{name} {{ @start[tid] = nsecs; }} "
        f"uretprobe:{library}:{name} /@start[tid]/ {{ delete(@start[tid]); }}"
        for name in functions
    )
    begun = time.monotonic()
    process = subprocess.Popen(
        ["bpftrace", "-e", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "BPFTRACE_MAX_PROBES": "1024",
            "BPFTRACE_MAX_BPF_PROGS": "1024",
        },
    )
    for line in process.stdout:
        if line.startswith("armed"):
            break
    armed = time.monotonic() - begun
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    return armed, time.monotonic() - begun, process.returncode


def bench(row):
    library = large_library()
    functions = functions_of(library)
    answers, armed, stopped = measure_daemon(library, functions)
    peer_armed, peer_stopped, status = measure_bpftrace(library, functions)
    failed = "" if status == 0 else f" (ended with {status})"
    row(
        f"{EVENTS} events on one large library: until the daemon answers",
        f"{answers:.2f} s",
        wanted="at once",
    )
    row(
        f"{EVENTS} events on one large library: until all are armed",
        f"{armed:.2f} s",
        f"bpftrace: {peer_armed:.2f} s{failed}",
        f"{armed / peer_armed:.2f}",
        "at most 2 s",
    )
    row(
        f"{EVENTS} events on one large library: time to stop",
        f"{stopped:.2f} s",
        f"bpftrace: {peer_stopped:.2f} s",
        f"{stopped / peer_stopped:.2f}",
        "at most 1 s",
    )
