"""Reads and writes the logs of a capture (docs/formats.md, "Logs")."""

import dataclasses
import struct
import zlib

FILE_HEADER_BYTES = 112
BLOCK_LIMIT_BYTES = 200_000
RUN, STACK, SAMPLE, SWITCH, WAKING, THREAD, PROCESS, MAPPING, FORK = range(1, 10)
WAIT_FILE, HISTORY_SAMPLE, HISTORY_WAIT, STACK_COPY, PYTHON_CODE = 14, 18, 19, 20, 27
USER = 1  # kind of a stack


@dataclasses.dataclass
class Stack:
    number: int
    pid: int
    is_user: bool
    frames: tuple


def records_of(path):
    """The file's header, and its records as (type, bytes)."""
    raw = path.read_bytes()
    records, at = [], FILE_HEADER_BYTES
    while raw[at : at + 4] == b"BLK1":
        payload_bytes, count = struct.unpack_from("<II", raw, at + 4)
        inner = at + 16
        for _ in range(count):
            size, kind = struct.unpack_from("<IH", raw, inner)
            records.append((kind, raw[inner : inner + size]))
            inner += (size + 7) // 8 * 8
        at += 16 + payload_bytes
    return raw[:FILE_HEADER_BYTES], records


def write_records(path, header, records):
    blocks, payload, count = [], b"", 0

    def close():
        nonlocal payload, count
        if count:
            head = struct.pack("<4sII", b"BLK1", len(payload), count)
            blocks.append(head + struct.pack("<I", zlib.crc32(head + payload)) + payload)
        payload, count = b"", 0

    for _, record in records:
        if len(payload) + len(record) > BLOCK_LIMIT_BYTES:
            close()
        payload += record + bytes(-len(record) % 8)
        count += 1
    close()
    path.write_bytes(header + b"".join(blocks))


def numbers(record, offset, count):
    return struct.unpack_from(f"<{count}I", record, offset)


def stack_of(record):
    number, pid, frame_count, kind = struct.unpack_from("<QIHB", record, 16)
    return Stack(number, pid, kind == USER, struct.unpack_from(f"<{frame_count}Q", record, 32))


# Where records contain stack numbers: by type, offset and count.
STACKS = {
    SAMPLE: (16, 2),
    SWITCH: (16, 2),
    THREAD: (16, 2),
    HISTORY_SAMPLE: (16, 1),
    HISTORY_WAIT: (24, 3),
}


def stacks_of(kind, record):
    """The stacks that a record refers to."""
    offset, count = STACKS.get(kind, (0, 0))
    return set(struct.unpack_from(f"<{count}Q", record, offset))


def with_stacks(kind, record, others):
    """The record with stacks replaced according to `others`."""
    offset, count = STACKS.get(kind, (0, 0))
    for at in range(offset, offset + 8 * count, 8):
        record = (
            record[:at] + others.get(record[at : at + 8], record[at : at + 8]) + record[at + 8 :]
        )
    return record


@dataclasses.dataclass
class Process:
    pid: int
    parent_pid: int
    head: bytes
    texts: list  # program, command line, control group, perhaps the name it was started by


def process_of(record):
    pid, parent_pid, _, text_bytes = numbers(record, 16, 4)
    return Process(pid, parent_pid, record[:28], record[32 : 32 + text_bytes].split(b"\0"))


def process_record(process):
    text = b"\0".join(process.texts)
    whole = process.head + struct.pack("<I", len(text)) + text
    return struct.pack("<I", len(whole)) + whole[4:]


@dataclasses.dataclass
class Mapping:
    pid: int
    start: int
    length: int
    file_offset: int
    build_id: bytes
    path: str


def mapping_of(record):
    start, length, file_offset = struct.unpack_from("<QQQ", record, 16)
    pid, path_bytes, build_id_bytes = struct.unpack_from("<IHB", record, 56)
    return Mapping(
        pid,
        start,
        length,
        file_offset,
        record[64 : 64 + build_id_bytes],
        record[88 : 88 + path_bytes].decode(errors="surrogateescape"),
    )


def renamed_mapping(record, path):
    """The mapping's record with another path."""
    head = record[:60] + struct.pack("<H", len(path)) + record[62:88]
    return struct.pack("<I", len(head) + len(path)) + head[4:] + path
