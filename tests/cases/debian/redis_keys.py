from case import Case, Expected, call_event
from servers import REDIS, Redis


def prepare(world):
    world.redis = Redis(world)
    world.redis.ask("debug", "populate", "2000000")


def provoke(world):
    world.redis.ask("get", "key:1")
    world.redis.ask("keys", "*nothing*")


CASE = Case(
    "KEYS over two million keys",
    "redis-server 7.0",
    lambda world: call_event("call", REDIS),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\b(keysCommand|stringmatchlen\w*)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
    prepare,
)
