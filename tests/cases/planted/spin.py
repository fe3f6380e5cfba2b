from case import Expected, planted

CASE = planted(
    "spin",
    "handle_request",
    "a custom lock that yields while it waits, held by a low-priority thread on the same CPU",
    Expected(
        cause=(
            r"^Spun for .* in take, calling sched_yield over and over.*probably for a lock that "
            r"compactor \(\d+\) held.*\bcompact\b"
        ),
        guilty=r"\btake\b",
        holder=r"^compactor of spin\b",
    ),
    least_ms=120,
)
