from case import Expected, planted

CASE = planted(
    "search",
    "choose_move",
    "a recursive search, 27 calls deep",
    Expected(
        cause=r"^Computed", guilty=r"\bsearch_moves\b", busy_cause=r"^Computed|^Waited .* for a CPU"
    ),
    least_ms=150,
)
