from case import Expected, planted

CASE = planted(
    "file_lock",
    "append_record",
    "a file lock (fcntl), held by another process that computes",
    Expected(
        cause=r"for a lock on /\S+/journal\b", guilty=r"\bcompact_file\b", holder=r"compactor"
    ),
    least_ms=350,
    arguments=lambda world: (world.folder / "journal",),
)
