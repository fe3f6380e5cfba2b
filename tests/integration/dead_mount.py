"""A file system that stops answering, like a network mount whose server is gone: a FUSE server
with one file, which reads every request and at some point stops answering. Processes that access
it then wait, and no signal ends that.

The protocol: include/uapi/linux/fuse.h of the kernel.
"""

import ctypes
import errno
import os
import pathlib
import signal
import stat
import struct
import subprocess
import sys

from lagtrap_test import OwnedProcess, check

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = (
    1,
    2,
    3,
    14,
    15,
    17,
    18,
    25,
    26,
    36,
    42,
)
ROOT, FILE = 1, 2
MNT_DETACH = 2
READ_BYTES = 1 << 17


def attributes(node, size):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack(
        "<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


def answer_to(kind, node, body, content):
    """The answer's body, or an errno; None if there is no answer."""
    if kind == INIT:
        return struct.pack(
            "<4I2H2I2H8I", 7, 31, READ_BYTES, 0, 16, 12, READ_BYTES, 1, 0, 0, *[0] * 8
        )
    if kind == LOOKUP:
        if body.rstrip(b"\0") != b"program":
            return errno.ENOENT
        return struct.pack("<4Q2I", FILE, 0, 0, 0, 0, 0) + attributes(FILE, len(content))
    if kind == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node, len(content) if node == FILE else 0)
    if kind == OPEN:
        return struct.pack("<QII", 0, 0, 0)
    if kind == READ:
        offset, size = struct.unpack_from("<QI", body, 8)
        return content[offset : offset + size]
    if kind == STATFS:
        return struct.pack("<5Q4I", *[0] * 5, 4096, 255, 4096, 0) + bytes(24)
    if kind in (RELEASE, FLUSH):
        return b""
    return None if kind in (FORGET, BATCH_FORGET, INTERRUPT) else errno.ENOSYS


def serve(mount, program):
    """Mounts and serves; prints "ready" when the mount exists. Stops answering after SIGUSR1."""
    silent = []
    signal.signal(signal.SIGUSR1, lambda *_: silent.append(True))
    content = pathlib.Path(program).read_bytes()
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if (
        ctypes.CDLL(None, use_errno=True).mount(
            b"dead", os.fsencode(mount), b"fuse", 0, options.encode()
        )
        != 0
    ):
        sys.exit(os.strerror(ctypes.get_errno()))
    print("ready", flush=True)
    while True:
        try:
            request = os.read(device, READ_BYTES + 4096)
        except OSError as error:
            sys.exit(0 if error.errno == errno.ENODEV else str(error))  # unmounted
        kind, unique, node = struct.unpack_from("<IQQ", request, 4)
        answer = answer_to(kind, node, request[40:], content)
        if silent or answer is None:
            continue
        failed = answer if isinstance(answer, int) else 0
        body = b"" if failed else answer
        os.write(device, struct.pack("<IiQ", 16 + len(body), -failed, unique) + body)


class DeadMount(OwnedProcess):
    """`program` is the copy of a program on the mount, which answers until die()."""

    def __init__(self, folder, program):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.program = self.folder / "program"
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, folder, program], stdout=subprocess.PIPE, text=True
        )
        check(self.process.stdout.readline() == "ready\n", "the file system could not be mounted")

    def die(self):
        self.process.send_signal(signal.SIGUSR1)

    def __exit__(self, *arguments):
        # Its end ends all waiting.
        self.process.kill()
        self.process.wait()
        ctypes.CDLL(None).umount2(os.fsencode(self.folder), MNT_DETACH)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
