"""Prints why tests were skipped, from CTest's JUnit report; exits with 1 if any was.

A test gives its reason as GoogleTest does ("FILE:LINE: Skipped" and the reason on the next line)
or, if it exits with 77, in the last line that it prints.
"""

import sys
import xml.etree.ElementTree


def reason_of(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.endswith(": Skipped") and number + 1 < len(lines):
            return lines[number + 1]
    plain = [line for line in lines if not line.startswith("[")]
    return plain[-1] if plain else "no reason given"


def main() -> int:
    skipped = 0
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        if case.get("status") not in ("notrun", "disabled") and case.find("skipped") is None:
            continue
        output = case.findtext("system-out") or ""
        print(f"skipped: {case.get('name')}: {reason_of(output)}")
        skipped += 1
    return 1 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
