"""Each program has its man page, README names every row of the feature table once, links in the documents lead
somewhere, and decisions have their parts."""

import re

import tree

ROWS = ([f"A{n}" for n in range(1, 14)] + [f"B{n}" for n in range(1, 10)] + [f"C{n}" for n in range(1, 7)]
        + [f"D{n}" for n in range(1, 6)] + [f"E{n}" for n in range(1, 4)])
STATES = ("done", "partly", "not yet")
OTHER_PAGES = {"lagtrap-settings.5", "lagtrap.h.3"}
DECISION_PARTS = ("## Problem", "## Choice", "## Rejected", "## Cost")


def programs() -> set:
    """What the build files install as programs."""
    found = set()
    for listing in tree.ROOT.glob("*/CMakeLists.txt"):
        for names in re.findall(r"install\(TARGETS\s+([a-z\s-]+?)\s+RUNTIME", listing.read_text(encoding="utf-8")):
            found.update(names.split())
    return found


def check_pages(problems: list) -> int:
    pages = {path.name for path in (tree.ROOT / "docs/man").glob("*.[1-9]")}
    installed = programs()
    for program in sorted(installed):
        if not pages & {f"{program}.1", f"{program}.8"}:
            problems.append(f"docs/man: no page for the program {program}")
    for page in OTHER_PAGES - pages:
        problems.append(f"docs/man: {page} is missing")
    return len(installed)


def check_features(problems: list) -> int:
    readme = (tree.ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|\s*([A-E]\d+)\s*\|([^|]*)\|\s*([^|]*?)\s*\|", readme, re.MULTILINE)
    named = [row[0] for row in rows]
    for row in ROWS:
        if named.count(row) != 1:
            problems.append(f"README.md: the feature table names {row} {named.count(row)} times, not once")
    for row in set(named) - set(ROWS):
        problems.append(f"README.md: the feature table names {row}, which does not exist")
    for row, _, state in rows:
        if not state.startswith(STATES):
            problems.append(f"README.md: {row} is \"{state}\"; it should begin with one of {', '.join(STATES)}")
    return len(rows)


def check_links(problems: list) -> int:
    checked = 0
    for path in tree.files():
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", target):
                continue
            checked += 1
            if not (path.parent / target).exists():
                problems.append(f"{tree.relative(path)}: the link {target} leads nowhere")
    return checked


def check_decisions(problems: list) -> int:
    decisions = sorted((tree.ROOT / "docs/decisions").glob("*.md"))
    for number, path in enumerate(decisions, start=1):
        if not path.name.startswith(f"{number:04d}-"):
            problems.append(f"{tree.relative(path)}: expected number {number:04d}")
        text = path.read_text(encoding="utf-8")
        for part in DECISION_PARTS:
            if f"\n{part}\n" not in text:
                problems.append(f"{tree.relative(path)}: has no part \"{part}\"")
    return len(decisions)


def main() -> None:
    problems: list = []
    counts = [check(problems) for check in (check_pages, check_features, check_links, check_decisions)]
    tree.finish(problems, 0 if 0 in counts else sum(counts))


if __name__ == "__main__":
    main()
