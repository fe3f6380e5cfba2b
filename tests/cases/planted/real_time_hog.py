from case import Expected, planted

# The run waits only for the CPU, so nothing holds anything it waits for; the mixer had the CPU.
CASE = planted(
    "starved",
    "encode_frame",
    "a real-time process on the only CPU that the thread may use",
    Expected(cause=r"^Waited .* for a CPU.*mixer", guilty=r"\bencode_frame\b"),
    least_ms=300,
)
