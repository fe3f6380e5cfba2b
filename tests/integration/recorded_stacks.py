"""Reads the stacks of a capture from its raw logs, and names their frames from the files' own
symbols. Uses no code of the product, so that a mistake in it is not repeated here.

The layout of logs and records is in docs/formats.md and bpf/records.h.
"""

import bisect
import collections
import json
import pathlib
import re
import struct
import zlib

ENDS = (
    "unknown",
    "complete",
    "too deep",
    "bad address",
    "no process",
    "no mapping",
    "no table",
    "out of budget",
    "gap",
    "unsupported",
    "no progress",
    "32 bit",
    "copy ended",
)
COMPLETE, TOO_DEEP, GAP, BY_FRAME_POINTER = 1, 2, 8, 0x80
STACK, SAMPLE, SWITCH, THREAD, PROCESS, MAPPING, FORK, NAME = 2, 3, 4, 6, 7, 8, 9, 11
STACK_COPY = 20
MOST_FRAMES = 127
RESTORER = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"  # mov $rt_sigreturn,%rax; syscall

Stack = collections.namedtuple("Stack", "id pid frames end by_frame_pointer at_ns")
Mapping = collections.namedtuple("Mapping", "start end offset path build_id at_ns")
# kind: "sample" (on CPU), "switch" (left the CPU), "sleeping" (was asleep when the capture began)
Seen = collections.namedtuple("Seen", "kind pid tid at_ns stack in_kernel")


def records(path):
    """(type, at_ns, bytes) of each record of a log; the log must be complete."""
    data = path.read_bytes()
    assert (
        data[:8] == b"LAGTRLOG" and zlib.crc32(data[:108]) == struct.unpack_from("<I", data, 108)[0]
    ), f"{path}: no log"
    at = 112
    while at < len(data):
        magic, payload, _, checksum = struct.unpack_from("<4I", data, at)
        body = data[at + 16 : at + 16 + payload]
        assert (
            magic == 0x314B4C42 and zlib.crc32(body, zlib.crc32(data[at : at + 12])) == checksum
        ), f"{path}: bad block"
        place = 0
        while place < payload:
            size, kind, _, at_ns = struct.unpack_from("<IHHQ", body, place)
            yield kind, at_ns, body[place : place + size]
            place += (size + 7) // 8 * 8
        at += 16 + payload


class ElfFile:
    """Functions, code and build id of a file; addresses are as linked."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        assert self.data[:5] == b"\x7fELF\x02", f"{path} is no 64-bit ELF file"
        (section_offset,) = struct.unpack_from("<Q", self.data, 40)
        size, self.count, names = struct.unpack_from("<3H", self.data, 58)
        self.sections = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, section_offset + i * size)
            for i in range(self.count)
        ]
        self.names = self.sections[names][4] if self.count else 0
        self.segments = self.read_segments()
        self.functions = self.read_functions()
        self.starts = [function[0] for function in self.functions]
        self.build_id = self.read_build_id()
        self.plts = [
            (s[3], s[3] + s[5])
            for s in self.sections
            if self.text(self.names + s[0]).startswith(".plt")
        ]

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode(errors="replace")

    def read_segments(self):
        (offset,) = struct.unpack_from("<Q", self.data, 32)
        (count,) = struct.unpack_from("<H", self.data, 56)
        headers = [
            struct.unpack_from("<IIQQQQQQ", self.data, offset + 56 * i) for i in range(count)
        ]
        return [
            (h[2], h[3], h[5]) for h in headers if h[0] == 1
        ]  # file offset, address, size in the file

    def read_functions(self):
        found = {}
        for section in self.sections:
            if section[1] not in (2, 11):  # .symtab, .dynsym
                continue
            texts = self.sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, _, index, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
                if (
                    info & 15 in (2, 10) and index != 0 and value not in found
                ):  # functions, including indirect ones
                    found[value] = (value, size, texts + name)
        return sorted(found.values())

    def read_build_id(self):
        for section in self.sections:
            if section[1] == 7 and self.text(self.names + section[0]) == ".note.gnu.build-id":
                return self.data[section[4] + 16 : section[4] + section[5]].hex()
        return ""

    def address(self, file_offset):
        for offset, address, size in self.segments:
            if offset <= file_offset < offset + size:
                return file_offset - offset + address
        return None

    def code(self, address, size):
        for offset, start, length in self.segments:
            if start <= address and address + size <= start + length:
                return self.data[offset + address - start : offset + address - start + size]
        return b""

    def function(self, address):
        """Name of the function at an address, or an empty text."""
        place = bisect.bisect_right(self.starts, address) - 1
        if place < 0:
            return ""
        start, size, name = self.functions[place]
        return self.text(name) if address < start + max(size, 1) else ""

    def in_plt(self, address):
        return any(start <= address < end for start, end in self.plts)


def is_call_before(code):
    """Whether a call instruction ends where the seven bytes of `code` end."""
    if len(code) < 7:
        return False
    if code[2] == 0xE8:
        return True
    for length in range(
        2, 8
    ):  # FF /2 with no, one or four bytes of displacement, with or without a SIB byte
        if code[7 - length] != 0xFF or code[8 - length] >> 3 & 7 != 2:
            continue
        mode, base = code[8 - length] >> 6, code[8 - length] & 7
        wanted = (
            2
            if mode == 3
            else 2 + (base == 4) + (4 if mode == 2 or (mode == 0 and base == 5) else mode == 1)
        )
        if mode == 0 and base == 4 and length == 7 and code[9 - length] & 7 == 5:
            wanted = 7
        if wanted == length:
            return True
    return False


class Files:
    """Files by path and build id; `known` are files that cannot be found by path."""

    def __init__(self, known=()):
        self.by_path, self.by_build_id = {}, {}
        for path in known:
            file = ElfFile(path)
            self.by_build_id[file.build_id] = file

    def find(self, mapping):
        if mapping.build_id in self.by_build_id:
            return self.by_build_id[mapping.build_id]
        if mapping.path not in self.by_path:
            try:
                self.by_path[mapping.path] = ElfFile(mapping.path)
            except (OSError, AssertionError):
                self.by_path[mapping.path] = None
        file = self.by_path[mapping.path]
        return file if file and mapping.build_id in ("", file.build_id) else None


class Frame:
    """An address of a process resolved: its file, the address as linked, the function's name."""

    def __init__(self, mapping, file, address):
        self.mapping, self.file = mapping, file
        self.linked = file.address(address - mapping.start + mapping.offset) if file else None

    def code(self, before, after):
        return (
            self.file.code(self.linked - before, before + after) if self.linked is not None else b""
        )

    def begins_restorer(self):
        return self.code(0, len(RESTORER)) == RESTORER

    def in_restorer(self):
        return any(self.code(before, len(RESTORER) - before) == RESTORER for before in (0, 7, 9))

    def name(self):
        """The function's own name, or an empty text; for a caller, that of the call."""
        return self.file.function(self.linked - 1) if self.linked is not None else ""

    def token(self, exact):
        """The name of a planted function, "main" of a planted program, or the kind of other
        code."""
        if self.mapping is None:
            return "nowhere"
        if self.mapping.path in ("[vdso]", "[uprobes]"):
            return self.mapping.path[1:-1]
        if self.linked is None:
            return "unknown"
        address = self.linked if exact else self.linked - 1
        if self.file.in_plt(address):
            return "plt"
        name = re.sub(
            r"\.(cold|part\.\d+|constprop\.\d+|isra\.\d+)+$", "", self.file.function(address)
        )
        return name if name.startswith("deep_") or name == "main" else "lib"


class Capture:
    """The stacks of one capture by thread, from its folder with the three logs, as the kernel
    side walked them. With `late`, copied stacks have the copy's number, which no other use of
    the same frames has."""

    def __init__(self, folder, files=None, late=False):
        self.folder = pathlib.Path(folder)
        self.late, self.inner = late, {}
        self.files = files or Files()
        self.session = json.loads((self.folder / "session.json").read_text())
        self.stacks, self.seen = {}, collections.defaultdict(list)
        self.mappings, self.parents, self.execs = (
            collections.defaultdict(list),
            {},
            collections.defaultdict(list),
        )
        self.programs, self.names = {}, {}
        self.log_bytes = {
            name: (self.folder / name).stat().st_size
            for name in ("user.log", "kernel.log", "rundown.log")
        }
        self.read_user()
        self.read_rundown()
        self.read_kernel()

    def read_user(self):
        for kind, at_ns, body in records(self.folder / "user.log"):
            if kind == STACK_COPY:
                number, inner = struct.unpack_from("<QQ", body, 16)
                self.inner[number] = inner
            if kind == STACK:
                number, pid, count, _, end = struct.unpack_from("<QIHBB", body, 16)
                self.stacks[number] = Stack(
                    number,
                    pid,
                    struct.unpack_from(f"<{count}Q", body, 32),
                    end & ~BY_FRAME_POINTER,
                    bool(end & BY_FRAME_POINTER),
                    at_ns,
                )

    def number_of(self, stack):
        return stack if self.late else self.inner.get(stack, stack)

    def read_kernel(self):
        for kind, at_ns, body in records(self.folder / "kernel.log"):
            if kind == SAMPLE:
                _, user, pid, tid, in_kernel = struct.unpack_from("<QQIII", body, 16)
                self.seen[tid].append(
                    Seen("sample", pid, tid, at_ns, self.number_of(user), in_kernel)
                )
            elif kind == SWITCH:
                _, user, pid, tid, _, state = struct.unpack_from("<QQIIII", body, 16)
                if tid and (
                    state != 0 or user
                ):  # no stack is taken of a thread that was only preempted
                    self.seen[tid].append(Seen("switch", pid, tid, at_ns, self.number_of(user), 1))

    def read_rundown(self):
        for kind, at_ns, body in records(self.folder / "rundown.log"):
            if kind == THREAD:
                _, user, _, pid, tid, _, _, state, is_kernel = struct.unpack_from(
                    "<QQQIIIIII", body, 16
                )
                self.names[tid] = body[64:80].split(b"\0")[0].decode(errors="replace")
                if state and not is_kernel:
                    self.seen[tid].append(
                        Seen("sleeping", pid, tid, at_ns, self.number_of(user), 1)
                    )
            elif kind == PROCESS:
                (pid,) = struct.unpack_from("<I", body, 16)
                self.programs[pid] = body[32:].split(b"\0")[0].decode(errors="replace")
            elif kind == MAPPING:
                start, length, offset, _, _, pid, path_bytes, id_bytes = struct.unpack_from(
                    "<5QIHB", body, 16
                )
                self.mappings[pid].append(
                    Mapping(
                        start,
                        start + length,
                        offset,
                        body[88 : 88 + path_bytes].decode(errors="replace"),
                        body[64 : 64 + id_bytes].hex(),
                        at_ns,
                    )
                )
            elif kind == FORK:
                pid, tid, parent = struct.unpack_from("<III", body, 16)
                if pid != parent:
                    self.parents[pid] = (parent, at_ns)
            elif kind == NAME:
                pid, _, by_exec = struct.unpack_from("<III", body, 16)
                if by_exec:
                    self.execs[pid].append(at_ns)
        for listed in self.mappings.values():
            listed.sort(key=lambda mapping: mapping.at_ns)

    def mapping(self, pid, address, at_ns):
        """The newest mapping of an address in the program that the process ran then; a child
        inherits its parent's."""
        begun_ns = max((exec_ns for exec_ns in self.execs[pid] if exec_ns <= at_ns), default=0)
        covering = [
            mapping for mapping in self.mappings[pid] if mapping.start <= address < mapping.end
        ]
        before = [mapping for mapping in covering if begun_ns <= mapping.at_ns <= at_ns]
        if before:
            return before[-1]
        if (
            covering and not self.execs[pid]
        ):  # read from /proc while the recording was already running
            return covering[0]
        if not begun_ns and pid in self.parents:
            parent, forked_ns = self.parents[pid]
            return self.mapping(parent, address, forked_ns)
        return None

    def frame(self, stack, address):
        mapping = self.mapping(stack.pid, address, max(stack.at_ns, self.session["started_ns"]))
        file = None
        if mapping and not mapping.path.startswith("["):
            file = self.files.find(mapping)
        return Frame(mapping, file, address)

    def frames(self, stack):
        return [self.frame(stack, address) for address in stack.frames]

    def tokens(self, stack):
        """The token of each frame, innermost first. A frame interrupted by a signal is at its
        own address, not after a call."""
        frames = self.frames(stack)
        return [
            frame.token(i == 0 or frame.begins_restorer() or frames[i - 1].in_restorer())
            for i, frame in enumerate(frames)
        ]

    def not_called(self, stack):
        """Positions of frames that cannot be return addresses: there is no call before them, and
        no signal arrived there."""
        frames = self.frames(stack)
        return [
            i
            for i in range(1, len(frames))
            if frames[i].linked is not None
            and not frames[i].begins_restorer()
            and not frames[i - 1].in_restorer()
            and not is_call_before(frames[i].code(7, 0))
        ]

    def describe(self, stack, base=()):
        lines = [
            f"process {stack.pid}, {len(stack.frames)} frames, end: {ENDS[stack.end]}"
            + (", some by frame pointers" if stack.by_frame_pointer else "")
        ]
        last, times = None, 0
        for address, frame, token in zip(stack.frames, self.frames(stack), self.tokens(stack)):
            path = frame.mapping.path if frame.mapping else "?"
            place = f"{path}+0x{frame.linked:x}" if frame.linked is not None else path
            line = f"  {address:#x} {token} {place}" + (" (planted)" if address in base else "")
            times = times + 1 if line == last else 1
            lines[-(times > 1) or len(lines) :] = [line + (f" x {times}" if times > 1 else "")]
            last = line
        return "\n".join(lines)

    def share_complete(self, pids, kinds=("sample",)):
        """(complete, all, reasons of the others) of what was seen of some processes."""
        reasons, total = collections.Counter(), 0
        for seen in (
            entry
            for listed in self.seen.values()
            for entry in listed
            if entry.pid in pids and entry.kind in kinds
        ):
            stack = self.stacks.get(seen.stack)
            total += 1
            reasons[ENDS[stack.end] if stack else "no stack"] += 1
        return reasons.pop("complete", 0), total, dict(reasons)
