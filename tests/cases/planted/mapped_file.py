from case import Expected, planted

TABLE_BYTES = 512 << 20


def table(world):
    path = world.folder / "table"
    with open(path, "wb") as file:
        block = bytes(range(256)) * 4096
        for _ in range(TABLE_BYTES // len(block)):
            file.write(block)
    world.run("sync", path)
    return (path,)


CASE = planted(
    "mapped_file",
    "sum_rows",
    "page faults on a mapped file that is not in memory",
    Expected(
        cause=r"(page fault|page of memory).*\(/\S+/table on ",
        guilty=r"\bsum_rows\b",
        busy_cause=r"(page fault|page of memory).*\(/\S+/table on |^Waited .* for a CPU",
        others=r"^kworker/",
    ),
    least_ms=100,
    arguments=table,
)
