from case import PROGRAMS, TRACE_LENGTH, Expected, planted
from lagtrap_test import library_event


def event(world):
    return library_event("job", PROGRAMS / "hand_off", "100ms", TRACE_LENGTH, more="<key/>")


CASE = planted(
    "hand_off",
    "",
    "a job run by a different thread than the one that queued it",
    Expected(
        cause=r"[Cc]omputed",
        guilty=r"\bresize_image\b",
        others=r" of hand_off\b",
        busy_cause=r"[Cc]omputed|[Ww]aited .* for a CPU",
    ),
    least_ms=350,
    event=event,
)
