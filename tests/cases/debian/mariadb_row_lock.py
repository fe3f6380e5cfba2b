from case import Case, Expected, call_event
from servers import MARIADB, MARIADB_TID, MariaDb


def prepare(world):
    world.mariadb = MariaDb(world)
    world.mariadb.ask(
        "create table test.account (id int primary key, amount int) engine=innodb; "
        "insert into test.account values (1, 0)"
    )
    world.holder, world.waiter = world.mariadb.session(), world.mariadb.session()
    world.holder_tid, world.waiter_tid = (
        int(session.ask(MARIADB_TID)) for session in (world.holder, world.waiter)
    )


def provoke(world):
    world.holder.tell("begin; update test.account set amount = 1 where id = 1;")
    world.holder.ask("select 1;")
    world.holder.tell("select benchmark(2000000, md5('a')); commit;")
    world.waiter.tell("update test.account set amount = 2 where id = 1;")
    world.waiter.end()
    world.holder.end()


CASE = Case(
    "a row lock, held by another connection that computes",
    "MariaDB 10.11",
    lambda world: call_event("dispatch_command", MARIADB),
    provoke,
    Expected(
        cause=r"lock|signal from another thread|futex",
        guilty=r"benchmark|dispatch_command|md5|MD5",
        holder=lambda world: rf"/{world.holder_tid}\b",
    ),
    150,
    prepare,
    slow=lambda world, delay: delay["begin_tid"] == world.waiter_tid,
)
