from case import Expected, planted

CASE = planted(
    "save_file",
    "save_document",
    "fsync after each of 600 pieces of a file",
    Expected(
        cause=r"the disk .*\(/\S+/document on ",
        guilty=r"\b(make_durable|save_document|fsync)\b",
        # Kernel threads that do the disk's work.
        others=r"^(kworker|jbd2)/",
        busy_cause=r"the disk|^Waited .* for a CPU",
    ),
    least_ms=100,
    arguments=lambda world: (world.folder / "document",),
)
