"""Records a scenario on the kernel of another Debian release: qemu boots that kernel with this
machine's programs, at the same paths, as its initial file system. A nanosecond passes in that
machine with each instruction, so nothing there is slow, however long the emulation takes."""

import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import termios
import tty

import recorder

SYSTEM = recorder.SOURCE / "tests" / "system"
sys.path.append(str(SYSTEM))
import image  # noqa: E402  (the path is set above)
import test_kernels  # noqa: E402
from machine import EMULATOR, PROCESSOR, STRAIGHT  # noqa: E402

RELEASES = tuple(image.SUITES)
PYTHON = pathlib.Path("/usr/bin/python3")
PROGRAMS = ("sh", "mount", "mkdir", "cp", "true", "flock", "nm")  # of the scenarios and of `INIT`
FILES = ("/etc/passwd", "/etc/group", "/etc/os-release", "/etc/ld.so.cache")
LINKS = {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")}
FOLDERS = ("proc", "sys", "dev", "tmp", "run")
UNUSED = shutil.ignore_patterns("test", "idlelib", "lib2to3", "config-*", "__pycache__")
INITIAL = recorder.NEUTRAL / "initial"
RESULTS = "/dev/ttyS1"
SECONDS = 1800
CLOCK = "shift=0,sleep=off"  # qemu cannot count the instructions of two processors' start
INIT = f"""#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing
mkdir /sys/fs/cgroup/golden.service
echo 0 >/sys/fs/cgroup/golden.service/cgroup.procs
{PYTHON} -B {pathlib.Path(__file__).resolve()} "$SCENARIO"
echo b >/proc/sysrq-trigger
"""


def copy(path, root):
    """Copies a file to the same path below `root`, and what it is a link to."""
    path = pathlib.Path(path)
    path = path.parent.resolve() / path.name
    target = root / path.relative_to("/")
    if target.exists() or target.is_symlink():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target, follow_symlinks=False)
    if path.is_symlink():
        copy(path.parent / os.readlink(path), root)


def libraries_of(root):
    """The shared libraries of all programs and libraries below `root`."""
    objects = [
        path
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF"
    ]
    told = subprocess.run(["ldd", *objects], capture_output=True, text=True).stdout
    words = {word for line in told.splitlines() for word in line.split()}
    return sorted(word for word in words if word.startswith("/") and not word.endswith(":"))


def fill(root):
    """Puts all files of the machine below `root`."""
    for name, target in LINKS.items():
        (root / target).mkdir(parents=True)
        (root / name).symlink_to(target)
    for name in FOLDERS:
        (root / name).mkdir()
    for path in (PYTHON, *map(shutil.which, PROGRAMS), *FILES):
        copy(path, root)
    standard = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    tests = recorder.SOURCE / "tests"
    for folder in (standard, recorder.BUILD, tests / "cases", tests / "integration", SYSTEM):
        shutil.copytree(folder, root / str(folder).lstrip("/"), symlinks=True, ignore=UNUSED)
    for path in recorder.HERE.glob("*.py"):
        copy(path, root)
    # Compiled here, because that takes an emulated processor a minute.
    subprocess.run(
        [PYTHON, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", root],
        stdout=subprocess.DEVNULL,
    )
    for path in libraries_of(root):
        copy(path, root)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)


def entry_of(path, root):
    mode = path.lstat().st_mode
    content = b""
    if stat.S_ISLNK(mode):
        content = os.readlink(path).encode()
    elif stat.S_ISREG(mode):
        content = path.read_bytes()
    return str(path.relative_to(root)), mode, content


def make_initial():
    """Makes the initial file system that all machines of a run have."""
    with tempfile.TemporaryDirectory(prefix="lagtrap-machine-") as name:
        root = pathlib.Path(name)
        fill(root)
        entries = [entry_of(path, root) for path in sorted(root.rglob("*"))]
        INITIAL.write_bytes(test_kernels.archive(entries))


def boot(release, scenario, folder):
    """Returns the path of what the machine wrote to RESULTS."""
    console, results = folder / "console", folder / "results"
    processor = f"-accel {EMULATOR} -icount {CLOCK} -cpu {PROCESSOR} -m 2G"
    kernel = f"console=ttyS0 quiet panic=-1 rdinit=/init {STRAIGHT} SCENARIO={scenario}"
    command = ["qemu-system-x86_64", *processor.split()]
    command += "-display none -no-user-config -nodefaults -no-reboot".split()
    command += ["-kernel", test_kernels.kernel_of(release), "-initrd", INITIAL, "-append", kernel]
    command += ["-serial", f"file:{console}", "-serial", f"file:{results}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=SECONDS)
    if results.stat().st_size == 0:
        raise AssertionError(f"nothing was recorded:\n{console.read_text(errors='replace')}")
    return results


def small_recording(release, scenario):
    """Like recorder.small_recording, on the release's kernel."""
    if not INITIAL.exists():
        make_initial()
    shutil.rmtree(recorder.SMALL, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="lagtrap-machine-") as name:
        with tarfile.open(boot(release, scenario, pathlib.Path(name))) as results:
            results.extractall(recorder.NEUTRAL)
    return recorder.NEUTRAL / "whole"


def record_here(scenario):
    """In the emulated machine: records, and writes small recording and bundle to RESULTS."""
    socket.sethostname("golden")
    recorder.use_copy()
    bundle = recorder.small_recording(scenario)
    with open(RESULTS, "wb") as port:
        tty.setraw(port)
        with tarfile.open(fileobj=port, mode="w|gz") as results:
            results.add(recorder.SMALL, "small")
            results.add(bundle, "whole")
        port.flush()
        termios.tcdrain(port)


if __name__ == "__main__":
    record_here(sys.argv[1])
