"""Makes the archive of a golden recording from a capture's folder. Keeps only the recorder's own
processes and kernel threads; where others had a CPU, the recording shows it as idle."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import capture_logs as logs
from small_programs import Program, small_kallsyms, small_program

KEPT_FILES = ("session.json", "settings.xml", "calls.jsonl", "functions.jsonl", "objects.jsonl")
VDSO = "[vdso]"
GROUP = b"/system.slice/golden.service"  # all control groups are shown as this one
NOBODY = bytes(8)  # as process and thread: none, and in a switch an idle CPU
RECORDED_PRIORITY = 98  # of SCHED_RR at 1, as the kernel counts
IDLE = struct.pack("<IIII", 0, 0, 120, 0)


class SmallCapture:
    """`own` are folders of programs whose source lines are kept, `nameless` those of programs
    whose functions are dropped. `programs` are names of programs whose processes are kept
    although the recorder is not their parent. `hidden` maps texts to their replacements."""

    def __init__(self, capture, own, hidden, programs=(), nameless=(), keep_priorities=False):
        self.keep_priorities = keep_priorities
        self.nameless = tuple(f"{folder}/" for folder in nameless)
        self.capture, self.own, self.hidden = (
            pathlib.Path(capture),
            tuple(f"{folder}/" for folder in own),
            hidden,
        )
        self.programs = set(programs)
        self.headers, self.records = {}, {}
        for name in ("user.log", "kernel.log", "rundown.log"):
            self.headers[name], self.records[name] = logs.records_of(self.capture / name)
        self.users, self.modules = {0}, {}
        self.find_processes()
        # Copied stacks contain program memory, so only the part already walked is kept.
        inner = {
            copy[16:24]: copy[24:32]
            for kind, copy in self.records["user.log"]
            if kind == logs.STACK_COPY
        }
        for name in ("kernel.log", "user.log"):
            self.records[name] = [
                (kind, small)
                for kind, record in self.records[name]
                if (small := self.without_others(kind, logs.with_stacks(kind, record, inner)))
            ]
        self.drop_unused_stacks()
        self.records["rundown.log"] = list(self.small_rundown())

    def find_processes(self):
        """Finds the numbers of the processes to keep."""
        parents, self.pids = {}, {0, os.getpid()}
        for kind, record in self.records["rundown.log"]:
            if kind == logs.PROCESS:
                process = logs.process_of(record)
                parents.setdefault(process.pid, process.parent_pid)
                if (
                    pathlib.PurePosixPath(process.texts[0].decode(errors="replace")).name
                    in self.programs
                ):
                    self.pids.add(process.pid)
            if kind == logs.THREAD and logs.numbers(record, 60, 1)[0]:
                self.pids.add(logs.numbers(record, 40, 1)[0])
            if kind == logs.FORK:
                pid, _, parent, _ = logs.numbers(record, 16, 4)
                if pid != parent:
                    parents[pid] = parent
        self.pids |= {
            logs.numbers(record, 52, 1)[0]
            for kind, record in self.records["user.log"]
            if kind == logs.RUN
        }
        for _ in range(64):
            self.pids |= {
                pid for pid, parent in parents.items() if parent in self.pids and parent != 0
            }

    def is_other(self, record, offset):
        return logs.numbers(record, offset, 1)[0] not in self.pids

    def without_others(self, kind, record):
        """The record as kept; None if it is about other processes only."""
        if kind == logs.STACK_COPY:
            return b""
        if kind in (
            logs.SAMPLE,
            logs.WAIT_FILE,
            logs.HISTORY_SAMPLE,
            logs.HISTORY_WAIT,
            logs.STACK,
            logs.PYTHON_CODE,
        ):
            at = {logs.SAMPLE: 32, logs.HISTORY_WAIT: 48}.get(kind, 24)
            if self.is_other(record, at):
                return b""
        # A child is the recorder until it executes its program.
        if kind == logs.PYTHON_CODE and any(text.encode() in record for text in self.hidden):
            return b""
        if kind == logs.HISTORY_WAIT and self.is_other(record, 56):
            return record[:56] + NOBODY + record[64:104] + bytes(16)
        if not self.keep_priorities:
            record = with_usual_priority(kind, record)
        if kind == logs.SWITCH:
            if self.is_other(record, 32):
                record = record[:16] + bytes(16) + IDLE + record[48:60] + b"\0" + record[61:]
            if self.is_other(record, 48):
                record = record[:48] + IDLE[:12] + record[60:61] + b"\0" + record[62:]
            return record if any(logs.numbers(record, 32, 1) + logs.numbers(record, 48, 1)) else b""
        if kind == logs.WAKING:
            if self.is_other(record, 24):
                return b""
            if self.is_other(record, 16):
                record = record[:16] + NOBODY + record[24:]
        return record

    def drop_unused_stacks(self):
        used = set()
        for kind, record in [
            *self.records["user.log"],
            *self.records["kernel.log"],
            *self.records["rundown.log"],
        ]:
            used |= logs.stacks_of(kind, record)
        self.places = {True: set(), False: set()}  # of code in user space; in the kernel
        for name in ("user.log", "kernel.log"):
            kept = []
            for kind, record in self.records[name]:
                if kind == logs.STACK:
                    stack = logs.stack_of(record)
                    if stack.number not in used:
                        continue
                    self.places[stack.is_user] |= set(stack.frames)
                kept.append((kind, record))
            self.records[name] = kept

    def hide(self, text):
        for shown, stands in self.hidden.items():
            text = text.replace(shown.encode(), stands.encode())
        return text

    def small_process(self, record):
        process = logs.process_of(record)
        self.users.add(logs.numbers(record, 24, 1)[0])
        process.texts = [self.hide(text) for text in process.texts]
        if len(process.texts) > 2:
            process.texts[2] = process.texts[2] and GROUP
        return logs.process_record(process)

    def small_rundown(self):
        records = self.records["rundown.log"]
        processes = [logs.process_of(record) for kind, record in records if kind == logs.PROCESS]
        programs = {process.texts[0].decode(errors="replace") for process in processes}
        # A process that exited before the rundown is known only by its mappings.
        known = {process.pid for process in processes}
        for kind, record in records:
            if self.is_other(record, {logs.MAPPING: 56, logs.THREAD: 40}.get(kind, 16)):
                continue
            if kind == logs.PROCESS:
                record = self.small_process(record)
            if kind == logs.MAPPING:
                mapping = logs.mapping_of(record)
                inside = [
                    place
                    for place in self.places[True]
                    if mapping.start <= place < mapping.start + mapping.length
                ]
                if not inside and mapping.path not in programs and mapping.pid in known:
                    continue
                self.modules.setdefault((mapping.path, mapping.build_id), set()).update(
                    place - mapping.start + mapping.file_offset for place in inside
                )
                record = logs.renamed_mapping(
                    record, self.hide(mapping.path.encode(errors="surrogateescape"))
                )
            yield kind, record

    def write_code(self, machine):
        for (path, build_id), offsets in sorted(self.modules.items()):
            raw = own_vdso() if path == VDSO else b""
            if path.startswith("/") and pathlib.Path(path).is_file():
                raw = pathlib.Path(path).read_bytes()
            if not raw.startswith(b"\x7fELF") or (build_id and Program(raw).build_id() != build_id):
                continue
            place = "vdso" if path == VDSO else self.hide(path.encode()).decode().lstrip("/")
            is_nameless = path.startswith(self.nameless)
            write(
                machine / place,
                small_program(
                    raw,
                    () if is_nameless else offsets,
                    path.startswith(self.own) and not is_nameless,
                ),
            )
        lines = pathlib.Path("/proc/kallsyms").read_text(encoding="ascii").splitlines()
        write(machine / "proc/kallsyms", small_kallsyms(lines, self.places[False]))
        write(machine / "sys/kernel/notes", pathlib.Path("/sys/kernel/notes").read_bytes())

    def write_facts(self, machine):
        """Writes the facts that the merge reads from the machine; host name and machine id are
        invented."""
        session = json.loads((self.capture / "session.json").read_text(encoding="utf-8"))
        passwd = [
            line
            for line in pathlib.Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
            if int(line.split(":")[2]) in self.users
        ]
        memory = re.search(
            r"^MemTotal:.*$", pathlib.Path("/proc/meminfo").read_text(encoding="ascii"), re.M
        ).group()
        release = re.search(
            r"^PRETTY_NAME=.*$", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M
        ).group()
        for path, text in {
            "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
            "etc/os-release": release + "\n",
            "etc/passwd": "\n".join(passwd) + "\n",
            "proc/cpuinfo": "model name\t: Golden\n",
            "proc/meminfo": memory + "\n",
            "proc/sys/kernel/hostname": "golden\n",
            "proc/sys/kernel/osrelease": os.uname().release + "\n",
            "proc/sys/kernel/random/boot_id": session.get("boot_id", "") + "\n",
        }.items():
            write(machine / path, text)

    def write_session(self, path):
        session = json.loads((self.capture / "session.json").read_text(encoding="utf-8"))
        session["quality"]["samples_taken"] = sum(
            kind == logs.SAMPLE for kind, _ in self.records["kernel.log"]
        )
        write(path, self.hide(json.dumps(session, indent=1).encode()))

    def write_to(self, folder):
        """The archive's folders: the capture and the machine's files."""
        shutil.rmtree(folder, ignore_errors=True)
        capture, machine = folder / "capture", folder / "machine"
        for name in KEPT_FILES:
            if (self.capture / name).exists():
                write(capture / name, self.hide((self.capture / name).read_bytes()))
        self.write_session(capture / "session.json")
        for name, records in self.records.items():
            logs.write_records(capture / name, self.headers[name], records)
        for path in (self.capture / "code").glob("*"):
            if int(path.name.split("-")[0]) in self.pids:
                write(capture / "code" / path.name, path.read_bytes())
        self.write_code(machine)
        self.write_facts(machine)


def with_usual_priority(kind, record):
    """Removes the priority that the recorder gave its programs (take_the_cpus)."""
    if kind == logs.WAKING and logs.numbers(record, 32, 1)[0] == RECORDED_PRIORITY:
        return record[:32] + IDLE[8:12] + record[36:]
    if kind == logs.SWITCH:
        for priority, policy in ((40, 60), (56, 61)):
            if logs.numbers(record, priority, 1)[0] == RECORDED_PRIORITY:
                record = (
                    record[:priority]
                    + IDLE[8:12]
                    + record[priority + 4 : policy]
                    + b"\0"
                    + record[policy + 1 :]
                )
    return record


def own_vdso():
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        if line.endswith(VDSO):
            start, end = (int(number, 16) for number in line.split(" ", 1)[0].split("-"))
            with open("/proc/self/mem", "rb") as memory:
                memory.seek(start)
                return memory.read(end - start)
    return b""


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def pack(folder, archive, forbidden):
    """Packs a folder; nothing in it may contain any of the forbidden texts."""
    for path in sorted(folder.rglob("*")):
        for text in forbidden if path.is_file() else ():
            if text.encode() in path.read_bytes():
                raise AssertionError(f"{path.relative_to(folder)} has the text {text!r}")
    tar = subprocess.run(
        [
            "tar",
            "--sort=name",
            "--mtime=@0",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=u=rwX,go=rX",
            "--format=ustar",
            "-cf",
            "-",
            "-C",
            folder,
            "capture",
            "machine",
        ],
        capture_output=True,
        check=True,
    ).stdout
    subprocess.run(["zstd", "-q", "-19", "--ultra", "-f", "-o", archive], input=tar, check=True)
