from case import Expected, planted

CASE = planted(
    "local_socket",
    "fetch_profile",
    "a Unix socket, answered late by a thread that computes",
    Expected(
        cause=r"local socket", guilty=r"\brank_profiles\b", holder=r"^ranking of local_socket\b"
    ),
    least_ms=350,
)
