from case import Expected, planted

CASE = planted("cold_part", "parse_record", "computing in a function with a cold part, which it takes and leaves by",
               Expected(cause=r"^Computed", guilty=r"\brepair_record\b", busy_cause=r"^Computed|^Waited .* for a CPU"), least_ms=350)
