from case import Expected, planted

CASE = planted(
    "allocations",
    "open_document",
    "a great many small allocations",
    Expected(
        cause=r"^Computed",
        guilty=r"\bbuild_document\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    least_ms=100,
)
