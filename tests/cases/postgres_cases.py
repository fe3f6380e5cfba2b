"""Shared by the cases with PostgreSQL."""

from case import Case, marker_event
from servers import POSTGRES_BIN, Postgres

PROGRAM = "PostgreSQL 15"


def query_event(world):
    return marker_event(
        'usdt="postgresql:query__start"', 'usdt="postgresql:query__done"', POSTGRES_BIN / "postgres"
    )


def slow_statement(about, statement, expected, least_ms):
    def prepare(world):
        world.postgres = Postgres(world)

    def provoke(world):
        world.postgres.ask("select 1")
        world.postgres.ask(statement)

    return Case(about, PROGRAM, query_event, provoke, expected, least_ms, prepare)
