"""No two types of a namespace have one name: otherwise the linker would silently use the inline
functions of one for the other (the one-definition rule)."""

import collections
import re

import tree

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"\b(?:class|struct|union|"
    r"enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(\w+)\s*(?:final\s*)?(?::(?!:)[^()]*)?$"
)
UNNAMED = "(unnamed)"


def types(text):
    """The types that a file defines in namespaces, by their full names; without those in unnamed
    namespaces, which are local."""
    text = COMMENT_OR_TEXT.sub(" ", text)
    around, begin = [], 0
    for place in re.finditer(r"[{};]", text):
        before, begin = text[begin : place.start()].strip(), place.end()
        if place.group() == "}" and around:
            around.pop()
        if place.group() != "{":
            continue
        namespace, named = NAMESPACE.search(before), TYPE.search(before)
        if named and None not in around and UNNAMED not in around:
            yield "::".join([*around, named.group(1)])
        around.append((namespace.group(1) or UNNAMED) if namespace else None)


def main():
    homes = collections.defaultdict(set)
    for path in tree.sources():
        if not tree.relative(path).startswith("tests/"):  # each test is a separate program
            for name in types(path.read_text()):
                homes[name].add(tree.relative(path))
    problems = [
        f"{name} is defined in {' and in '.join(sorted(files))}"
        for name, files in sorted(homes.items())
        if len(files) > 1
    ]
    tree.finish(problems, len(homes))


if __name__ == "__main__":
    main()
