from case import Case, Expected, call_event

SCRIPT = (
    "const text = JSON.stringify(Array.from({length: 800000}, (_, i) => "
    "({id: i, name: 'name ' + i})));"
    "JSON.parse('[1]'); JSON.parse(text);"
)


def provoke(world):
    world.run("node", "-e", SCRIPT)


CASE = Case(
    "JSON.parse of a large text",
    "node 18 or newer",
    lambda world: call_event("v8::internal::Builtin_JsonParse", "/usr/bin/node"),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"JsonParse|ParseJson",
        others=r"^node of node\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
)
