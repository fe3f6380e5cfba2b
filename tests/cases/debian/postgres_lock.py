from case import Case, Expected
from postgres_cases import PROGRAM, query_event
from servers import Postgres


def prepare(world):
    world.postgres = Postgres(world)
    world.postgres.ask("create table account (id int)")
    world.holder, world.waiter = world.postgres.session(), world.postgres.session()
    world.holder_pid = int(world.holder.ask("select pg_backend_pid();"))
    world.waiter_pid = int(world.waiter.ask("select pg_backend_pid();"))


def provoke(world):
    world.holder.tell("begin; lock table account;")
    world.holder.ask("select 1;")
    world.holder.tell("select count(md5(g::text)) from generate_series(1, 500000) g; commit;")
    world.waiter.tell("insert into account values (1);")
    world.waiter.end()
    world.holder.end()


# The waiter and the lock's holder are both processes of the server.
CASE = Case(
    "a table lock, held by another transaction that computes",
    PROGRAM,
    query_event,
    provoke,
    Expected(
        cause=r"events|lock",
        guilty=r"\b(ExecAgg|ExecutorRun|standard_ExecutorRun|md5_text|pg_md5_hash|ExecScan)\b",
        holder=lambda world: rf", {world.holder_pid}/",
    ),
    200,
    prepare,
    slow=lambda world, delay: delay["begin_pid"] == world.waiter_pid,
)
