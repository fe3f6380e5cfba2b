"""Verdicts as a table: on the terminal, kept from run to run, and in docs/cases.md."""

import json

PARTS = ("caught", "cause_right", "guilty_found", "innocents_spared")
HEAD = """# Is what it says true?

Programs with one planted cause each, watched by a real daemon; the verdict is over what `lagtrap report` prints.
`./dev cases` runs them on the machine as it is, `./dev cases --busy` with a computing process for each CPU and a compiler
beside them. What each report must say, and whom it must not name, stands in `tests/cases` and follows from what was planted.

A case has four marks: **c**aught (there is a recording of the slow run), its **r**eason right (and who held it up is named,
where somebody did), the guilty **f**unction among the first five lines of functions, and **n**obody innocent named. A dash
stands for a mark that was missed. Programs with a version are Debian's, not built for this.

| case | what was planted | program | idle | busy |
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
    kept_path(folder, busy).write_text(json.dumps({**kept(folder, busy), **verdicts}, indent=1), encoding="utf-8")


def share(verdicts, cases):
    run = [verdicts[name] for name in cases if name in verdicts]
    return f"{sum(all(verdict[part] for part in PARTS) for verdict in run)} of {len(run)}"


def write_document(path, folder, cases):
    idle, busy = kept(folder, False), kept(folder, True)
    rows = [f"| {name} | {case.about} | {case.program} | "
            + " | ".join(f"`{marks(column[name])}`" if name in column else "not run" for column in (idle, busy)) + " |"
            for name, case in cases.items()]
    missed = [f"- {name}, {state}: {'; '.join(column[name]['why'])}" for state, column in (("idle", idle), ("busy", busy))
              for name in cases if name in column and not all(column[name][part] for part in PARTS)]
    text = HEAD + "\n".join(rows) + "\n\n"
    text += f"All four marks in the last run of each case: {share(idle, cases)} idle, {share(busy, cases)} busy.\n"
    if missed:
        text += "\nWhat was missed:\n\n" + "\n".join(missed) + "\n"
    path.write_text(text, encoding="utf-8")
