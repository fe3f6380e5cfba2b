from case import Expected, planted

CASE = planted(
    "log_pipe",
    "handle_request",
    "the lock of a log, held while the log's reader computes and its pipe is full",
    Expected(
        cause=r"for a lock .*\bdumper \(\d+\) waited .* to write to a full pipe",
        guilty=r"\bcompress_batch\b",
        holder=r"^log-shipper\b",
        others=r"^dumper of log_pipe\b",
    ),
    least_ms=350,
)
