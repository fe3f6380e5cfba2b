from case import Expected
from postgres_cases import slow_statement

CASE = slow_statement(
    "a loop in PL/pgSQL",
    "do $$ declare n bigint := 0; begin for i in 1..12000000 loop n := n + i; end loop; end $$",
    Expected(
        cause=r"^Computed", guilty=r"\bplpgsql_\w+\b", busy_cause=r"^Computed|^Waited .* for a CPU"
    ),
    150,
)
