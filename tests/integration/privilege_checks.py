"""Shared by the tests of privileges, of untrusted files and of permissions."""

import json
import os
import pathlib
import re
import subprocess
import sys

from lagtrap_test import BUILD_DIR, LAGTRAP, PLANTED, Watched, check, library_event

READER = BUILD_DIR / "binaries" / "lagtrap-reader"
NOBODY = 65534


def process_status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def children(pid, name):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = process_status(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if status["PPid"] == str(pid) and status["Name"] == name[:15]:
            found.append(int(folder.name))
    return found


def check_powerless(pid, who):
    status = process_status(pid)
    for line in ("Uid", "Gid"):
        check("0" not in status[line].split(), f"{who} has {line} {status[line]}")
    check(status["Groups"].strip() == "", f"{who} has the groups {status['Groups']}")
    for line in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        check(int(status[line], 16) == 0, f"{who} has {line} {status[line]}")
    check(status["Seccomp"] == "2", f"{who} has Seccomp {status['Seccomp']}")
    check(status["NoNewPrivs"] == "1", f"{who} has NoNewPrivs {status['NoNewPrivs']}")
    limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
    for name in ("Max address space", "Max file size", "Max core file size"):
        check(re.search(rf"^{name}\s+\d", limits, re.MULTILINE), f'{who} has no limit "{name}"')


def as_user(uid, groups, work):
    """The text that work() returns when run by another user in a separate process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            text = work()
        except Exception as error:  # the parent needs to see it
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode()[:65536])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


EVENT = library_event("work", PLANTED, "50ms", "300ms")


def status_text(daemon):
    done = subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check(done.returncode == 0, f"lagtrap status: {done.stderr}")
    return done.stdout


def doctor_about_readers(daemon):
    done = subprocess.run(
        [
            LAGTRAP.resolve(),
            "doctor",
            "--json",
            "--settings",
            daemon.settings_path,
            "--socket",
            daemon.socket_path,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return next(
        one for one in json.loads(done.stdout)["findings"] if one["name"] == "reader of files"
    )


def with_another_build_id(source, path):
    """A copy whose table is in no cache."""
    content = bytearray(pathlib.Path(source).read_bytes())
    note = content.find(
        b"GNU\x00", content.find(b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00")
    )
    check(note > 0, f"{source} has no build id")
    content[note + 4 : note + 24] = os.urandom(20)
    path.write_bytes(content)
    os.chmod(path, 0o755)
    return path


# Maps a file as code and waits, as an unprivileged user.
MAPPER = """
import ctypes, mmap, os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long)
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    size = max(os.fstat(fd).st_size, 1)
    libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0)
    os.close(fd)
print("ready", flush=True)
sys.stdin.readline()
"""


def mapper(files):
    return Watched(sys.executable, "-c", MAPPER, *files)
