from case import Expected, planted

CASE = planted(
    "tcp",
    "ask_for_price",
    "TCP to another process, which computes before it answers",
    Expected(
        cause=r"on a connection to 127\.0\.0\.1:\d+", guilty=r"\bprice_basket\b", holder=r"pricing"
    ),
    least_ms=350,
)
