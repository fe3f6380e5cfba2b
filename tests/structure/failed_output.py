"""failed_output.py REPORT: prints the end of each failed test's output, from CTest's JUnit
report: readers of a log with thousands of lines look at its end first."""

import sys
import xml.etree.ElementTree

LINES = 60


def main() -> None:
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        if case.find("failure") is None:
            continue
        lines = (case.findtext("system-out") or "").rstrip().splitlines()
        what = (
            f"the last {LINES} of {len(lines)} lines"
            if len(lines) > LINES
            else f"{len(lines)} lines"
        )
        print(f"\n--- {case.get('name')} failed after {float(case.get('time') or 0):.0f} s: {what}")
        print("\n".join(lines[-LINES:]))


if __name__ == "__main__":
    main()
