from case import Case, Expected, call_event
from servers import REDIS, Redis


def prepare(world):
    world.redis = Redis(world)


def provoke(world):
    world.redis.ask("set", "key", "value")
    world.redis.ask("debug", "sleep", "0.4")


CASE = Case(
    "DEBUG SLEEP",
    "redis-server 7.0",
    lambda world: call_event("call", REDIS),
    provoke,
    Expected(cause=r"^Slept", guilty=r"\bdebugCommand\b"),
    390,
    prepare,
)
