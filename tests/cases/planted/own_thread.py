from case import Expected, planted

# The run waits only for the CPU, so nothing holds anything it waits for.
CASE = planted(
    "own_thread",
    "handle_request",
    "a real-time thread of the same process on the only CPU",
    Expected(
        cause=(
            r"^Waited .* for a CPU( at low priority \(nice \d+\))? while video "
            r"\(\d+, of its own process, real-time priority 20\) "
            r"had CPU \d+, in (cases::compute_ms, called by )?decode_frame"
        ),
        guilty=r"\bhandle_request\b",
    ),
    least_ms=250,
)
