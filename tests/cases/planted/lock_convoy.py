from case import Expected, planted

CASE = planted(
    "convoy",
    "handle_request",
    "a lock that 60 other threads want, held by one that computes",
    Expected(
        cause=(
            r"for a lock in look_up .*, which rebuilder \(\d+\) held for .*; "
            r"\d+ other threads got it before"
        ),
        guilty=r"\brebuild_cache\b",
        holder=r"^rebuilder of convoy\b",
    ),
    least_ms=300,
)
