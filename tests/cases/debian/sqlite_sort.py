from case import Case, Expected, call_event

QUERY = (
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000) "
    "select count(*) from (select i from n order by hex(i * 7919 % 1000003) limit 400000);"
)


def provoke(world):
    world.run("sqlite3", ":memory:", "select 1;", QUERY)


CASE = Case(
    "a sort",
    "sqlite3 3.40",
    lambda world: call_event("sqlite3_step", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0"),
    provoke,
    Expected(
        cause=r"^Computed", guilty=r"\bsqlite3_step\b", busy_cause=r"^Computed|^Waited .* for a CPU"
    ),
    100,
)
