from case import Expected, planted

CASE = planted(
    "slots",
    "serve_request",
    "a semaphore for two threads at a time that eight others want",
    Expected(
        cause=r"semaphore|futex|lock", guilty=r"\bscan_archive\b", holder=r"^archiver of slots\b"
    ),
    least_ms=150,
)
