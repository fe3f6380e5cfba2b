"""check_reports.py CTEST: what ./dev test prints about skipped and failed tests is in a report
that this ctest writes."""

import subprocess
import sys
import tempfile
from pathlib import Path

import tree

TESTS = """
add_test(passes "true")
add_test(talks "sh" "-c" "seq 1 100; echo the reason >&2; exit 3")
add_test(waits "sleep" "60")
set_tests_properties(waits PROPERTIES TIMEOUT 1)
add_test(skips "sh" "-c" "echo looked about; echo skipped: nothing to test with; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
"""


def said(script: str, report: Path) -> tuple:
    done = subprocess.run(
        [sys.executable, "-B", tree.ROOT / "tests/structure" / script, report],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def main() -> None:
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "CTestTestfile.cmake").write_text(TESTS, encoding="utf-8")
        report = folder / "report.xml"
        subprocess.run(
            [sys.argv[1], "--test-dir", folder, "--output-junit", report],
            capture_output=True,
            check=False,
        )
        skips, failures = said("skip_reasons.py", report), said("failed_output.py", report)
    if skips != (1, "skipped: skips: skipped: nothing to test with\n"):
        problems.append(f"of what was skipped is said: {skips}")
    ends = failures[1].split("\n--- ")[1:]
    if failures[0] != 0 or [end.split(" ")[0] for end in ends] != ["talks", "waits"]:
        problems.append(f"of what failed is said: {failures}")
    elif ends[0].splitlines()[1:] != [str(number) for number in range(42, 101)] + ["the reason"]:
        problems.append(f"not the last 60 lines: {ends[0]}")
    tree.finish(problems, 2)


if __name__ == "__main__":
    main()
