from case import Expected, planted

CASE = planted(
    "exceptions",
    "import_file",
    "exceptions thrown through 40 calls, again and again",
    Expected(
        cause=r"^Computed",
        guilty=r"\b(import_lines|parse_nested|_Unwind_\w+)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    least_ms=350,
)
