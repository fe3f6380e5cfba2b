"""Judges whether a report says what is true of a case."""

import dataclasses
import re


@dataclasses.dataclass
class Verdict:
    caught: bool = False
    cause_right: bool = False
    guilty_found: bool = False
    innocents_spared: bool = False
    why: list = dataclasses.field(default_factory=list)

    @property
    def passed(self):
        return self.caught and self.cause_right and self.guilty_found and self.innocents_spared


def judge(expected, reading, busy):
    """`expected` with only patterns; `busy`: all CPUs had other work too."""
    verdict = Verdict(caught=True)
    cause = (busy and expected.busy_cause) or expected.cause
    holders = [
        name for name in reading.named if expected.holder and re.search(expected.holder, name)
    ]
    verdict.cause_right = bool(re.search(cause, reading.cause)) and (
        bool(holders) or not expected.holder
    )
    if not re.search(cause, reading.cause):
        verdict.why.append(f'the cause is "{reading.cause}", expected {cause}')
    if expected.holder and not holders:
        verdict.why.append(f"{expected.holder} is not named, but {reading.named}")
    # The sentences say what a holder did meanwhile.
    shown = reading.functions + (reading.sentences if expected.holder else [])
    verdict.guilty_found = any(re.search(expected.guilty, line) for line in shown)
    if not verdict.guilty_found:
        verdict.why.append(
            f"{expected.guilty} is not among the functions: "
            + " | ".join(line.strip() for line in shown)
        )
    allowed = [pattern for pattern in (expected.holder, expected.others) if pattern]
    innocents = [
        name for name in reading.named if not any(re.search(pattern, name) for pattern in allowed)
    ]
    verdict.innocents_spared = not innocents
    if innocents:
        verdict.why.append(f"named without guilt: {', '.join(innocents)}")
    return verdict
