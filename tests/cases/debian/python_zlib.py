import os

from case import Case, Expected, call_event
from servers import PYTHON

SCRIPT = """
import random, zlib
text = random.Random(1).randbytes(6_000_000).hex().encode()
zlib.compress(text[:1000])
zlib.compress(text, 9)
"""


def provoke(world):
    world.run(PYTHON, "-c", SCRIPT)


CASE = Case(
    "compression of 12 MB at the highest level",
    "python3 3.11, zlib 1.2",
    lambda world: call_event(
        "deflate",
        "/usr/lib/x86_64-linux-gnu/libz.so.1",
        more=f'<scope binary="{os.path.realpath(PYTHON)}"/>',
    ),
    provoke,
    Expected(
        cause=r"^Computed", guilty=r"\bdeflate\w*\b", busy_cause=r"^Computed|^Waited .* for a CPU"
    ),
    100,
)
