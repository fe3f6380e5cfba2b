from case import Expected, planted

CASE = planted(
    "file_check",
    "load_settings",
    "a file whose opening a scanner (fanotify) checks first",
    Expected(
        cause=r"for a program that checks files before they are opened \(fanotify\)",
        guilty=r"\bscan_file\b",
        holder=r"scanner",
    ),
    least_ms=350,
    arguments=lambda world: (world.folder / "settings",),
)
