"""The options in the man pages and in the completion for bash are those of --help:
check_options.py BUILD_DIRECTORY [--write].

In a man page, a list of options follows the line `.\\" options: PROGRAM [COMMAND]`. The name of
each option and the first line of its text come from --help; people write the lines after it.
--write (./dev man) updates the pages; without it, each difference is an error.
"""

import pathlib
import re
import subprocess
import sys

import settings_page
import tree

PROGRAMS = {
    "lagtrap": "cli/lagtrap",
    "lagtrapd": "daemon/lagtrapd",
    "lagtrap-uploader": "uploader/lagtrap-uploader",
    "lagtrap-server": "server/lagtrap-server",
}
# Options that many commands of lagtrap have; lagtrap(1) describes them once.
COMMON = {"--json", "--socket", "--spool", "--settings"}
NOT_LISTED = {"--help", "--version"}
TEXT_COLUMN = 30  # of --help, unless the names are longer: then the text is in the next line
# Of these, people choose a better word for the man page.
GENERAL_TYPES = {"text", "int", "uint", "float", "number"}
MARK = '.\\" options: '


class Option:
    """An option as --help shows it: its names, and the first line of its text in a man page."""

    def __init__(self, head, text):
        names, _, rest = head.partition(" ")
        self.names = names.split(",")
        type_name = re.match(r"[A-Z]+\b", rest)
        self.argument = type_name[0].lower() if type_name else ""
        value = re.match(r"[A-Z]+(?::[^=]*)?=(\S+)", rest)
        limits = re.search(r"in \[([\d.]+) - ([\d.]+)\]", rest)
        variable = re.search(r"\(Env:(\w+)\)", rest)
        self.text = text
        if limits and "to " not in text:
            self.text += f", {limits[1]} to {limits[2]}"
        if value and "default" not in text:
            self.text += f"; default {value[1]}"
        if variable:
            self.text += f"; also from {variable[1]}"

    def name(self):
        return self.names[-1]

    def head(self, argument):
        shown = [name.removeprefix("-") for name in self.names]
        return ".It " + " , ".join(
            f"Fl {name}" + (f" Ar {argument}" if argument else "") for name in shown
        )

    def line(self):
        return re.sub(r"`([^`]*)`", r"\\(oq\1\\(cq", self.text) + "."


def command_line(build, command):
    program, *arguments = command.split()
    return [build / PROGRAMS[program], *arguments, "--help"]


def options_of(build, command):
    """The options in the help of this program or command."""
    shown = subprocess.run(
        command_line(build, command), capture_output=True, text=True, check=True
    ).stdout
    lines = shown.split("\nOptions:\n", 1)[1].split("\n\n", 1)[0].rstrip().split("\n")
    entries = []
    for line in lines:
        if line.startswith("  -"):
            split = TEXT_COLUMN if line[TEXT_COLUMN - 1 : TEXT_COLUMN] == " " else len(line)
            entries.append([line[:split].strip(), line[split:]])
        else:
            entries[-1][1] = f"{entries[-1][1]} {line.strip()}".strip()
    options = [Option(head, text) for head, text in entries]
    return [option for option in options if option.name() not in NOT_LISTED]


def commands_of(build, program):
    """The commands of a program whose help has their names; only lagtrap's are in lists."""
    if program != "lagtrap":
        return []
    shown = subprocess.run(
        [build / PROGRAMS[program], "--help"], capture_output=True, text=True, check=True
    ).stdout
    more = re.search(r"More commands: (.*?)\. See", shown, re.DOTALL)
    return re.findall(r"^  ([a-z][a-z-]*) ", shown, re.MULTILINE) + re.split(r",\s+", more[1])


class Block:
    """A list of options in a man page: lines[begin:end], without its .Bl and .El."""

    def __init__(self, lines, at):
        self.command = lines[at].removeprefix(MARK)
        self.begin = at + 2
        depth, self.end = 1, self.begin
        while depth > 0:
            depth += lines[self.end].startswith(".Bl") - lines[self.end].startswith(".El")
            self.end += 1
        self.end -= 1
        self.entries, self.words, depth, name = {}, {}, 0, None
        for line in lines[self.begin : self.end]:
            if depth == 0 and line.startswith(".It Fl "):
                name = "-" + re.findall(r"Fl (\S+)", line)[-1]
                self.words[name] = " ".join(re.findall(r"Ar (\S+(?: \| \S+)*)", line)[:1])
                self.entries[name] = []
            else:
                depth += line.startswith(".Bl") - line.startswith(".El")
                self.entries[name].append(line)

    def written(self, options):
        """The list with the names and first lines that --help has."""
        lines = []
        for option in options:
            name = option.name()
            if name in COMMON and self.command.startswith("lagtrap ") and name not in self.entries:
                continue
            words = option.argument
            if words in GENERAL_TYPES:
                words = self.words.get(name) or words
            lines += [option.head(words), option.line(), *self.entries.get(name, [""])[1:]]
        return lines


def check_page(build, path, write, problems):
    """Returns the commands whose options the page lists."""
    lines = path.read_text(encoding="utf-8").split("\n")
    listed = []
    for at in reversed([at for at, line in enumerate(lines) if line.startswith(MARK)]):
        block = Block(lines, at)
        listed.append(block.command)
        options = options_of(build, block.command)
        expected = block.written(options)
        gone = set(block.entries) - {option.name() for option in options}
        if expected == lines[block.begin : block.end]:
            continue
        if write:
            lines[block.begin : block.end] = expected
            for name in sorted(gone):
                print(f"{tree.relative(path)}: {block.command} has no {name} any more")
            continue
        wrong = next(
            (old, new)
            for old, new in zip(lines[block.begin : block.end] + [".El"], expected + [".El"])
            if old != new
        )
        problems.append(
            f'{tree.relative(path)}: {block.command}: "{wrong[0]}" should be "{wrong[1]}"; '
            "./dev man updates it"
        )
    if write:
        path.write_text("\n".join(lines), encoding="utf-8")
    return listed


def check_completion(build, problems):
    """Each command has its options in the completion, in any order."""
    path = tree.ROOT / "packaging/bash-completion/lagtrap"
    completed = {
        command: sorted(options.split())
        for commands, options in re.findall(
            r'^ +([a-z |-]+)\) options="([^"]*)" ;;$',
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        for command in commands.split(" | ")
    }
    for command in commands_of(build, "lagtrap"):
        expected = sorted(option.name() for option in options_of(build, f"lagtrap {command}"))
        if completed.pop(command, []) != expected:
            problems.append(f"{tree.relative(path)}: {command} has {' '.join(expected)}")
    for command in completed:
        problems.append(f"{tree.relative(path)}: there is no command {command}")


def main():
    build, write, problems, listed = (
        pathlib.Path(sys.argv[1]).resolve(),
        "--write" in sys.argv[2:],
        [],
        [],
    )
    for path in sorted((tree.ROOT / "docs/man").glob("*.[1-9]")):
        listed += check_page(build, path, write, problems)
    for program in PROGRAMS:
        for command in [f"{program} {name}" for name in commands_of(build, program)] or [program]:
            own = [option for option in options_of(build, command) if option.name() not in COMMON]
            if own and listed.count(command) != 1:
                problems.append(
                    f"docs/man: {listed.count(command)} lists of the options of {command}, not one"
                )
    check_completion(build, problems)
    described = settings_page.check(build, write, problems)
    tree.finish(problems, len(listed) + described)


if __name__ == "__main__":
    main()
