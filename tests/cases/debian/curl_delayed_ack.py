import socket
import threading

from case import Case, Expected, call_event

ANSWER_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"


def answer(listener):
    """Two small writes for each answer; Nagle's algorithm holds back the second until the first
    is acknowledged."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            while connection.recv(4096):
                connection.send(ANSWER_HEAD)
                connection.send(b"ok\n")


def prepare(world):
    listener = socket.create_server(("127.0.0.1", 0))
    server = threading.Thread(target=answer, args=(listener,), daemon=True)
    server.start()

    # Other cases need a process with one thread.
    def end():
        listener.shutdown(socket.SHUT_RDWR)  # ends accept(), which close() does not
        server.join()
        listener.close()

    world.at_end(end)
    world.url = f"http://127.0.0.1:{listener.getsockname()[1]}"


def provoke(world):
    # The first answers of a connection are acknowledged at once.
    world.run("curl", "-s", "--noproxy", "*", *[f"{world.url}/{number}" for number in range(20)])


CASE = Case(
    "a server that writes an answer in two parts, without TCP_NODELAY",
    "curl 7.88",
    lambda world: call_event(
        "curl_easy_perform",
        "/usr/lib/x86_64-linux-gnu/libcurl.so.4",
        threshold="30ms",
        more='<scope binary="/usr/bin/curl"/>',
    ),
    provoke,
    Expected(
        cause=(
            r"(on a connection to|for an answer from python3 \(\d+\) at) 127\.0\.0\.1:\d+ .*until "
            r"TCP's delayed ACK"
        ),
        guilty=r"curl_multi_poll|\bpoll\b",
    ),
    35,
    prepare,
)
