import dataclasses
import os
import pathlib

from case import Expected, planted

DISK_GROUPS = pathlib.Path("/sys/fs/cgroup/blkio")
LIMIT_BYTES_PER_S = 8 << 20


def limited(world):
    """Moves only the program into a control group with a limit for the folder's disk."""
    base.prepare(world)
    group = DISK_GROUPS / f"lagtrap-case-{os.getpid()}"
    group.mkdir()
    world.at_end(group.rmdir)
    device = os.stat(world.folder).st_dev
    (group / "blkio.throttle.write_bps_device").write_text(
        f"{os.major(device)}:{os.minor(device)} {LIMIT_BYTES_PER_S}"
    )
    (group / "cgroup.procs").write_text(str(world.program.process.pid))


base = planted(
    "save_file",
    "save_document",
    "a control group limited to 8 MiB a second for writing to its disk",
    Expected(
        cause=r"the disk .*: its control group lagtrap-case-\d+ was at its limit of 8.00 MiB a "
        r"second for writing to ",
        guilty=r"\b(make_durable|save_document|fsync)\b",
        others=r"^(kworker|jbd2)/",
        busy_cause=r"was at its limit of 8.00 MiB a second|^Waited .* for a CPU",
    ),
    least_ms=1000,
    arguments=lambda world: (world.folder / "document",),
)
CASE = dataclasses.replace(base, prepare=limited)
