from case import Expected, planted

CASE = planted(
    "child",
    "commit",
    "fork, exec and wait for a child that computes",
    Expected(cause=r"child process", guilty=r"\bcheck_style\b", holder=r"style-hook"),
    least_ms=350,
)
