from case import Expected, planted

# Nobody holds anything that the run waits for but the CPU; the mixer is who had that.
CASE = planted("starved", "encode_frame", "a real-time process on the only CPU that the thread may use",
               Expected(cause=r"^Waited .* for a CPU.*mixer", guilty=r"\bencode_frame\b"), least_ms=300)
