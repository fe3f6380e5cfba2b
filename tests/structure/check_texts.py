"""Checks that the tree does not contain: addresses of package registries and mirrors, paths of
one machine, notes to oneself, Windows line ends, sources of more than 600 lines, binary files."""

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
BINARY_DATA = (
    "tests/data/",
    "tests/fuzz/corpus/",
    "docs/pictures/",
)  # sample files of formats, and pictures
RECORDINGS = ("tests/replay/", ".capture.tar.zst")


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
        if (
            path.suffix in tree.SOURCE_SUFFIXES
            and path.name != "vmlinux.h"
            and text.count("\n") > LINE_LIMIT
        ):
            problems.append(f"{name}: {text.count(chr(10))} lines, more than {LINE_LIMIT}")
    tree.finish(problems, checked)


if __name__ == "__main__":
    main()
