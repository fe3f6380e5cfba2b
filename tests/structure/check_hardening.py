"""The built programs are hardened: check_hardening.py BUILD_DIRECTORY [--shipped]. --shipped
also checks what only release builds have."""

import re
import subprocess
import sys
from pathlib import Path

from tree import finish

ENDBR64 = bytes.fromhex("f30f1efa")
# orq $0, (%rsp), with which the compiler touches each page of a large stack frame.
STACK_PROBE = bytes.fromhex("48830c2400")
# Complete CET needs start files with it, which Debian 12's C library lacks, so this checks code,
# not notes.


def readelf(program, *options):
    return subprocess.run(
        ["readelf", "-W", *options, program], capture_output=True, text=True, check=True
    ).stdout


def first_bytes_of(program, symbol):
    """The first instruction of a function; empty if the program has no such symbol."""
    place = re.search(
        rf"^ *\d+: +([0-9a-f]+) +\d+ FUNC +\S+ +\S+ +\d+ {symbol}$", readelf(program, "-s"), re.M
    )
    text = re.search(r" \.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+)", readelf(program, "-S"))
    if not place or not text:
        return b""
    with open(program, "rb") as file:
        file.seek(int(place.group(1), 16) - int(text.group(1), 16) + int(text.group(2), 16))
        return file.read(len(ENDBR64))


def problems_of(program, shipped):
    segments, dynamic = readelf(program, "-l"), readelf(program, "-d")
    symbols = readelf(program, "--dyn-syms")
    stack = re.search(r"GNU_STACK .*? (\S+) +0x[0-9a-f]+$", segments, re.M)
    checks = {
        "is not position-independent": "PIE" in dynamic and re.search(r"type is DYN", segments),
        "has no RELRO": "GNU_RELRO" in segments,
        "binds symbols lazily": re.search(r"FLAGS_1.*\bNOW\b", dynamic),
        "has a stack that can be executed": stack and "E" not in stack.group(1),
        "has a segment that can be written and executed": not re.search(
            r"^ +LOAD .* RWE ", segments, re.M
        ),
        "says where libraries are looked for": not re.search(r"\((RPATH|RUNPATH)\)", dynamic),
        "changes its code when it is loaded": "TEXTREL" not in dynamic,
        "has no stack protector": "__stack_chk_fail" in symbols,
        "has no checked functions of the C library": re.search(
            r"__\w+_chk@", symbols.replace("__stack_chk", "")
        ),
        "has no landing places for indirect jumps": first_bytes_of(program, "main") == ENDBR64,
    }
    if shipped:
        checks["does not touch the pages of large stack frames"] = (
            STACK_PROBE in Path(program).read_bytes()
        )
    return [f"{program.name} {problem}" for problem, holds in checks.items() if not holds]


def programs_of(directory):
    for path in sorted(Path(directory).glob("*/lagtrap*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


programs = list(programs_of(sys.argv[1]))
found = [
    problem for program in programs for problem in problems_of(program, "--shipped" in sys.argv[2:])
]
for name in {"lagtrap", "lagtrapd", "lagtrap-server", "lagtrap-uploader"} - {
    program.name for program in programs
}:
    found.append(f"{name} is not built")
finish(found, len(programs))
