from case import Case, Expected, call_event
from servers import REDIS, Redis


def prepare(world):
    world.redis = Redis(world)


def provoke(world):
    world.redis.ask("set", "key", "value")
    world.redis.ask("eval", "local n = 0 for i = 1, 1e8 do n = n + 1 end return n", "0")


CASE = Case(
    "a Lua script that counts",
    "redis-server 7.0",
    lambda world: call_event("call", REDIS),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\b(lua_pcall|luaV_execute|evalCommand|evalGenericCommand)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
    prepare,
)
