from case import Expected
from postgres_cases import slow_statement

CASE = slow_statement(
    "a sort in memory",
    "select count(*) from (select g from generate_series(1, 700000) g "
    "order by reverse(g::text) offset 0) sorted",
    Expected(
        cause=r"^Computed",
        guilty=r"\b(tuplesort_\w+|ExecutorRun|standard_ExecutorRun|ExecAgg|ExecScan)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    150,
)
