"""Writes tables of benchmarks into docs/performance.md, for ./dev bench --write.

The table of a benchmark stands between <!-- bench: NAME --> and <!-- end -->. Nobody edits it by
hand.
"""

import os
import pathlib
import platform
import re
import time

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BLOCK = re.compile(
    r"(?<=<!-- bench: )(?P<name>[a-z]+) -->\n(?P<content>.*?)(?=<!-- end -->)", re.DOTALL
)
COLUMNS = ("figure", "measured", "peer, same run", "ratio", "goal")


def blocks(text):
    """Names of the benchmarks that have a table in the text, in its order."""
    return [match["name"] for match in BLOCK.finditer(text)]


def table(rows):
    """Markdown of these rows, without the columns that are empty in all of them."""
    used = [at for at in range(len(COLUMNS)) if at < 2 or any(row[at] for row in rows)]
    lines = [[COLUMNS[at] for at in used], *([row[at] for at in used] for row in rows)]
    text = ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(used), *text[1:]])


def replaced(text, name, rows, where):
    """The text with a new table of one benchmark, and `where` it was measured."""
    content = f"{name} -->\n{table(rows)}\n\n{where}\n"
    return BLOCK.sub(lambda match: content if match["name"] == name else match[0], text)


def cpu_times():
    """All CPUs since the machine started, in ticks: (idle or waiting for a disk, all)."""
    times = [
        int(word)
        for word in pathlib.Path("/proc/stat")
        .read_text(encoding="ascii")
        .split("\n", 1)[0]
        .split()[1:9]
    ]
    return times[3] + times[4], sum(times)


def busy_percent(seconds=2):
    """How much of the CPUs other work uses before a benchmark begins."""
    idle, total = cpu_times()
    time.sleep(seconds)  # the length of the measurement
    idle_later, total_later = cpu_times()
    return 100 * (1 - (idle_later - idle) / max(1, total_later - total))


def measured_where(busy):
    """Date, kernel, CPUs, and whether other work ran."""
    model = re.search(
        r"^model name\s*: (.+)$",
        pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    kernel = re.match(r"\d+\.\d+(\.\d+)?", platform.release())
    load = f"\nBefore it began, other work used {busy:.0f} % of the CPUs." if busy >= 5 else ""
    return (
        f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())}: "
        f"Linux {kernel[0] if kernel else platform.release()}, "
        f"{os.cpu_count()} CPUs{f' ({model[1]})' if model else ''}.{load}"
    )


def write(name, rows, busy):
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(replaced(text, name, rows, measured_where(busy)), encoding="utf-8")
