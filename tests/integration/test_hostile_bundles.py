"""Bundles that are decompression bombs: `lagtrap` and the server refuse each with one clear
error and little memory."""

import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

import lagtrap_test
from lagtrap_server import sha256
from server_case import ServerCase
from upload_world import MIB

COMMANDS = {
    "report": ("report", "{bundle}"),
    "export of stacks": ("export", "{bundle}", "-o", "{output}/stacks"),
    "export of slices": ("export", "{bundle}", "--format", "chrome", "-o", "{output}/slices"),
    "export of the system file": (
        "export",
        "{bundle}",
        "--format",
        "system",
        "-o",
        "{output}/system.xml",
    ),
    "export of the trace": ("export", "{bundle}", "--format", "pftrace", "-o", "{output}/trace"),
    "symbolize": ("symbolize", "{bundle}", "-o", "{output}"),
}
# Limit for each of them, however large the file claims to be.
PEAK_LIMIT = 256 * MIB


def zstd(content, *options):
    return subprocess.run(
        ["zstd", "-q", "-1", *options], input=content, stdout=subprocess.PIPE, check=True
    ).stdout


def zeros(mib):
    """This many MiB of zeros, compressed: a few bytes for each MiB."""
    return zstd(bytes(64 * MIB)) * (mib // 64)


def header(name, size=0, kind=b"0", link=b"", end=b"", magic=b"ustar\x0000"):
    fields = bytearray(512)

    def put(offset, content):
        fields[offset : offset + len(content)] = content

    put(0, name)
    put(100, b"0000644")
    put(124, size if isinstance(size, bytes) else b"%011o" % size)
    put(156, kind)
    put(157, link)
    put(257, magic)
    put(386, end)
    put(148, b" " * 8)
    put(148, b"%06o\0" % sum(fields))
    return bytes(fields)


def member(name, content):
    return header(name, len(content)) + content + bytes(-len(content) % 512)


def sparse_map(mib):
    """A GNU tar file whose map of holes is this many MiB long."""
    entry = b"00000000000\x0000000001000"
    block = (entry + b"\0") * 21 + b"\1"
    first = header(b"system.xml", 4096, b"S", end=(entry + b"\0") * 4 + b"\1", magic=b"ustar  \0")
    return zstd(first) + zstd(block.ljust(512, b"\0") * (2048 * 16)) * (mib // 16)


def bombs(system, good):
    """By name: the bundle, and the text of its error."""
    files = member(b"system.xml", system)
    plain = zstd(files + member(b"trace.pftrace", b"x") + bytes(1024))
    stranger = "belong into a bundle"
    special = "not a plain file"
    return {
        "4 GiB of zeros": (
            zstd(files + header(b"trace.pftrace", 4 << 30)) + zeros(4096),
            "trace.pftrace is larger than",
        ),
        "zeros within the size": (
            zstd(files + header(b"trace.pftrace", 500 * MIB)) + zeros(512),
            "256 times its size",
        ),
        "zeros as XML": (
            zstd(header(b"system.xml", 4 << 30)) + zeros(4096),
            "system.xml is larger than",
        ),
        "zeros and no header": (zeros(4096), "not a bundle"),
        "zeros after the end": (plain + zeros(4096), "goes on after its end"),
        "a million strangers": (zstd(header(b"f") * 65536) * 16, stranger),
        "a million system files": (
            zstd(member(b"system.xml", b"")) + zstd(header(b"system.xml") * 65536) * 16,
            "twice",
        ),
        "a name that leads out": (zstd(header(b"../../etc/passwd") + files), stranger),
        "an absolute name": (zstd(header(b"/etc/passwd") + files), stranger),
        "a name of terminal codes": (zstd(header(b"\x1b[2Jx\x07") + files), stranger),
        "a symbolic link": (zstd(header(b"system.xml", 0, b"2", b"/etc/passwd")), special),
        "a hard link": (zstd(files + header(b"trace.pftrace", 0, b"1", b"system.xml")), special),
        "a device": (zstd(header(b"system.xml", 0, b"3")), special),
        "a FIFO": (zstd(header(b"system.xml", 0, b"6")), special),
        "a folder": (zstd(header(b"system.xml", 0, b"5")), special),
        "a sparse file": (sparse_map(2048), special),
        "a long name": (zstd(header(b"x", 1 << 30, b"L")) + zeros(1024), special),
        "extended headers": (zstd(header(b"x", 1 << 30, b"x")) + zeros(1024), special),
        "a size beyond all": (
            zstd(header(b"system.xml", b"\x80" + b"\xff" * 11)),
            "system.xml is larger than",
        ),
        "a negative size": (zstd(header(b"system.xml", b"\xff" * 12)), "system.xml is larger than"),
        "a bundle in a bundle": (zstd(good), "not a bundle"),
        "a bundle as a file": (zstd(member(b"a.lagtrap.tar.zst", good)), stranger),
        "a large window": (zstd(bytes(300 * MIB), "--long=27", "--no-check"), "damaged"),
        "cut short": (good[: len(good) // 2], "cut short"),
        "nothing": (b"", "not a bundle"),
        "no zstd": (b"PK\x03\x04" + bytes(1000), "damaged"),
    }


def run_limited(arguments):
    """Runs lagtrap; returns its exit code, its output, and its peak memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # A small process in between, so that only lagtrap's memory is measured.
        ended = subprocess.run(
            ["time", "--quiet", "--format", "PEAK %M", lagtrap_test.LAGTRAP, *arguments],
            stdout=out,
            stderr=err,
            timeout=240,
        )
        err.seek(0)
        said, _, peak = err.read().decode().rpartition("PEAK ")
        return ended.returncode, said, int(peak) * 1024


class HostileBundles(ServerCase):
    def setUp(self):
        super().setUp()
        self.good = self.make_bundle(1)
        raw = subprocess.run(
            ["zstd", "-dcq"], input=self.good, stdout=subprocess.PIPE, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            self.system = archive.extractfile("system.xml").read()

    def run_command(self, command, bundle, output):
        return run_limited(
            [part.format(bundle=bundle, output=output) for part in COMMANDS[command]]
        )

    def test_lagtrap_refuses_them(self):
        output = self.root / "output"
        output.mkdir()
        bundle = self.root / "bomb.lagtrap.tar.zst"
        highest = 0
        for name, (content, error) in bombs(self.system, self.good).items():
            bundle.write_bytes(content)
            self.assertLess(len(content), MIB, name)
            for command in COMMANDS:
                code, said, peak = self.run_command(command, bundle, output)
                self.assertEqual(code, 1, f"{name}, {command}: {said}")
                self.assertRegex(
                    said, rf"\Alagtrap: [^\n]*{re.escape(error)}[^\n]*\n\Z", f"{name}, {command}"
                )
                self.assertTrue(said[:-1].isprintable(), name)
                highest = max(highest, peak)
            print(f"{name} ({len(content)} bytes): {said}", end="", file=sys.stderr)
        self.assertEqual(list(output.iterdir()), [])
        lagtrap_test.check_memory(lagtrap_test.LAGTRAP, highest, PEAK_LIMIT, "lagtrap")
        bundle.write_bytes(self.good)
        for command in COMMANDS:
            code, said, _ = self.run_command(command, bundle, output)
            self.assertEqual(code, 0, f"{command}: {said}")

    def test_what_is_no_file_is_refused(self):
        fifo = self.root / "fifo.lagtrap.tar.zst"
        os.mkfifo(fifo)
        for path in (fifo, pathlib.Path("/dev/zero")):
            code, said, _ = self.run_command("report", path, self.root)
            self.assertEqual((code, "not a plain file" in said), (1, True), said)

    @unittest.skipIf(
        lagtrap_test.sanitized(lagtrap_test.LAGTRAP),
        "a sanitizer cannot work in a small address space",
    )
    def test_too_little_memory_is_said(self):
        # An incompressible trace of 200 MiB, in less memory than its size.
        lines = os.urandom(MIB) * 200
        bundle = self.root / "large.lagtrap.tar.zst"
        bundle.write_bytes(
            zstd(
                member(b"system.xml", self.system) + member(b"trace.pftrace", lines) + bytes(1024),
                "--long=23",
            )
        )
        ended = subprocess.run(
            ["prlimit", "--as=157286400", str(lagtrap_test.LAGTRAP), "report", bundle],
            capture_output=True,
            text=True,
            timeout=240,
        )
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertRegex(ended.stderr, r"\Alagtrap: this takes more memory than allowed[^\n]*\n\Z")

    def test_check_refuses_them_as_settings(self):
        bundle = self.root / "bomb.lagtrap.tar.zst"
        for content in (self.good, zeros(4096), b"<lagtrap>" * 200_000, bytes(64 * MIB)):
            bundle.write_bytes(content)
            code, said, peak = run_limited(["check", str(bundle)])
            self.assertEqual(code, 3, said)
            self.assertTrue(said.strip())
            self.assertLess(len(said), 64 * 1024)
            lagtrap_test.check_memory(lagtrap_test.LAGTRAP, peak, PEAK_LIMIT, "lagtrap check")

    def test_the_server_keeps_them_marked(self):
        server = self.server()
        hostile = {name: bomb for name, bomb in bombs(self.system, self.good).items() if bomb[0]}
        for name, (content, _) in hostile.items():
            self.assertEqual(server.put(content)[0].status, 201, name)
        self.assertEqual(server.put(self.good)[0].status, 201)
        rows = {row["digest"]: row for row in server.parsed_bundles()}
        for name, (content, error) in hostile.items():
            reason = rows[sha256(content)]["bad_reason"]
            self.assertIn(error, reason or "it was taken for good", name)
        self.assertIsNone(rows[sha256(self.good)]["bad_reason"])
        self.assertEqual(server.metric("bundles_bad"), len(hostile))


if __name__ == "__main__":
    unittest.main(verbosity=2)
