"""The commands of docs/first-minute.md, run as written: each output says what the page's output
says.
LAGTRAP_UPDATE_EXPECTED=1 writes the outputs into the page."""

import os
import subprocess

from documents import World, sections
from lagtrap_test import SOURCE_DIR, check, require_bpf, run

PAGE = SOURCE_DIR / "docs" / "first-minute.md"
EMPTY_SPACE = " \n"


def phrases(section):
    (note,) = section.notes
    check(note.startswith("says: "), f'{section.title}: "{note}" does not begin with "says: "')
    return note.removeprefix("says: ").split(" / ")


def check_phrases(section, output, where):
    """Lines are wrapped, so a phrase may continue in the next one."""
    words = " ".join(output.split())
    for phrase in phrases(section):
        check(phrase in words, f'{section.title}: {where} does not say "{phrase}":\n{output}')


def write_output(section, output):
    output = "".join(
        line for line in output.splitlines(keepends=True) if not line.startswith("  unit  ")
    )
    page = PAGE.read_text(encoding="utf-8")
    old = "```text output\n" + section.block("text output") + "```\n"
    before, after = page.split(f"## {section.title}\n")
    PAGE.write_text(
        before
        + f"## {section.title}\n"
        + after.replace(old, f"```text output\n{output.strip(EMPTY_SPACE)}\n```\n", 1),
        encoding="utf-8",
    )


def answer(section, world):
    """What the question prints; the report about a command goes to standard error."""
    script = section.block("sh try")
    question = subprocess.Popen(
        ["bash"],
        cwd=world.folder,
        env=world.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        question.stdin.write(script)
        question.stdin.close()
        question.stdin = None  # or communicate() would flush it
        if "sh meanwhile" in section.blocks:
            said = question.stderr.readline()
            check("Watching" in said, f"{section.title}: {said}")
            world.run(section.block("sh meanwhile"), "meanwhile")
        output, errors = question.communicate(timeout=60)
        check(
            question.returncode == 0,
            f"{section.title}: ended with {question.returncode}: {output}{errors}",
        )
        return output + errors if " -- " in script else output
    finally:
        question.kill()
        question.wait()


def ask(section):
    with World() as world:
        if "sh start" in section.blocks:
            world.run(section.block("sh start"), "start")
        output = answer(section, world)
    check_phrases(section, output, "the output")
    if os.environ.get("LAGTRAP_UPDATE_EXPECTED") == "1":
        write_output(section, output)


def the_page_is_whole():
    check(len(sections(PAGE)) == 10, f"{len(sections(PAGE))} sections")
    for section in sections(PAGE):
        check_phrases(section, section.block("text output"), "the page")


def test_of(section):
    def test():
        require_bpf()
        ask(section)

    test.__name__ = section.name()
    return test


if __name__ == "__main__":
    run(the_page_is_whole, *[test_of(section) for section in sections(PAGE)])
