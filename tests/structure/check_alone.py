"""check_alone.py BUILD_FOLDER: checks that each source file compiles by itself. Builds with unity
files or precompiled headers do not notice an include that is missing."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tree import ROOT, finish, relative, sources

FOLDERS = ("analysis", "binaries", "calls", "cli", "core", "daemon", "formats", "sandbox")
FOLDERS += ("server", "settings", "spool", "trace", "uploader")


def options(build: Path) -> list:
    """Definitions and include folders of all compilations together."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for word, after in zip(words, [*words[1:], ""]):
            if word.startswith(("-DLAGTRAP", "-DBOOST", "-DSPDLOG", "-I")):
                found[word] = [word]
            elif word == "-isystem":
                found[after] = [word, after]
    return ["-std=c++20", *[word for words in found.values() for word in words]]


def problem_of(path: Path, arguments: list) -> str:
    done = subprocess.run(
        ["clang++", "-fsyntax-only", *arguments, path], capture_output=True, text=True
    )
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    if done.returncode == 0:
        return ""
    return errors[0] if errors else f"{relative(path)}: clang++ failed: {done.stderr.strip()}"


def main():
    arguments = options(Path(sys.argv[1]))
    paths = [
        path
        for path in sources()
        if path.suffix == ".cpp" and path.relative_to(ROOT).parts[0] in FOLDERS
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda path: problem_of(path, arguments), paths))
    finish([problem for problem in problems if problem], len(paths))


main()
