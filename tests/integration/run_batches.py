"""Reads batches of runs by the description in docs/formats.md, without the code that writes
them."""

import struct
import subprocess

BATCH = {
    1: "batch_id",
    2: "host",
    3: "boot_id",
    4: "session_hint",
    5: "version",
    6: "made_realtime_ns",
    7: "runs_sampled_away",
    8: "runs_lost",
}
FRAME = {1: "module", 2: "build_id", 3: "offset", 4: "function", 5: "file", 6: "line"}
RUN = {
    1: "event",
    2: "begin_realtime_ns",
    3: "duration_ns",
    4: "threshold_ns",
    5: "key",
    6: "pid",
    7: "begin_tid",
    8: "end_tid",
    9: "thread",
    10: "process",
    11: "executable",
    12: "build_id",
    13: "user",
    14: "start",
    15: "delay",
    16: "aborted",
    17: "weight",
    18: "begin_stack",
    19: "end_stack",
    21: "dirty_reasons",
    23: "unit",
    24: "without_stages",
}
TIMES = {1: "on_cpu_ns", 2: "runnable_ns", 3: "throttled_ns", 4: "handed_over_ns"}
CLASSES = [
    "other",
    "lock",
    "events",
    "input",
    "output",
    "socket",
    "sleep",
    "child",
    "file-lock",
    "semaphore",
    "disk",
    "page-fault",
    "stopped",
]
STAGE = {1: "name", 2: "at_ns", 3: "tid", 4: "stack"}
TEXTS = {
    "module",
    "build_id",
    "function",
    "file",
    "event",
    "thread",
    "process",
    "executable",
    "user",
    "name",
    "unit",
}


def fields(message):
    """(number, value) of each field; a value is an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        elif kind == 2:
            size = varint()
            yield tag >> 3, message[at : at + size]
            at += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield tag >> 3, struct.unpack_from("<Q" if kind == 1 else "<I", message, at)[0]
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def record(message, names, texts):
    found = {name: "" if name in TEXTS else 0 for name in names.values()}
    for number, value in fields(message):
        if number in names:
            name = names[number]
            found[name] = (texts[value - 1] if value else "") if name in TEXTS else value
    return found


def times_of(message):
    """The parts of a run's time; "blocked" by class, without zeros."""
    times = record(message, TIMES, [])
    times["blocked"] = {
        CLASSES[number - 16]: value for number, value in fields(message) if number >= 16
    }
    times["all_ns"] = (
        times["on_cpu_ns"]
        + times["runnable_ns"]
        + times["handed_over_ns"]
        + sum(times["blocked"].values())
    )
    return times


def read_batch(path):
    message = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    parts = list(fields(message))
    texts = [value.decode() for number, value in parts if number == 9]
    batch = {"texts": len(texts), "stacks": [], "runs": []}
    for number, value in parts:
        if number in BATCH:
            batch[BATCH[number]] = value.decode() if isinstance(value, bytes) else value
        elif number == 10:
            batch["stacks"].append([record(frame, FRAME, texts) for _, frame in fields(value)])
        elif number == 11:
            run = record(value, RUN, texts)
            run["stages"] = [
                record(stage, STAGE, texts) for kind, stage in fields(value) if kind == 20
            ]
            times = [body for kind, body in fields(value) if kind == 22]
            run["times"] = times_of(times[0]) if times else None
            batch["runs"].append(run)
    return batch


def read_spool(spool):
    """All batches waiting in a spool, oldest first."""
    files = sorted((spool / "ready").glob("*.runs.zst"), key=lambda path: path.stat().st_mtime_ns)
    return [read_batch(path) for path in files]
