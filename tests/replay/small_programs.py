"""Programs and kernels reduced to what names the addresses in a recording: a program's build id,
its code segments, the functions around those addresses and, if wanted, its lines."""

import bisect
import struct

SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_DYNSYM, SHT_PROGBITS, SHT_NOBITS = 2, 3, 7, 11, 1, 8
PT_LOAD, PT_NOTE, STT_FUNC, STT_GNU_IFUNC, SHN_ABS = 1, 4, 2, 10, 0xFFF1
LINES_LIMIT_BYTES = 300_000  # of a program's DWARF; more is omitted


class Program:
    """A 64-bit ELF file."""

    def __init__(self, raw):
        self.raw = raw
        self.header = struct.unpack_from("<16sHHIQQQIHHHHHH", raw)
        phoff, shoff, phnum, shnum, names = (self.header[index] for index in (5, 6, 10, 12, 13))
        self.segments = [
            struct.unpack_from("<IIQQQQQQ", raw, phoff + 56 * index) for index in range(phnum)
        ]
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", raw, shoff + 64 * index) for index in range(shnum)
        ]
        text = self.bytes_of(sections[names]) if sections else b""
        self.sections = [
            (text[section[0] : text.index(b"\0", section[0])].decode(), section)
            for section in sections
        ]

    def bytes_of(self, section):
        return b"" if section[1] == SHT_NOBITS else self.raw[section[4] : section[4] + section[5]]

    def build_id(self):
        for _, section in self.sections:
            if section[1] != SHT_NOTE:
                continue
            notes, at = self.bytes_of(section), 0
            while at + 12 <= len(notes):
                name_bytes, bytes_, kind = struct.unpack_from("<III", notes, at)
                begin = at + 12 + (name_bytes + 3) // 4 * 4
                if kind == 3 and notes[at + 12 : at + 16] == b"GNU\0":
                    return notes[begin : begin + bytes_]
                at = begin + (bytes_ + 3) // 4 * 4
        return b""

    def functions(self):
        """(address, size, name, info) from both symbol tables."""
        found = set()
        for _, section in self.sections:
            if section[1] not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            symbols, names = self.bytes_of(section), self.bytes_of(self.sections[section[6]][1])
            for at in range(0, len(symbols), 24):
                name, info, _, index, value, size = struct.unpack_from("<IBBHQQ", symbols, at)
                if info & 15 in (STT_FUNC, STT_GNU_IFUNC) and index != 0 and value != 0:
                    found.add((value, size, names[name : names.index(b"\0", name)], info))
        return sorted(found)

    def address_of(self, offset):
        for kind, _, file_offset, address, _, file_bytes, _, _ in self.segments:
            if kind == PT_LOAD and file_offset <= offset < file_offset + file_bytes:
                return address + offset - file_offset
        return None


def around(starts, ends, address):
    """The indices of those sorted functions that contain an address, and of the nearest ones."""
    after = bisect.bisect_right(starts, address)
    kept = {index for index in range(after) if ends[index] > address}
    for nearest in (
        starts[after - 1] if after else None,
        starts[after] if after < len(starts) else None,
    ):
        if nearest is not None:
            kept |= set(
                range(bisect.bisect_left(starts, nearest), bisect.bisect_right(starts, nearest))
            )
    return kept


def small_program(raw, offsets, with_lines):
    """The file's bytes, reduced to what names these offsets."""
    program = Program(raw)
    functions = program.functions()
    starts = [function[0] for function in functions]
    ends = [function[0] + function[1] for function in functions]
    kept = set()
    for offset in offsets:
        for address in {program.address_of(offset), program.address_of(offset - 1)} - {None}:
            kept |= around(starts, ends, address)
    names, symbols = b"\0", bytes(24)
    for index in sorted(kept):
        address, size, name, info = functions[index]
        symbols += struct.pack("<IBBHQQ", len(names), info, 0, SHN_ABS, address, size)
        names += name + b"\0"
    parts = [
        (name, SHT_PROGBITS, program.bytes_of(section), section[2], section[8], 0)
        for name, section in program.sections
        if with_lines and name.startswith(".debug_")
    ]
    if sum(len(part[2]) for part in parts) > LINES_LIMIT_BYTES:
        parts = []
    note = struct.pack("<III4s", 4, len(program.build_id()), 3, b"GNU\0") + program.build_id()
    parts = [
        (".note.gnu.build-id", SHT_NOTE, note, 0, 4, 0),
        (".symtab", SHT_SYMTAB, symbols, 0, 8, 24),
        (".strtab", SHT_STRTAB, names, 0, 1, 0),
        *parts,
    ]
    return assembled(program, parts)


def assembled(program, parts):
    """A file of these sections, the first of which are the notes."""
    segments = [segment for segment in program.segments if segment[0] == PT_LOAD]
    at = 64 + 56 * (len(segments) + 1)
    notes = len(parts[0][2])
    segments.append((PT_NOTE, 4, at, 0, 0, notes, notes, 4))
    content, headers, section_names = b"", [bytes(64)], b"\0"
    parts = [*parts, (".shstrtab", SHT_STRTAB, None, 0, 1, 0)]
    for name, kind, data, flags, alignment, entry_bytes in parts:
        name_at = len(section_names)
        section_names += name.encode() + b"\0"
        data = section_names if data is None else data
        content += bytes(-(at + len(content)) % 8)
        link, info = (3, 1) if kind == SHT_SYMTAB else (0, 0)
        headers.append(
            struct.pack(
                "<IIQQQQIIQQ",
                name_at,
                kind,
                flags & 0x930,
                0,
                at + len(content),
                len(data),
                link,
                info,
                alignment or 1,
                entry_bytes,
            )
        )
        content += data
    content += bytes(-(at + len(content)) % 8)
    ident, kind, machine, version, entry = program.header[:5]
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        ident,
        kind,
        machine,
        version,
        entry,
        64,
        at + len(content),
        0,
        64,
        56,
        len(segments),
        64,
        len(headers),
        len(headers) - 1,
    )
    return (
        header
        + b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
        + content
        + b"".join(headers)
    )


def small_kallsyms(lines, addresses):
    """Lines of /proc/kallsyms that name these addresses."""
    symbols = sorted(
        (int(line.split(" ", 1)[0], 16), line)
        for line in lines
        if not line.startswith("0000000000000000")
    )
    starts = [symbol[0] for symbol in symbols]
    kept = set()
    for address in addresses:
        for place in (address, address - 1):
            kept |= around(starts, starts, place)
    return "".join(symbols[index][1] + "\n" for index in sorted(kept))
