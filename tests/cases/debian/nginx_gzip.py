import random

from case import Case, Expected
from nginx_cases import PROGRAM, request_event
from servers import Nginx


def prepare(world):
    files = world.folder / "files"
    files.mkdir()
    (files / "large.html").write_text(random.Random(1).randbytes(6_000_000).hex(), encoding="ascii")
    (files / "small.html").write_text("small\n", encoding="ascii")
    world.nginx = Nginx(world, f"root {files}; gzip on; gzip_comp_level 9; gzip_types text/plain;")


def provoke(world):
    world.nginx.get("/small.html")
    world.nginx.get("/large.html")


CASE = Case(
    "compression of a large answer",
    PROGRAM,
    request_event,
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\bdeflate\w*\b",
        others=r"^curl of curl\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
    prepare,
)
