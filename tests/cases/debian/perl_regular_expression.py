from case import Case, Expected, call_event

SCRIPT = '"ab" =~ /^(.?.?)*(\\1)[bc]/; ("a" x 16) =~ /^(.?.?)*(\\1)[bc]/;'


def provoke(world):
    world.run("perl", "-e", SCRIPT)


CASE = Case(
    "a regular expression with catastrophic backtracking",
    "perl 5.36",
    lambda world: call_event("Perl_pp_match", "/usr/bin/perl"),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=r"\b(Perl_regexec_flags|Perl_pp_match)\b",
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
)
