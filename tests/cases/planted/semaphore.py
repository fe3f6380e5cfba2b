from case import Expected, planted

CASE = planted("slots", "serve_request", "a semaphore that eight other threads want, two at a time",
               Expected(cause=r"semaphore|futex|lock", guilty=r"\bscan_archive\b", holder=r"^archiver of slots\b"), least_ms=150)
