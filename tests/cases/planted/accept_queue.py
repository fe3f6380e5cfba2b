from case import Expected, planted

CASE = planted(
    "accept_queue",
    "fetch_report",
    "a local socket whose accept queue is full, because its server computes",
    Expected(
        cause=r"to connect to (a|the) local socket.*accept queue was full",
        guilty=r"\bcompute_report\b",
        holder=r"^report-server\b",
    ),
    least_ms=350,
)
