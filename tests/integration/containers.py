"""Containers as their managers create them, without a manager: an image shared by overlays,
separate process and mount namespaces, a separate root folder."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import check, skip

INSIDE = """
set -e
mount -t tmpfs none "$0"
mkdir "$0/upper" "$0/work" "$0/top"
mount -t overlay none -o "lowerdir=$1,upperdir=$0/upper,workdir=$0/work" "$0/top"
mkdir -p "$0/top/proc" "$0/top/old"
mount -t proc none "$0/top/proc"
cd "$0/top"
pivot_root . old
umount -l /old
cd /
shift
exec "$@"
"""


def libraries_of(program):
    """The libraries that the dynamic linker loads with it, and the linker itself."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]


class Image:
    """A folder with programs, {path inside: file outside}, and their libraries."""

    def __init__(self, programs):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-image-")
        os.chmod(self.folder, 0o755)
        for inside, outside in programs.items():
            self.add(outside, inside)
            for library in libraries_of(outside):
                self.add(library, library)
        # Needed by INSIDE and the program itself.
        for program in ("/bin/sh", "/bin/umount"):
            self.add(program, program)
            for library in libraries_of(program):
                self.add(library, library)

    def add(self, file, path):
        target = pathlib.Path(self.folder + str(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(file), target)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Container:
    """A program in an image, which waits for "go" if started with --wait. The container ends
    with its first process."""

    def __init__(self, image, *command):
        self.folder = tempfile.mkdtemp(prefix="lagtrap-container-")
        self.process = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--propagation",
                "private",
                "sh",
                "-c",
                INSIDE,
                self.folder,
                image.folder,
                *[str(part) for part in command],
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline() != "ready\n":
            self.process.kill()
            said = self.process.communicate()[1]
            if "overlay" in said:
                skip(f"no overlay can be mounted: {said.strip()}")
            check(False, f"{command[0]} did not start in its container: {said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tear_down()

    @property
    def pid(self):
        """The program's process number outside the container."""
        children = (
            pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            .read_text()
            .split()
        )
        return int(children[0])

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait(self, seconds=120):
        self.process.communicate(timeout=seconds)
        check(
            self.process.returncode == 0,
            f"the program in the container ended with {self.process.returncode}",
        )

    def tear_down(self):
        """Kills all of it; its mounts are removed with it."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
