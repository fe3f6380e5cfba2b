from case import Expected, planted

CASE = planted(
    "mutex",
    "handle_request",
    "a lock, held by a thread that computes",
    Expected(cause=r"for a lock", guilty=r"\brebuild_index\b", holder=r"^indexer of mutex\b"),
    least_ms=350,
)
