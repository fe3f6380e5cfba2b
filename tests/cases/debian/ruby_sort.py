from case import Case, Expected, call_event

SCRIPT = (
    "srand 1; a = Array.new(400_000) { rand.to_s }; [2, 1].sort!; a.sort! { |x, y| x.reverse <=> "
    "y.reverse }"
)


def provoke(world):
    world.run("ruby", "-e", SCRIPT)


CASE = Case(
    "a sort with a slow comparison",
    "ruby 3.1",
    lambda world: call_event("rb_ary_sort_bang", "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\b(rb_ary_sort_bang|ruby_qsort|qsort_r|rb_str_reverse)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    150,
)
