from case import Expected, planted

CASE = planted(
    "backoff",
    "send_request",
    "a sleep in the request path",
    Expected(cause=r"^Slept", guilty=r"\bback_off\b"),
    least_ms=390,
)
