"""Every test has exactly one of the labels by which ./dev test chooses, and may have "release", by which it leaves one out."""

import json
import subprocess
import sys

import tree

LABELS = {"unit", "integration", "structure", "system"}
LEFT_OUT = "release"


def main() -> None:
    ctest, build = sys.argv[1:]
    listing = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True)
    tests = json.loads(listing.stdout)["tests"]
    problems = []
    for test in tests:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        labels = set(properties.get("LABELS", []))
        if len(labels & LABELS) != 1 or not labels <= LABELS | {LEFT_OUT}:
            problems.append(f"{test['name']}: labels {sorted(labels)}; expected one of {sorted(LABELS)}, and perhaps {LEFT_OUT}")
    tree.finish(problems, len(tests))


if __name__ == "__main__":
    main()
