"""Checks that the tree does not contain: addresses of package registries and mirrors, paths of
one machine, notes to oneself, Windows line ends, binary files, sources of more than 600 lines, and
lines of source of more than 100 columns."""

import re

import tree

# Written in parts, so that this file does not find itself.
FORBIDDEN = {
    "an address of a package registry": re.compile(
        r"\b(deb|ftp|security|archive|snapshot)\.(debian|ubuntu)\.(org|com)|\bpypi"
        r"\.org|\bcrates"
        r"\.io\b|"
        r"\bregistry\.npm"
        r"js|\bproxy\.golang"
        r"\.org|\bfiles\.python"
        r"hosted|\brubygems"
        r"\.org|"
        r"\brepo1?\.maven",
        re.IGNORECASE,
    ),
    "a path of one machine": re.compile(r"/wo" r"rk/|/tmp/br" r"ief|/home/[a-z]+/|/root/\w"),
    "a note to oneself": re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!-)"),
    "a Windows line end": re.compile(r"\r$", re.MULTILINE),
}
LINE_LIMIT = 600
COLUMN_LIMIT = 100
LIMITED_SUFFIXES = tree.SOURCE_SUFFIXES | {".py", ".ts", ".tsx", ".mjs"}
# An address, a hash or a name that cannot be broken, alone on its line, in quotes or in a comment.
ONE_WORD = re.compile(r"\s*(?://|#|/\*|\*)?\s*\S+")
UNLIMITED = ("vmlinux.h", "api_types.ts")  # generated
BINARY_DATA = (
    "tests/data/",
    "tests/fuzz/corpus/",
    "docs/pictures/",
)  # sample files of formats, and pictures
RECORDINGS = ("tests/replay/", ".capture.tar.zst")


def size_problems(name: str, text: str) -> list:
    lines = text.removesuffix("\n").split("\n")
    problems = [
        f"{name}:{number}: {len(line)} columns, more than {COLUMN_LIMIT}"
        for number, line in enumerate(lines, 1)
        if len(line) > COLUMN_LIMIT and not ONE_WORD.fullmatch(line)
    ]
    if len(lines) > LINE_LIMIT:
        problems.append(f"{name}: {len(lines)} lines, more than {LINE_LIMIT}")
    return problems


def main() -> None:
    problems, checked = [], 0
    for path in tree.files():
        name = tree.relative(path)
        raw = path.read_bytes()
        if b"\0" in raw:
            if not name.startswith(BINARY_DATA) and not (
                name.startswith(RECORDINGS[0]) and name.endswith(RECORDINGS[1])
            ):
                problems.append(f"{name}: a binary file")
            continue
        checked += 1
        text = raw.decode("utf-8", errors="replace")
        if name.startswith(BINARY_DATA):
            continue
        for what, pattern in FORBIDDEN.items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {what}: {match.group(0).strip() or 'CR'}")
        if path.suffix in LIMITED_SUFFIXES and path.name not in UNLIMITED:
            problems += size_problems(name, text)
    tree.finish(problems, checked)


if __name__ == "__main__":
    main()
