"""No class has member functions in more than one .cpp: a class that needs a second file needs to be
split into two classes. No class has more than one member that is a callback: it should return what
it decides, or refer to an object. No .cpp has more than 400 lines, and no class more than 12
private members."""

import collections
import re

import tree
from check_type_names import COMMENT_OR_TEXT, NAMESPACE, TYPE, UNNAMED

# The class and the name of a member function that is defined outside of its class.
MEMBER = re.compile(r"((?:\w+(?:<[\w, ]*>)?::)+)(?:~?\w+|operator\s*\S{1,3})\s*\(")
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*std::function<")
# What precedes the body of a function that is defined in its class.
HEAD = re.compile(r"(?:\)|\b(?:const|override|final|noexcept|default))\s*$|\)\s*:.*$", re.S)
LAMBDA = re.compile(r"=\s*\[[^\]]*\]")

MAX_LINES = 400
MAX_MEMBERS = 12
# Files with more lines, and how many they may have. Only lower or remove entries.
LINES = {"daemon/capture/capture_controller.cpp": 500, "server/api/http_connection.cpp": 460}
# Classes with more members. Only lower or remove entries.
MEMBERS = {"daemon/capture/capture_controller.hpp CaptureController": 21}


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


def statements(text):
    """The declarations in classes, as pairs of the class's name and the text without initialisers
    in braces."""
    text = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", ";", COMMENT_OR_TEXT.sub(" ", text))
    around, before, begin = [], "", 0
    for place in re.finditer(r"[{};]", text):
        if None not in around:
            before += text[begin : place.start()]
        begin = place.end()
        named, is_class = TYPE.search(before.strip()), bool(around) and around[-1] != ""
        if place.group() == "{":
            scope = None
            if None not in around and NAMESPACE.search(before.strip()):
                scope = ""
            elif None not in around and named and "enum" not in before:
                scope = named.group(1)
            around.append(scope)
            if scope is not None or (HEAD.search(before) and not LAMBDA.search(before)):
                before = ""
        elif place.group() == "}" and around:
            if around.pop() is not None:
                before = ""
        elif None not in around:
            if is_class:
                yield "::".join(name for name in around if name), " ".join(before.split())
            before = ""


def data_members(text):
    """The data members of classes, as tuples of the class's name, the declaration, and the names
    that it declares."""
    for owner, statement in statements(text):
        if re.match(r"using|friend|static|template", statement):
            continue
        plain, count = statement, 1
        while count:
            plain, count = re.subn(r"<[^<>]*>", "", plain)
        declared = plain.split("=")[0]
        if "(" not in declared:
            names = [re.search(r"\w+$", name.strip()) for name in declared.split(",")]
            yield owner, statement, [name.group() for name in names if name]


def callbacks(text):
    """How many members of each class are callbacks."""
    counts = collections.Counter()
    aliases = "|".join(ALIAS.findall(text)) or "std::function"
    is_callback = re.compile(rf"std::function<|^(?:const )?(?:{aliases})&? \w")
    for owner, statement, names in data_members(text):
        if is_callback.search(statement):
            counts[owner] += len(names)
    return counts


def own_members(text):
    """How many members each class keeps to itself; by their names, because structs of values may
    have as many as the thing they describe."""
    counts = collections.Counter()
    for owner, _, names in data_members(text):
        counts[owner] += sum(name.endswith("_") for name in names)
    return counts


def beyond_size(counts, limit, exceptions, unit):
    """Problems of a dictionary of sizes."""
    for name, count in sorted(counts.items()):
        allowed = exceptions.get(name, limit)
        if count > allowed:
            yield f"{name} has {count} {unit}; at most {allowed} allowed"
    for name in exceptions:
        if counts.get(name, 0) <= limit:
            yield f"{name} has at most {limit} {unit}; remove it from the list here"


def main():
    homes = collections.defaultdict(set)
    lines, own = {}, {}
    problems = []
    for path in tree.sources():
        name = tree.relative(path)
        if name.startswith("tests/"):
            continue
        text = path.read_text()
        own |= {f"{name} {owner}": count for owner, count in own_members(text).items()}
        if path.suffix == ".cpp":
            lines[name] = text.count("\n")
            for owner in members(text):
                homes[owner].add(name)
        for owner, count in callbacks(text).items():
            if count > 1:
                problems.append(f"{name}: {owner} has {count} callbacks; at most 1 allowed")
    problems += [
        f"{name} is defined in {len(files)} files: {', '.join(sorted(files))}"
        for name, files in sorted(homes.items())
        if len(files) > 1
    ]
    problems += beyond_size(lines, MAX_LINES, LINES, "lines")
    problems += beyond_size(own, MAX_MEMBERS, MEMBERS, "members")
    tree.finish(problems, len(homes))


if __name__ == "__main__":
    main()
