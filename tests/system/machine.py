"""A machine under test: qemu with an emulated processor, controlled through a serial port."""

import contextlib
import json
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

STEPS = pathlib.Path(__file__).resolve().parent / "steps"


# If this machine is busy, an emulated processor may stall for longer than timers and watchdogs
# wait.
PATIENCE = "no_timer_check systemd.default_timeout_start_sec=1200 systemd.service_watchdogs=no"

# One thread for both processors: with one each, qemu 7.2 lets a processor run what the other has
# just replaced in the kernel's code, and the kernel dies of its own breakpoint in __schedule.
EMULATOR = "tcg,thread=single"

# Without what is expensive to emulate and not needed here: 256-bit vectors, which the C library
# uses to copy and compare, five-level page tables, and PCIDs. Returns and indirect calls are
# direct, because there is no other guest to protect against speculation. A sixth less to emulate.
PROCESSOR = "max,-cx16,-avx,-avx2,-la57,-pcid"
STRAIGHT = "spectre_v2=off retbleed=off"


class MachineFailure(AssertionError):
    pass


def say(text):
    print(text, flush=True)


class Machine:
    """Boots from an image's folder; changes to its disk are discarded when it ends.

    `materials` is a folder that the machine sees read-only below /mnt. The host's loopback
    address is 10.0.2.2 there.
    """

    def __init__(self, name, image, materials):
        self.name, self.image, self.materials = name, image, materials
        self.number = 0

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="lagtrap-machine-")
        self.folder = pathlib.Path(self.temporary.name)
        size_mib = (
            sum(path.stat().st_size for path in self.materials.rglob("*") if path.is_file())
            * 5
            // 4
            // 2**20
            + 16
        )
        subprocess.run(
            [
                "mke2fs",
                "-q",
                "-t",
                "ext4",
                "-d",
                self.materials,
                self.folder / "materials.img",
                f"{size_mib}M",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run(
            ["cp", "--sparse=always", self.image / "disk.img", self.folder / "disk.img"], check=True
        )
        self.switch_on()
        return self

    def switch_on(self):
        agent = self.folder / "agent"
        agent.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(agent))
        listener.listen(1)
        # It runs from the first test on, and tests that run alone wait for its end, so it gets
        # priority over others.
        self.process = subprocess.Popen(
            [
                "nice",
                "-n",
                "-5",
                "qemu-system-x86_64",
                "-accel",
                EMULATOR,
                "-cpu",
                PROCESSOR,
                "-m",
                "1G",
                "-smp",
                "2",
                "-display",
                "none",
                "-no-user-config",
                "-nodefaults",
                "-no-reboot",
                "-kernel",
                self.image / "vmlinuz",
                "-initrd",
                self.image / "initrd.img",
                "-append",
                f"root=/dev/vda rw console=ttyS0 quiet panic=-1 {PATIENCE} {STRAIGHT}",
                "-drive",
                f"file={self.folder / 'disk.img'},format=raw,if=virtio,cache=unsafe",
                "-drive",
                f"file={self.folder / 'materials.img'},format=raw,if=virtio,readonly=on",
                "-netdev",
                "user,id=net",
                "-device",
                "virtio-net-pci,netdev=net,romfile=",
                "-chardev",
                f"file,id=console,path={self.console()},append=on",
                "-serial",
                "chardev:console",
                "-serial",
                f"unix:{agent}",
                "-qmp",
                f"unix:{self.folder / 'qmp'},server=on,wait=off",
            ],
            stdin=subprocess.DEVNULL,
            stdout=sys.stdout,
            stderr=subprocess.STDOUT,
        )
        listener.settimeout(60)
        self.port, _ = listener.accept()
        listener.close()
        self.port.setblocking(False)
        self.pending = b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.port, selectors.EVENT_READ)

    def console(self):
        return self.folder / "console"

    def reboot(self, seconds=600):
        """Reboots in another qemu, because everything takes three times as long in one that was
        reset."""
        self.run("reboot")
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise MachineFailure(
                f"{self.name}: waited in vain for the machine to go down"
            ) from error
        self.port.close()
        self.selector.close()
        self.switch_on()
        return self.wait_for_boot()

    def __exit__(self, kind, *_):
        self.process.kill()
        self.process.wait()
        if kind is not None and self.console().exists():
            say(
                f"--- the end of {self.name}'s console\n"
                + self.console().read_text(errors="replace")[-4000:]
                + "\n---"
            )
        self.temporary.cleanup()

    @contextlib.contextmanager
    def woken_after(self, seconds):
        """Within the block the machine may fall asleep once; it is woken after sleeping for this
        long."""
        with socket.socket(socket.AF_UNIX) as control, control.makefile("rw") as lines:
            control.connect(str(self.folder / "qmp"))

            def command(name):
                lines.write(json.dumps({"execute": name}) + "\n")
                lines.flush()

            def wake():
                for line in lines:
                    if json.loads(line).get("event") == "SUSPEND":
                        time.sleep(seconds)
                        command("system_wakeup")
                        return

            command("qmp_capabilities")
            waker = threading.Thread(target=wake, daemon=True)
            waker.start()
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    control.shutdown(socket.SHUT_RDWR)
                waker.join()

    def line(self, deadline, what):
        """The next line from the agent."""
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0:
                raise MachineFailure(f"{self.name}: waited in vain for {what}")
            if self.process.poll() is not None:
                raise MachineFailure(f"{self.name}: qemu ended with {self.process.returncode}")
            if self.selector.select(min(left, 1)):
                part = self.port.recv(1 << 16)
                if not part:
                    raise MachineFailure(f"{self.name}: qemu closed the serial port")
                self.pending += part
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def wait_for_boot(self, seconds=600):
        deadline = time.monotonic() + seconds
        while True:
            found = re.fullmatch(r"\W*@ready (\S+)", self.line(deadline, "the machine to boot"))
            if found:
                return found.group(1)

    def run(self, step, *arguments, seconds=900):
        """Runs a step in the machine and returns the lines that it printed; fails if the step
        does. Lines "data NAME JSON" are only for the caller."""
        self.number += 1
        self.port.setblocking(True)
        self.port.sendall(f"{self.number} {step} {' '.join(arguments)}\n".encode())
        self.port.setblocking(False)
        deadline, said = time.monotonic() + seconds, []
        while True:
            line = self.line(deadline, f"the step {step}, which printed:\n" + "\n".join(said[-40:]))
            found = re.fullmatch(rf"@end {self.number} (\d+)", line)
            if found and found.group(1) == "0":
                return said
            if found:
                raise MachineFailure(f"{self.name}: the step {step} ended with {found.group(1)}")
            said.append(line)
            if not line.startswith("data "):
                say(f"  [{self.name}] {line}")
