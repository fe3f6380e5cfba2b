import dataclasses
import os
import pathlib

from case import Expected, planted

CPU_GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")


def limited(world):
    """Moves only the program into a control group with a fifth of a CPU."""
    base.prepare(world)
    group = CPU_GROUPS / f"lagtrap-case-{os.getpid()}"
    group.mkdir()
    world.at_end(group.rmdir)
    (group / "cpu.cfs_period_us").write_text("100000")
    (group / "cpu.cfs_quota_us").write_text("20000")
    (group / "cgroup.procs").write_text(str(world.program.process.pid))


base = planted(
    "compute",
    "compress_block",
    "a control group limited to a fifth of a CPU",
    Expected(cause=r"CPU limit|quota", guilty=r"\b(compress_block|transform)\b"),
    least_ms=500,
    arguments=lambda world: (200,),
)
CASE = dataclasses.replace(base, prepare=limited)
