from case import Expected, planted

CASE = planted("lost_answer", "resolve_name", "an answer by UDP that never comes, until the timeout of epoll",
               Expected(cause=r"its own timer|timed out", guilty=r"\bresolve_name\b"), least_ms=390)
