from case import Expected, planted

CASE = planted(
    "lock_chain",
    "handle_request",
    "a chain of three locks; the last holder computes",
    Expected(
        cause=r"for a lock",
        guilty=r"\bsum_journal\b",
        holder=r"^journal of lock_chain\b",
        others=r"^(cache|store) of lock_chain\b",
    ),
    least_ms=400,
)
