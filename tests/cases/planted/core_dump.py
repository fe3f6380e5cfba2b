import pathlib

from case import ANONYMOUS, PROGRAMS, Case, Expected, call_event

PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")


def prepare(world):
    pattern = PATTERN.read_text(encoding="ascii")
    world.at_end(lambda: PATTERN.write_text(pattern, encoding="ascii"))
    PATTERN.write_text("core", encoding="ascii")
    world.program = world.watched(PROGRAMS / "core_dump", cwd=world.folder)


def provoke(world):
    world.program.go()
    world.program.process.communicate(timeout=120)


CASE = Case(
    "a child process that writes a core dump of 400 MB",
    "core_dump.cpp",
    lambda world: call_event(ANONYMOUS + "restart_worker", PROGRAMS / "core_dump"),
    provoke,
    Expected(
        cause=r"^Waited .* for a child process in .*writing its core dump",
        guilty=r"\brestart_worker\b",
        holder=r"^core_dump of core_dump\b",
    ),
    100,
    prepare,
)
