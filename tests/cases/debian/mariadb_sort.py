from case import Case, Expected, call_event
from servers import MARIADB, MariaDb


def prepare(world):
    world.mariadb = MariaDb(world)


def provoke(world):
    world.mariadb.ask("select 1")
    world.mariadb.ask(
        "select count(*) from (select seq from mysql.seq_1_to_500000 order by reverse(seq) limit "
        "500000) sorted"
    )


CASE = Case(
    "ORDER BY without an index",
    "MariaDB 10.11",
    lambda world: call_event("dispatch_command", MARIADB),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\bfilesort\b|\bmy_qsort2\b|\bmysql_derived_fill\b|\bJOIN::exec\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    150,
    prepare,
)
