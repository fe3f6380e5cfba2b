import os

from case import Case, Expected, call_event
from servers import PYTHON

# The encoding thread holds Python's lock all the time: its encoder is one call in C.
SCRIPT = """
import json, threading, time
records = [{"number": i, "text": "x" * 20} for i in range(400_000)]
def report():
    json.dumps(records)
thread = threading.Thread(target=report)
thread.start()
for _ in range(20):
    time.sleep(0.005)
thread.join()
"""


def provoke(world):
    world.run(PYTHON, "-c", SCRIPT)


CASE = Case(
    "a thread that encodes JSON and holds Python's lock",
    "python3 3.11",
    lambda world: call_event("PyEval_RestoreThread", os.path.realpath(PYTHON)),
    provoke,
    Expected(
        cause=r"^Waited .* for Python's lock \(GIL\) in .*, which python3 \(\d+\) held",
        guilty=r"\breport\b",
        holder=r"^python3 of python3\b",
    ),
    100,
)
