"""Disks, containers and files that no watched process uses are entirely their owner's: lagtrapd
holds none of them, and watches what comes back."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from containers import Container, Image
from lagtrap_test import PLANTED, Daemon, Watched, check, run, wait_for
from test_copies import FAST, RUNS, shown, work

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from test_container import limits, podman_command, runtime  # noqa: E402  (the path is set above)

# A name of its own: patterns would match the same program of other tests.
NAME = f"planted_released_{os.getpid()}"
SLOW = ("--kind", "sleep", "--fast", "1", "--slow-ms", "120", "--wait")
WEIGHT_BYTES = 200 << 20


def event(binary, threshold="10s", attributes=""):
    return (
        f'<event name="work" threshold="{threshold}" trace-length="300ms" {attributes}>'
        f'<library binary="{binary}"/></event>'
    )


def held_files(daemon, text):
    """Files with `text` in their path that the daemon and its helpers have open or mapped."""
    pids = subprocess.run(
        ["pgrep", "--session", str(os.getsid(daemon.process.pid)), "lagtrap"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    held = []
    for pid in {str(daemon.process.pid), *pids}:
        for kind in ("fd", "map_files"):
            try:
                entries = list(pathlib.Path(f"/proc/{pid}/{kind}").iterdir())
            except OSError:  # it has ended
                continue
            for entry in entries:
                try:
                    path = os.readlink(entry)
                except OSError:
                    continue
                if text in path:
                    held.append(f"{entry} -> {path}")
    return held


class Disk:
    """A separate file system in a file."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-disk-"))
        self.folder.chmod(0o755)
        self.mounted = self.folder / "mounted"
        self.mounted.mkdir()
        image = self.folder / "image"
        with image.open("wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        self.mount()
        self.program = self.mounted / NAME
        shutil.copy(PLANTED, self.program)
        return self

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.folder / "image", self.mounted], check=True)

    def unmount(self):
        done = subprocess.run(["umount", self.mounted], capture_output=True, text=True, check=False)
        check(done.returncode == 0 or "busy" in done.stderr, f"umount: {done.stderr}")
        return done.returncode == 0

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.mounted], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def recorded(daemon, number):
    daemon.wait_for_bundles(number)
    wait_for(lambda: daemon.status()["state"] == "waiting", "the recording to be done")


def a_disk_is_unmounted():
    """After runs, and after a recording whose merge has finished; after mounting again, it is
    watched again."""
    with Disk() as disk:
        for binary, attributes in (
            (disk.program, ""),
            (disk.program, 'copies="none"'),
            (f"*/mounted/{NAME}", ""),
        ):
            with Daemon(event(binary, "50ms", attributes)) as daemon:
                check(work(daemon)["armed"] and work(daemon)["files"] == 0, work(daemon))
                for number in (1, 2):
                    with Watched(disk.program, *SLOW) as program:
                        wait_for(
                            lambda: work(daemon)["processes"] == 1, "the program to be watched"
                        )
                        program.go().result()
                    recorded(daemon, number)
                    check(work(daemon)["runs"] == 3 * number, work(daemon))
                    wait_for(
                        disk.unmount,
                        lambda: f"the disk to be free of {held_files(daemon, '/mounted/')}",
                    )
                    disk.mount()


def a_container_gives_its_memory_back():
    def shared_memory_bytes():
        return (
            int(
                re.search(
                    r"^Shmem:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.MULTILINE
                )[1]
            )
            << 10
        )

    inside = f"/opt/box/{NAME}"
    with Image({inside: PLANTED}) as image:
        for binary in (inside, f"*/box/{NAME}"):
            with Daemon(event(binary, "50ms")) as daemon:
                with Container(image, inside, *SLOW) as container:
                    wait_for(lambda: work(daemon)["processes"] == 1, "the container to be watched")
                    with pathlib.Path("/proc", str(container.pid), "root", "weight").open(
                        "wb"
                    ) as weight:
                        weight.write(bytes(WEIGHT_BYTES))
                    full_bytes = shared_memory_bytes()
                    container.go()
                    container.wait()
                recorded(daemon, 1)
                wait_for(
                    lambda: shared_memory_bytes() < full_bytes - WEIGHT_BYTES // 2,
                    lambda: f"the container's memory; lagtrapd holds {held_files(daemon, '/')}",
                )
                check(work(daemon)["files"] == 0, work(daemon))


class Podman:
    """Images and containers of podman on a disk of their own."""

    def __init__(self, disk):
        self.command = [
            *podman_command(),
            *(f"--{kind}={disk.mounted}/{kind}" for kind in ("root", "runroot", "tmpdir")),
            "--events-backend=none",
        ]

    def __call__(self, *arguments, **options):
        done = subprocess.run(
            [*self.command, *arguments], capture_output=True, timeout=120, check=False, **options
        )
        check(done.returncode == 0, f"podman {arguments[0]}: {done.stderr}")

    def make_image(self, name, program, inside):
        """An image with a program and its libraries."""
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files = {inside: program, **{path: path for path in re.findall(r"(/\S+) \(0x", listed)}}
        with tempfile.TemporaryDirectory(prefix="lagtrap-image-") as folder:
            for place, file in files.items():
                target = pathlib.Path(folder, place.lstrip("/"))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
            packed = subprocess.run(
                ["tar", "-C", folder, "-c", "."], capture_output=True, check=True
            ).stdout
        self("import", "-", name, input=packed)

    def start(self, name, image, *command):
        """A program that says "ready" and waits for "go"."""
        options = ("-i", f"--name={name}", "--network=host", "--pids-limit=0", *limits({}))
        process = subprocess.Popen(
            [*self.command, *runtime(), "run", *options, image, *map(str, command)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        check(process.stdout.readline() == "ready\n", "the container's program is not ready")
        return process


def a_container_of_podman_is_removed_and_its_disk_detached():
    inside = f"/opt/box/{NAME}"
    with Disk() as disk:
        podman = Podman(disk)
        podman.make_image("box", PLANTED, inside)
        for binary in (inside, f"*/box/{NAME}"):
            with Daemon(event(binary, "50ms")) as daemon:
                container = podman.start("one", "box", inside, *SLOW)
                wait_for(lambda: work(daemon)["processes"] == 1, "the container to be watched")
                container.communicate("go\n")
                recorded(daemon, 1)
                podman("rm", "--force", "one")
                wait_for(
                    disk.unmount,
                    lambda: f"the disk to be free of {held_files(daemon, '/mounted/')}",
                )
                disk.mount()


def a_program_that_only_containers_have():
    inside = f"/opt/lagtrap-nowhere/{NAME}"
    with Image({inside: PLANTED}) as image, Daemon(event(inside)) as daemon:
        check(work(daemon)["armed"] and work(daemon)["absent"] == [inside], work(daemon))
        check(f"no program at {inside} yet" in shown(daemon), shown(daemon))
        with Container(image, inside, *FAST) as container:
            wait_for(lambda: work(daemon)["processes"] == 1, "the container to be watched")
            check("no program at" not in shown(daemon), shown(daemon))
            container.go()
            container.wait()
        wait_for(lambda: work(daemon)["runs"] == RUNS, lambda: work(daemon))


def a_program_that_is_installed_later():
    """And is replaced at once, again and again: the next process is watched each time, as soon
    as it has mapped the file."""
    for attributes in ("", 'copies="none"'):
        with tempfile.TemporaryDirectory(prefix="lagtrap-later-") as name:
            program, runs = pathlib.Path(name, "planted_delays"), 0
            with Daemon(event(program, attributes=attributes)) as daemon:
                check(work(daemon)["absent"] == [str(program)], work(daemon))
                for number in range(4):
                    shutil.copy(PLANTED, program.with_suffix(".new"))
                    program.with_suffix(".new").rename(program)
                    with Watched(program, *FAST) as process:
                        pid = process.process.pid
                        wait_for(
                            lambda: work(daemon)["pid"] == pid,
                            lambda: f"process {pid} of file {number} in {work(daemon)}",
                        )
                        process.go().result()
                    runs += RUNS
                    wait_for(
                        lambda: work(daemon)["runs"] == runs,
                        lambda: f"{runs} runs in {work(daemon)}",
                    )
                program.unlink()
                wait_for(
                    lambda: not held_files(daemon, f"{name}/"),
                    lambda: f"{held_files(daemon, name)} to be closed",
                )


def a_program_that_is_overwritten():
    """Its file gets other bytes in place, again and again: no old probe affects them."""
    with tempfile.TemporaryDirectory(prefix="lagtrap-overwritten-") as name:
        program = pathlib.Path(name, "planted_delays")
        shutil.copy(PLANTED, program)
        arguments = [program, "--kind", "cpu", "--fast", "5", "--slow-ms", "1"]
        shapes = [PLANTED.read_bytes(), PLANTED.parent.joinpath("burst").read_bytes()]
        with Daemon(event(program)) as daemon:
            for number in range(50):
                program.write_bytes(shapes[number % 2])
                command = arguments if number % 2 == 0 else [program, "--help"]
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=60, check=False
                )
                check(
                    done.returncode >= 0,
                    f"rewritten {number} times it ended by signal {-done.returncode}: "
                    f"{done.stderr}",
                )
                check(number % 2 == 1 or done.returncode == 0, f"{done}")
            check(daemon.process.poll() is None, "the daemon ended")


if __name__ == "__main__":
    run(
        a_disk_is_unmounted,
        a_container_gives_its_memory_back,
        a_container_of_podman_is_removed_and_its_disk_detached,
        a_program_that_only_containers_have,
        a_program_that_is_installed_later,
        a_program_that_is_overwritten,
    )
