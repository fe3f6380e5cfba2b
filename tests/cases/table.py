"""Prints verdicts, keeps them from run to run, and writes docs/cases.md."""

import json
import pathlib

PARTS = ("caught", "cause_right", "guilty_found", "innocents_spared")
MISSED = dict(zip(PARTS, ("recording", "cause", "function", "somebody else blamed")))
HEAD = """# Accuracy

Does a report name the right cause? Each case here is a program with one planted cause of delay.
lagtrapd watches the program, and a script checks what `lagtrap report` prints. A case is correct if
all of this holds:

1. The slow run was recorded.
2. The report states the planted cause and names whoever held up the run.
3. The responsible function is among the first five lines of functions.
4. Nobody else is blamed.

`./dev cases` runs the cases on the machine as it is, `./dev cases --busy` beside a compiler and one
computing process per CPU; `--write` writes this page. Expected results are in `tests/cases`.
Programs with a version are Debian's packages; the others are in `tests/cases/programs`.

| case | planted cause | program | idle | busy |
|---|---|---|---|---|
"""


def marks(verdict):
    return "".join(letter if verdict[part] else "-" for letter, part in zip("crfn", PARTS))


def print_verdict(case, verdict, seconds):
    state = "right" if verdict.passed else "WRONG"
    print(f"{state}  {case.name:28} {marks(vars(verdict))}  {seconds:5.1f} s", flush=True)
    for why in verdict.why:
        print(f"         {why}", flush=True)


def kept_path(folder, busy):
    return folder / ("busy.json" if busy else "idle.json")


def kept(folder, busy):
    path = kept_path(folder, busy)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(folder, verdicts, busy):
    folder.mkdir(parents=True, exist_ok=True)
    kept_path(folder, busy).write_text(
        json.dumps({**kept(folder, busy), **verdicts}, indent=1), encoding="utf-8"
    )


def result(verdicts, name):
    if name not in verdicts:
        return "not run"
    missed = [words for part, words in MISSED.items() if not verdicts[name][part]]
    return f"missed: {', '.join(missed)}" if missed else "correct"


def share(verdicts, cases):
    results = [result(verdicts, name) for name in cases if name in verdicts]
    return f"{results.count('correct')} of {len(results)}"


def write_document(path, folder, cases):
    idle, busy = kept(folder, False), kept(folder, True)
    rows = [
        f"| {name} | {case.about} | {case.program} | "
        + " | ".join(result(column, name) for column in (idle, busy))
        + " |"
        for name, case in cases.items()
    ]
    reasons = [
        f"- {name}, {state}: {'; '.join(column[name]['why'])}"
        for state, column in (("idle", idle), ("busy", busy))
        for name in cases
        if name in column and not all(column[name][part] for part in PARTS)
    ]
    text = HEAD + "\n".join(rows) + "\n\n"
    text += (
        f"Correct in the last run of each case: {share(idle, cases)} idle, {share(busy, cases)} "
        "busy.\n"
    )
    if reasons:
        text += "\n## Why cases failed\n\n" + "\n".join(reasons) + "\n"
    shapes = pathlib.Path(__file__).with_name("shapes.md").read_text(encoding="utf-8")
    path.write_text(f"{text}\n{shapes}", encoding="utf-8")
