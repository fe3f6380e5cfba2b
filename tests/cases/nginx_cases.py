"""Shared by the cases with nginx: a request is identified by its address, from its head to its
release."""

from case import marker_event
from servers import NGINX

PROGRAM = "nginx 1.22"


def request_event(world):
    return marker_event(
        'function="ngx_http_process_request" key="arg0"',
        'function="ngx_http_free_request" key="arg0"',
        NGINX,
        more="<key/>",
    )
