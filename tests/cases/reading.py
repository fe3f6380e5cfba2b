"""Extracts findings from the text of `lagtrap report`, like a reader."""

import dataclasses
import re

FUNCTION_LINES = 5


@dataclasses.dataclass
class Reading:
    cause: str  # the sentence that says what took longest, of what is known
    sentences: list  # all sentences about the cause
    functions: list  # the first lines below "Functions", unchanged
    # "THREAD of PROCESS, PID/TID" of everything that is said to have ended a wait, or to have been
    # waited for
    named: list


def sections_of(text):
    sections, title = {}, ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            title = line
            sections[title] = []
        elif line and title:
            sections[title].append(line)
    return sections


def section(sections, start):
    return next((lines for title, lines in sections.items() if title.startswith(start)), [])


def first_known(sentences):
    """Skips sentences about time that had passed before the recording began; any other is the
    report's conclusion."""
    return next(
        (
            sentence
            for sentence in sentences
            if "had passed before the recording began" not in sentence
            and not sentence.startswith("The rest: ")
        ),
        "",
    )


def name_of(who):
    return f"{who['thread']} of {who['process']}, {who['pid']}/{who['tid']}"


def named_in_causes(cause):
    """Those named as holding up the run, without those that had a CPU."""
    told = [sentence for sentence in cause["sentences"] if not sentence.startswith("The rest: ")]
    for part in cause["parts"][: len(told)]:
        # For a wait that is followed, the head of the chain is named; otherwise what ended most of
        # it.
        links = part["chain"] or (
            part.get("wakers", [])[:1] if part.get("ended_by") == "thread" else []
        )
        yield from (name_of(who) for who in links if who["tid"])


def read(text, delay):
    """`delay` is the same delay in the report's JSON, which tells whose names they are."""
    wakers = [
        name_of(waker)
        for waker in delay["wakers"]
        if waker["share"] >= 0.02 and not waker["interrupt"]
    ]
    sentences = delay["cause"]["sentences"]
    shown = " ".join(line.strip() for line in section(sections_of(text), "Cause"))
    for sentence in sentences:  # the same words at any line width
        if re.sub(r"\s", "", sentence) not in re.sub(r"\s", "", shown):
            raise ValueError(f'the text does not say "{sentence}" but "{shown}"')
    return Reading(
        first_known(sentences),
        sentences,
        section(sections_of(text), "Functions")[:FUNCTION_LINES],
        sorted({*wakers, *named_in_causes(delay["cause"])}),
    )
