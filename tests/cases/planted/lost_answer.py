from case import Expected, planted

CASE = planted(
    "lost_answer",
    "resolve_name",
    "a UDP reply that never comes, until epoll times out",
    Expected(cause=r"its timer|timed out", guilty=r"\bresolve_name\b"),
    least_ms=390,
)
