import os
import socket

from case import Case, Expected, call_event
from servers import PYTHON

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
# In its own mount namespace, so that nothing else queries this name server.
SCRIPT = (
    'mount --bind "$1" /etc/resolv.conf && exec "$2" -c '
    "\"import socket\ntry:\n    socket.getaddrinfo('nobody.example', 80)\nexcept socket.gaierror:\n"
    '    pass\n"'
)


def prepare(world):
    """A name server that accepts queries and never answers."""
    world.silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    world.silent.bind(("127.77.0.53", 53))
    world.at_end(world.silent.close)
    (world.folder / "resolv.conf").write_text(
        "nameserver 127.77.0.53\noptions timeout:1 attempts:1\n", encoding="ascii"
    )


def provoke(world):
    world.run("unshare", "-m", "sh", "-c", SCRIPT, "sh", world.folder / "resolv.conf", PYTHON)


CASE = Case(
    "getaddrinfo with a name server that never answers",
    "python3 3.11, glibc 2.36",
    lambda world: call_event(
        "getaddrinfo", LIBC, more=f'<scope binary="{os.path.realpath(PYTHON)}"/>'
    ),
    provoke,
    Expected(
        cause=r"for an answer from (python3 \(\d+\) at )?127\.77\.0\.53:53 \(UDP\).*timed out",
        guilty=r"\b(getaddrinfo|gaih_inet\w*|__res_\w+|_nss_dns_\w+)\b",
    ),
    900,
    prepare,
)
