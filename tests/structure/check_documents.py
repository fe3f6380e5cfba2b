"""Each program has a man page and each benchmark a table, docs/coverage.md names every row once,
links and anchors hold, docs/README.md links to every page, documents and their lines are short,
texts are free of the worst phrases, and decisions have their parts."""

import ast
import pathlib
import re
import sys

import tree

sys.path.append(str(tree.ROOT / "bench"))
import document  # noqa: E402  (the path is set above)

ROWS = (
    [f"A{n}" for n in range(1, 14)]
    + [f"B{n}" for n in range(1, 10)]
    + [f"C{n}" for n in range(1, 7)]
    + [f"D{n}" for n in range(1, 6)]
    + [f"E{n}" for n in range(1, 4)]
)
STATES = ("done", "partly", "not yet")
COVERAGE = "docs/coverage.md"
INDEX = "docs/README.md"
README_LIMIT = 7000  # bytes
LINE_LIMIT = 600
COLUMN_LIMIT = 100
OTHER_PAGES = {"lagtrap-settings.5", "lagtrap.h.3"}
# A floor, not the goal: phrases that a native speaker would not write.
PHRASES = [
    re.compile(phrase)
    for phrase in (
        r"\bis told\b",
        r"\bthat is no\b(?! (longer|more)\b)",
        r"\b[Oo]f which\b[^.|]*\bknown\b",
        r"(?:^|[.:;|] )Who\b[^.?|]*\bhas\b(?![^.|]*\?)",
        r"\bso old\b",
        r"\bat last\b",
    )
]
STRINGS_IN = {".cpp", ".hpp", ".ts", ".tsx"}
DECISION_PARTS = ("## Problem", "## Choice", "## Rejected", "## Cost")


def programs() -> set:
    """The programs that the build files install."""
    found = set()
    for listing in tree.ROOT.glob("*/CMakeLists.txt"):
        for names in re.findall(
            r"install\(TARGETS\s+([a-z\s-]+?)\s+RUNTIME", listing.read_text(encoding="utf-8")
        ):
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
    text = (tree.ROOT / COVERAGE).read_text(encoding="utf-8")
    rows = re.findall(r"^\|\s*([A-E]\d+)\s*\|([^|]*)\|\s*([^|]*?)\s*\|", text, re.MULTILINE)
    named = [row[0] for row in rows]
    for row in ROWS:
        if named.count(row) != 1:
            problems.append(f"{COVERAGE}: the table names {row} {named.count(row)} times, not once")
    for row in set(named) - set(ROWS):
        problems.append(f"{COVERAGE}: the table names {row}, which does not exist")
    for row, _, state in rows:
        if not state.startswith(STATES):
            problems.append(
                f"{COVERAGE}: {row} is \"{state}\"; it should begin with one of {', '.join(STATES)}"
            )
    return len(rows)


def documents() -> list:
    return [path for path in tree.files() if path.suffix == ".md"]


def prose(path: pathlib.Path) -> str:
    """The document without fenced code blocks, whose lines become empty."""
    lines, fence = [], ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark.group(1)
            lines.append("")
        elif fence:
            if line.strip().startswith(fence):
                fence = ""
            lines.append("")
        else:
            lines.append(line)
    return "\n".join(lines)


def without_code_spans(text: str) -> str:
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def anchors(path: pathlib.Path) -> set:
    """Anchors of the headings, by GitHub's rules, and those set by hand."""
    text, found, seen = prose(path), set(), {}
    for heading in re.findall(r"^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$", text, re.MULTILINE):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    found.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text))
    return found


def links(path: pathlib.Path) -> list:
    text = without_code_spans(prose(path))
    return re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text) + re.findall(
        r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", text, re.MULTILINE
    )


def target_of(path: pathlib.Path, link: str) -> tuple:
    """The file and the anchor of a link within the tree."""
    name, _, anchor = link.partition("#")
    if not name:
        return path, anchor
    target = tree.ROOT / name.lstrip("/") if name.startswith("/") else path.parent / name
    return target.resolve(), anchor


def check_links(problems: list) -> int:
    checked, known = 0, {}
    for path in documents():
        for link in links(path):
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            checked += 1
            target, anchor = target_of(path, link)
            if not target.exists():
                problems.append(f"{tree.relative(path)}: the link {link} leads nowhere")
            elif anchor and target.suffix == ".md":
                if target not in known:
                    known[target] = anchors(target)
                if anchor not in known[target]:
                    problems.append(
                        f"{tree.relative(path)}: {link}: no heading has the anchor #{anchor}"
                    )
    return checked


def check_index(problems: list) -> int:
    """docs/README.md links to every page except single decisions."""
    index = tree.ROOT / INDEX
    linked = {target_of(index, link)[0] for link in links(index) if not re.match(r"[a-z]+:", link)}
    folder = index.parent
    pages = [
        path
        for path in documents()
        if folder in path.parents
        and path != index
        and (path.parent != folder / "decisions" or path.name == "README.md")
    ]
    pages += sorted((folder / "man").glob("*.[1-9]"))
    for page in pages:
        if page not in linked:
            problems.append(f"{INDEX}: no link to {page.relative_to(folder)}")
    return len(pages)


def check_sizes(problems: list) -> int:
    size = (tree.ROOT / "README.md").stat().st_size
    if size > README_LIMIT:
        problems.append(f"README.md: {size} bytes, more than {README_LIMIT}")
    paths = [path for path in documents() if path.name != "CHANGELOG.md"]
    for path in paths:
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > LINE_LIMIT:
            problems.append(f"{tree.relative(path)}: {lines} lines, more than {LINE_LIMIT}")
    return len(paths)


def check_columns(problems: list) -> int:
    """No line is too long, except in tables and code, and where one word (an address) is."""
    paths = documents()
    for path in paths:
        for number, line in enumerate(prose(path).split("\n"), start=1):
            if len(line) <= COLUMN_LIMIT or re.match(r"\s*(\||!?\[[^\]]*\]\([^)]*\)$)", line):
                continue
            if max(map(len, line.split())) < COLUMN_LIMIT - 20:
                problems.append(
                    f"{tree.relative(path)}:{number}: {len(line)} characters, more than "
                    f"{COLUMN_LIMIT}"
                )
    return len(paths)


def benchmarks() -> set:
    """Names of the benchmarks; the program that has them cannot be imported without a build."""
    program = ast.parse((tree.ROOT / "bench/run.py").read_text(encoding="utf-8"))
    found = next(
        node.value
        for node in program.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "BENCHES"
    )
    return {key.value for key in found.keys}


def check_benchmarks(problems: list) -> int:
    """docs/performance.md has one place for the table of each benchmark, and no other."""
    text = document.DOCUMENT.read_text(encoding="utf-8")
    name, named, known = tree.relative(document.DOCUMENT), document.blocks(text), benchmarks()
    for benchmark in sorted(known | set(named)):
        if benchmark not in known:
            problems.append(f'{name}: there is no benchmark "{benchmark}"')
        elif named.count(benchmark) != 1:
            problems.append(
                f"{name}: has {named.count(benchmark)} tables of the benchmark {benchmark}, not one"
            )
    marks = text.count("<!-- bench:"), text.count("<!-- end -->")
    if marks != (len(named), len(named)):
        problems.append(
            f"{name}: a <!-- bench: NAME --> has no <!-- end -->, or the other way around"
        )
    return len(known)


def paragraphs(text: str):
    """(line, text on one line) of each paragraph."""
    for paragraph in re.finditer(r"(?:^.*\S.*$\n?)+", text, re.MULTILINE):
        yield text.count("\n", 0, paragraph.start()) + 1, " ".join(paragraph.group(0).split())


def texts(path: pathlib.Path):
    """(line, text) of what people read in this file: paragraphs of documents and man pages,
    strings of sources."""
    if path.suffix == ".md":
        yield from paragraphs(without_code_spans(prose(path)))
    elif path.parent == tree.ROOT / "docs/man":
        page = path.read_text(encoding="utf-8")
        yield from paragraphs(
            re.sub(r"^\.(\\\"|Pp|It|Sh|Ss|Bl|El).*$", "", page, flags=re.MULTILINE)
        )
    elif path.suffix in STRINGS_IN and "tests" not in path.relative_to(tree.ROOT).parts:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            for string in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                yield number, string


def check_phrases(problems: list) -> int:
    checked = 0
    for path in tree.files():
        name = tree.relative(path)
        if name == "CHANGELOG.md":
            continue
        for line, text in texts(path):
            checked += 1
            for phrase in PHRASES:
                for found in phrase.finditer(text):
                    problems.append(
                        f'{name}:{line}: "{found.group(0).strip()}" reads badly; reword it'
                    )
    return 1 if checked else 0


def check_decisions(problems: list) -> int:
    """Numbers without gaps, a title with its number, date, status and all parts; the index names
    each file once."""
    folder = tree.ROOT / "docs/decisions"
    index = folder / "README.md"
    decisions = sorted(path for path in folder.glob("*.md") if path != index)
    named = [target_of(index, link)[0].name for link in links(index)]
    for number, path in enumerate(decisions, start=1):
        problem = f"{tree.relative(path)}: "
        if not path.name.startswith(f"{number:04d}-"):
            problems.append(f"{problem}expected number {number:04d}")
        text = path.read_text(encoding="utf-8")
        if not text.startswith(f"# {number}. "):
            problems.append(f'{problem}the title should begin with "# {number}. "')
        status = re.search(
            r"^Date: \d{4}-\d\d-\d\d\. Status: (accepted|superseded by (\d+))\.", text, re.MULTILINE
        )
        if not status:
            problems.append(
                f'{problem}has no line "Date: YYYY-MM-DD. Status: accepted." or "superseded by N."'
            )
        elif status.group(2) and not 1 <= int(status.group(2)) <= len(decisions):
            problems.append(f"{problem}is superseded by {status.group(2)}, which does not exist")
        for part in DECISION_PARTS:
            if f"\n{part}\n" not in text:
                problems.append(f'{problem}has no part "{part}"')
        if named.count(path.name) != 1:
            problems.append(
                f"{tree.relative(index)}: names {path.name} {named.count(path.name)} times, "
                "not once"
            )
    return len(decisions)


def main() -> None:
    problems: list = []
    counts = [
        check(problems)
        for check in (
            check_pages,
            check_features,
            check_links,
            check_index,
            check_sizes,
            check_columns,
            check_benchmarks,
            check_phrases,
            check_decisions,
        )
    ]
    tree.finish(problems, 0 if 0 in counts else sum(counts))


if __name__ == "__main__":
    main()
