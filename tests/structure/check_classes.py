"""No class has member functions in more than one .cpp: a class that needs a second file needs to be
split into two classes."""

import collections
import re

import tree
from check_type_names import COMMENT_OR_TEXT, NAMESPACE, UNNAMED

# The class and the name of a member function that is defined outside of its class.
MEMBER = re.compile(r"((?:\w+(?:<[\w, ]*>)?::)+)(?:~?\w+|operator\s*\S{1,3})\s*\(")


def members(text):
    """The full names of the classes whose member functions a file defines outside of the class;
    without those in unnamed namespaces, which are local."""
    text = COMMENT_OR_TEXT.sub(" ", text)
    around, begin = [], 0
    for place in re.finditer(r"[{};]", text):
        before, begin = text[begin : place.start()].strip(), place.end()
        if place.group() == "}" and around:
            around.pop()
            continue
        defines = place.group() == "{" or before.endswith("= default")
        namespace = NAMESPACE.search(before)
        if defines and not namespace and None not in around and UNNAMED not in around:
            member = MEMBER.search(before)
            if member:
                yield "::".join(
                    [*around, re.sub(r"<[^>]*>", "", member.group(1)).removesuffix("::")]
                )
        if place.group() == "{":
            around.append((namespace.group(1) or UNNAMED) if namespace else None)


def main():
    homes = collections.defaultdict(set)
    for path in tree.sources():
        if path.suffix == ".cpp" and not tree.relative(path).startswith("tests/"):
            for name in members(path.read_text()):
                homes[name].add(tree.relative(path))
    problems = [
        f"{name} is defined in {len(files)} files: {', '.join(sorted(files))}"
        for name, files in sorted(homes.items())
        if len(files) > 1
    ]
    tree.finish(problems, len(homes))


if __name__ == "__main__":
    main()
