from case import Expected, planted

# Nobody holds anything that the run waits for but the CPU.
CASE = planted("own_thread", "handle_request", "a real-time thread of the same process on the only CPU",
               Expected(cause=r"^Waited .* for a CPU while video \(\d+, of its own process, real-time priority 20\) had CPU \d+, in (compute_ms, called by )?decode_frame",
                        guilty=r"\bhandle_request\b"), least_ms=250)
