from case import Expected, planted

CASE = planted(
    "rwlock",
    "insert_row",
    "a reader/writer lock, held by a reader that computes",
    Expected(
        cause=r"for a reader/writer lock",
        guilty=r"\bexport_table\b",
        holder=r"^exporter of rwlock\b",
    ),
    least_ms=350,
)
