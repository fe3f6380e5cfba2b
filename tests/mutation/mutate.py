"""Shows which decisions of a folder no unit test pins: puts small mistakes into its sources, one at
a time, and lists those with which its unit tests still pass.

Mistakes: a statement is skipped, a condition is negated, a comparison is off by one. All are built
at once, into a copy of the tree, and an environment variable switches one on; only the tests that
run its place are asked. Some change nothing that a user could notice, so a line of the list is a
place to look at, not a fault.

    ./dev mutate FOLDER [PART OF A FILE NAME ...]
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import clang.cindex
from clang.cindex import CursorKind

PROJECT_DIR = pathlib.Path(__file__).resolve().parents[2]
SOURCE_DIR = PROJECT_DIR / "build" / "mutation"  # a copy
BUILD_DIR = SOURCE_DIR / "build" / "test"
COMPARISONS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
SKIPPABLE = (
    CursorKind.CALL_EXPR,
    CursorKind.BINARY_OPERATOR,  # assignments
    CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
    CursorKind.UNARY_OPERATOR,
)
FIRST_RUN_S = 60  # at most, for one test


class Source:
    """One file and the mistakes put into it."""

    def __init__(self, path, first_number):
        self.path = path
        self.text = path.read_bytes()
        # Changes of the text as offset, rank, serial number, new text, end of what it replaces. At
        # one offset, what ends comes before what begins, and what is around before what is inside.
        self.edits = []
        self.places = {}  # line and kind by number
        self.next_number = first_number

    def number(self, cursor, kind):
        number = self.next_number
        self.next_number += 1
        self.places[number] = (cursor.location.line, kind)
        return number

    def edit(self, offset, rank, text, end=None):
        self.edits.append((offset, rank, len(self.edits), text, end or offset))

    def wrap(self, span, call):
        self.edit(span[0], 2, call)
        self.edit(span[1], 0, ")")

    def span(self, cursor):
        """Its bytes; None if a macro made it."""
        begin, end = cursor.extent.start, cursor.extent.end
        if not begin.file or begin.file.name != str(self.path) or end.offset <= begin.offset:
            return None
        return begin.offset, end.offset

    def read(self, arguments):
        unit = clang.cindex.Index.create().parse(str(self.path), arguments)
        for cursor in unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == str(self.path):
                self.visit(cursor)

    def visit(self, cursor):
        if cursor.kind == CursorKind.STATIC_ASSERT:
            return
        # "= default": its statements are not in the text.
        if cursor.kind == CursorKind.CXX_METHOD and cursor.is_default_method():
            return
        if cursor.kind == CursorKind.VAR_DECL:
            if "constexpr" in [token.spelling for token in cursor.get_tokens()][:3]:
                return
        if cursor.kind == CursorKind.COMPOUND_STMT:
            for statement in cursor.get_children():
                self.skip(statement)
        elif cursor.kind == CursorKind.IF_STMT:
            self.negate(cursor)
        elif cursor.kind == CursorKind.BINARY_OPERATOR:
            self.compare(cursor)
        for child in cursor.get_children():
            self.visit(child)

    def skip(self, statement):
        span = self.span(statement)
        while statement.kind == CursorKind.UNEXPOSED_EXPR:
            children = list(statement.get_children())
            if len(children) != 1:
                return
            statement = children[0]
        if (
            not span
            or statement.kind not in SKIPPABLE
            or self.text[span[0] : span[0] + 1].isupper()
        ):
            return
        number = self.number(statement, "statement skipped")
        self.edit(span[0], 2, f"if (!lagtrap_mutant::is_on({number})) ")

    def negate(self, statement):
        condition = next(statement.get_children())
        span = self.span(condition)
        # Not with a declaration before the condition.
        begin = statement.extent.start.offset
        if not span or not condition.kind.is_expression() or b";" in self.text[begin : span[0]]:
            return
        number = self.number(condition, "condition negated")
        self.wrap(span, f"lagtrap_mutant::negate({number}, ")

    def compare(self, cursor):
        spans = [self.span(part) for part in (cursor, *cursor.get_children())]
        if len(spans) != 3 or None in spans:
            return
        operator = self.text[spans[1][1] : spans[2][0]].decode(errors="replace").strip()
        if operator not in COMPARISONS:
            return
        number = self.number(cursor, f"{operator} is off by one or always true")
        self.wrap(spans[0], f"lagtrap_mutant::{COMPARISONS[operator]}({number}, ")
        self.edit(spans[1][1], 1, ", ", spans[2][0])

    def mutated(self):
        parts, at = [b'#include "tests/mutation/mutant.hpp"\n'], 0
        for offset, _, _, text, end in sorted(self.edits):
            parts += [self.text[at:offset], text.encode()]
            at = end
        return b"".join([*parts, self.text[at:]])


def copy_sources():
    """Only files that differ, so that a second run builds little."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=PROJECT_DIR, text=True)
    for name in listed.rstrip("\0").split("\0"):
        source, copy = PROJECT_DIR / name, SOURCE_DIR / name
        if source.is_symlink() or not source.is_file():
            continue
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    subprocess.run(
        ["cmake", "--preset", "test"], cwd=SOURCE_DIR, check=True, stdout=subprocess.DEVNULL
    )


def arguments_for(path):
    """The compiler's options for the folder of a file; None if no library is made of it."""
    for entry in json.loads((BUILD_DIR / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if f"/{path.parent.relative_to(SOURCE_DIR)}/CMakeFiles/lagtrap_" in words[-1]:
            kept = [word for word in words if word.startswith(("-D", "-I", "-std"))]
            headers = BUILD_DIR / "CMakeFiles" / "lagtrap_precompiled.dir" / "cmake_pch.hxx"
            return [*kept, "-isystem", str(BUILD_DIR / "bpf"), "-include", str(headers)]
    return None


def program_for(folder):
    """The unit tests of the folder, or of the nearest one around it that has some."""
    parts = folder.strip("/").split("/")
    for count in range(len(parts), 0, -1):
        name = "_".join(parts[:count])
        if (SOURCE_DIR / "tests" / "unit" / name).is_dir():
            return BUILD_DIR.joinpath(*parts[:count], f"{name}_tests")
    sys.exit(f"./dev mutate: {folder} has no unit tests")


class UnitTests:
    """The tests of one program."""

    def __init__(self, program):
        self.program = program
        self.seconds = {}  # by test

    def names(self):
        tests = []
        suite = ""
        listed = subprocess.check_output([self.program, "--gtest_list_tests"], text=True)
        for line in listed.splitlines():
            if line.startswith("  "):
                tests.append(suite + line.split()[0])
            elif re.match(r"\S+\.(\s|$)", line):
                suite = line.split()[0]
        return tests

    def pass_with(self, tests, environment):
        """A mistake may let a test run for ever."""
        usual_s = sum(self.seconds.get(test, FIRST_RUN_S) for test in tests)
        with tempfile.NamedTemporaryFile("w") as flags:  # there may be too many for an argument
            flags.write("--gtest_filter=" + ":".join(tests) + "\n")
            flags.flush()
            try:
                done = subprocess.run(
                    [
                        self.program,
                        "--gtest_brief=1",
                        "--gtest_fail_fast",
                        f"--gtest_flagfile={flags.name}",
                    ],
                    cwd=self.program.parent,
                    env={**os.environ, **environment},
                    capture_output=True,
                    timeout=10 + 10 * usual_s,
                )
            except subprocess.TimeoutExpired:
                return False
        return done.returncode == 0

    def by_mistake(self, size, pool):
        """For each mistake the tests that run its place."""

        def places_of(test):
            with tempfile.NamedTemporaryFile() as reached:
                reached.truncate(size)
                begin_s = time.monotonic()
                if not self.pass_with([test], {"LAGTRAP_MUTANTS_REACHED": reached.name}):
                    sys.exit(f"./dev mutate: {test} fails without a mistake")
                self.seconds[test] = time.monotonic() - begin_s
                return [number for number, byte in enumerate(reached.read()) if byte]

        tests_by_number = {}
        names = self.names()
        for test, numbers in zip(names, pool.map(places_of, names)):
            for number in numbers:
                tests_by_number.setdefault(number, []).append(test)
        return tests_by_number


def put_mistakes(paths):
    """Writes the mistakes into the copy's files."""
    sources, number = [], 1
    for path in paths:
        source = Source(path, number)
        arguments = arguments_for(path)
        if arguments is None:
            continue
        source.read(arguments)
        number = source.next_number
        sources.append(source)
    for source in sources:
        source.path.write_bytes(source.mutated())
    return sources


def missed_in(source, unit_tests, tests_by_number, pool):
    """The line and kind of each mistake that no test finds."""

    def is_missed(number):
        tests = tests_by_number.get(number)
        return not tests or unit_tests.pass_with(tests, {"LAGTRAP_MUTANT": str(number)})

    for (number, (line, kind)), missed in zip(
        source.places.items(), pool.map(is_missed, source.places)
    ):
        if missed:
            yield line, kind if number in tests_by_number else f"{kind} (not run)"


def main():
    if len(sys.argv) < 2 or not (PROJECT_DIR / sys.argv[1]).is_dir():
        sys.exit("usage: ./dev mutate FOLDER [PART OF A FILE NAME ...]")
    folder, *names = sys.argv[1:]
    copy_sources()
    paths = sorted((SOURCE_DIR / folder).rglob("*.cpp"))
    paths = [path for path in paths if not names or any(name in path.name for name in names)]
    program = program_for(folder)
    sources = put_mistakes(paths)
    build = ["ninja", "-C", BUILD_DIR, program.name]
    try:
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    finally:
        for source in sources:
            source.path.write_bytes(source.text)
    count = sum(len(source.places) for source in sources)
    missed_count = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        unit_tests = UnitTests(program)
        tests_by_number = unit_tests.by_mistake(count + 1, pool)
        for source in sources:
            for line, kind in missed_in(source, unit_tests, tests_by_number, pool):
                missed_count += 1
                text = source.text.splitlines()[line - 1].decode(errors="replace").strip()
                where = source.path.relative_to(SOURCE_DIR)
                print(f"{where}:{line}: {kind}: {text}", flush=True)
    print(f"{count - missed_count} of {count} mistakes found")


if __name__ == "__main__":
    main()
