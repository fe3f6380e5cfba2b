from case import Expected, planted

CASE = planted(
    "cold_part",
    "parse_record",
    "computation in a function that returns from its cold part",
    Expected(
        cause=r"^Computed",
        guilty=r"\brepair_record\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    least_ms=350,
)
