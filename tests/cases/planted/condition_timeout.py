from case import Expected, planted

CASE = planted(
    "condition",
    "take_message",
    "a condition variable that nobody signals, until the waiter times out",
    Expected(cause=r"its timer|timed out", guilty=r"\btake_message\b"),
    least_ms=390,
)
