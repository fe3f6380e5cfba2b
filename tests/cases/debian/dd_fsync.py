from case import Case, Expected, marker_event


def prepare(world):
    # A copy, so that calls of other processes are not runs of the event.
    world.program = world.folder / "dd"
    world.run("cp", "/usr/bin/dd", world.program)


def provoke(world):
    world.run(
        world.program, "if=/dev/zero", f"of={world.folder}/file", "bs=1M", "count=700", "conv=fsync"
    )


CASE = Case(
    "fsync of 700 MB just written",
    "dd of coreutils 9.1",
    lambda world: marker_event(
        'tracepoint="syscalls:sys_enter_fsync"',
        'tracepoint="syscalls:sys_exit_fsync"',
        threshold="50ms",
        more=f'<scope binary="{world.program}"/>',
    ),
    provoke,
    Expected(
        cause=r"the disk .*\(/\S+/file on ",
        guilty=r"\bfsync\b",
        others=r"^(kworker|jbd2)/",
        busy_cause=r"the disk|^Waited .* for a CPU",
    ),
    60,
    prepare,
)
