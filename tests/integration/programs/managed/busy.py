"""Computes until it is killed, nearly all the time in planted_inner, which planted_outer calls."""


def planted_inner(count):
    return sum(i * i % 7 for i in range(count))


def planted_outer(times):
    return sum(planted_inner(10000) for _ in range(times))


planted_outer(5)
print("ready", flush=True)
while True:
    planted_outer(5)
