from case import Case, Expected
from nginx_cases import PROGRAM, request_event
from servers import Nginx, SlowWebServer


def prepare(world):
    world.behind = SlowWebServer(world)
    world.nginx = Nginx(world, f"location / {{ proxy_pass {world.behind.url}; }}")


def provoke(world):
    world.nginx.get("/fast")
    world.nginx.get("/slow")


CASE = Case(
    "an upstream server that computes before it answers",
    PROGRAM,
    request_event,
    provoke,
    Expected(
        cause=r"events|network",
        guilty=r"\b(EVP_\w+|SHA256\w*|_PyEval_\w+|PyObject_\w+|sha256\w*)\b",
        holder=lambda world: rf", {world.behind.process.pid}/",
    ),
    390,
    prepare,
)
