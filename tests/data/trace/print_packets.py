#!/usr/bin/env python3
"""Prints the packets of a trace, one per line, in their order: its sequence, its time stamp, then
the other fields in the order of the file. Knows only the wire format and its own field tables.

usage: print_packets.py TRACE
"""

import sys

from decode_trace import fields
from trace_fields import FIELDS


def text_of(kind, value):
    if kind == "v":
        return str(value)
    if kind.startswith("m:"):
        return "{%s}" % " ".join(texts_of(kind[2:], value))
    return repr(bytes(value).decode()) if kind == "s" else bytes(value).hex()


def texts_of(message, data):
    for number, _, value in fields(data):
        name, kind = FIELDS[message].get(number, ("field%d" % number, "b"))
        kind = "v" if isinstance(value, int) else kind
        value = text_of(kind, value)
        yield name + value if value.startswith("{") else f"{name}={value}"


def main():
    with open(sys.argv[1], "rb") as file:
        for number, _, packet in fields(memoryview(file.read())):
            if number != 1:
                sys.exit("field %d at the top of the trace" % number)
            parts = list(texts_of("Packet", packet))
            named = dict(part.split("=", 1) for part in parts if part.startswith(("seq", "times")))
            rest = [part for part in parts if part.split("=", 1)[0] not in named]
            print(named["sequence"], named["timestamp"], " ".join(rest))


main()
