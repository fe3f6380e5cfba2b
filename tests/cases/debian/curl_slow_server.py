from case import Case, Expected, call_event
from servers import SlowWebServer


def prepare(world):
    world.server = SlowWebServer(world)


def provoke(world):
    world.run("curl", "-s", f"{world.server.url}/fast", "-o", "/dev/null", "--noproxy", "*")
    world.run("curl", "-s", f"{world.server.url}/slow", "-o", "/dev/null", "--noproxy", "*")


CASE = Case(
    "a web server that computes before it answers",
    "curl 7.88",
    lambda world: call_event(
        "curl_easy_perform",
        "/usr/lib/x86_64-linux-gnu/libcurl.so.4",
        more='<scope binary="/usr/bin/curl"/>',
    ),
    provoke,
    Expected(
        cause=r"on a connection to 127\.0\.0\.1:\d+",
        guilty=r"\b(EVP_\w+|SHA256\w*|_PyEval_\w+|PyObject_\w+|sha256\w*)\b",
        holder=lambda world: rf", {world.server.process.pid}/",
    ),
    390,
    prepare,
)
