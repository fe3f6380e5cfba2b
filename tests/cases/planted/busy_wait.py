from case import Expected, planted

CASE = planted(
    "busy_wait",
    "handle_request",
    "a custom lock that waits in a loop of its own, held by a thread that computes",
    Expected(
        cause=(
            r"^Spun for .* in take, checking the same memory over and over.*probably for a lock "
            r"that compactor \(\d+\) held.*\bcompact\b"
        ),
        guilty=r"\btake\b",
        holder=r"^compactor of busy_wait\b",
    ),
    least_ms=120,
)
