"""The attributes in lagtrap-settings(5): the values, limits and default of each come from the
schema, as `lagtrap check --reference` prints it. People write the lines after them."""

import re
import subprocess

import tree

PAGE = tree.ROOT / "docs/man/lagtrap-settings.5"
ARTICLES = ("a ", "an ", "one ", "names ")


def attributes(build):
    """What the schema says of each attribute, by element and attribute."""
    shown = subprocess.run(
        [build / "cli/lagtrap", "check", "--reference"], capture_output=True, text=True, check=True
    ).stdout
    found, element, values = {}, "", None
    for line in shown.split("\n"):
        if heading := re.match(r"<([\w-]+)>", line):
            element, values = heading[1], None
        elif start := re.match(r"    ([\w-]+): (.+)$", line):
            values = found.setdefault((element, start[1]), [])
            is_first = not values
            if is_first:
                values.append(start[2])
        elif line.startswith("        "):
            values = None
        elif line.startswith("    ") and values and is_first:
            values.append(line.strip())
    return {names: " ".join(parts) for names, parts in found.items()}


def sentence(values):
    text = values[0].upper() + values[1:] if values.startswith(ARTICLES) else values
    return text + "."


def check(build, write, problems):
    known = attributes(build)
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    elements, described = [], set()
    for at, line in enumerate(lines):
        if line.startswith((".Ss ", ".Sh ")):
            elements = re.findall(r"<([\w-]+)>", line)
        name = line.removeprefix(".It Ic ")
        owner = next((one for one in elements if (one, name) in known), None)
        if name == line or owner is None:
            continue
        described.add((owner, name))
        expected = sentence(known[owner, name])
        if lines[at + 1] == expected:
            continue
        if write:
            lines[at + 1] = expected
        else:
            problems.append(
                f'{tree.relative(PAGE)}:{at + 2}: "{lines[at + 1]}" should be "{expected}"; '
                "./dev man updates it"
            )
    if write:
        PAGE.write_text("\n".join(lines), encoding="utf-8")
    return len(described)
