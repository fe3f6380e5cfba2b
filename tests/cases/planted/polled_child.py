from case import Expected, planted

CASE = planted(
    "polled_child",
    "export_report",
    "sleeps until a child process that computes has ended",
    Expected(
        cause=r"probably waited for the end of its child process converter",
        guilty=r"\bconvert_pages\b",
        holder=r"converter",
    ),
    least_ms=350,
)
