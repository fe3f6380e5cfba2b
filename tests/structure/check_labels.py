"""Every test has exactly one label for its kind, and at most one for its tier: none (./dev
test), all, or long."""

import json
import subprocess
import sys

import tree

KINDS = {"unit", "integration", "structure", "system"}
TIERS = {"all", "long"}


def main() -> None:
    ctest, build = sys.argv[1:]
    listing = subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True
    )
    tests = json.loads(listing.stdout)["tests"]
    problems = []
    for test in tests:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        labels = set(properties.get("LABELS", []))
        if len(labels & KINDS) != 1 or len(labels & TIERS) > 1 or not labels <= KINDS | TIERS:
            problems.append(
                f"{test['name']}: labels {sorted(labels)}; "
                f"expected one of {sorted(KINDS)} and at most one of {sorted(TIERS)}"
            )
    tree.finish(problems, len(tests))


if __name__ == "__main__":
    main()
