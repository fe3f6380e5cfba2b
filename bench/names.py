"""The benchmark of names: a capture of a program with 200 MB of debug information, from its logs
to its bundle.

The program is one unit of templates, compiled once and linked many times under different names.
"""

import pathlib
import subprocess
import tempfile
import time

from capture import capture_under_load, merge, wait_for_captures
from lagtrap_test import check

UNITS = 64
FUNCTIONS = 24
UNIT = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace {
template <typename T, int N> struct Cell {
    T value; std::map<int, T> more; std::vector<T> all;
    T add(const T& item) {
        more[N] = item;
        all.push_back(item);
        std::sort(all.begin(), all.end());
        return all.front();
    }
};
template <int N>
std::string work(std::unordered_map<std::string, Cell<std::string, N>>& cells, int count) {
    Cell<std::string, N + 100> cell;
    std::stringstream out;
    for (int j = 0; j < count; ++j) {
        out << cell.add(std::to_string(j));
        cells[out.str()].add("x");
    }
    std::function<int(int)> sum = [&](int v) { return v + count + int(cells.size()); };
    return out.str() + std::to_string(sum(count));
}
template <int N> __attribute__((noinline)) std::size_t entry(int count) {
    std::unordered_map<std::string, Cell<std::string, N>> cells;
    return work<N>(cells, count).size() +
           std::regex_match("aab", std::regex("a+b" + std::to_string(N)));
}
template <int... N> std::size_t all(int count, std::integer_sequence<int, N...>) {
    return (entry<N>(count) + ...);
}
}
extern "C" std::size_t unit_0(int count) {
    return all(count, std::make_integer_sequence<int, %d>());
}
"""


def build(folder):
    """Returns the program and its size."""
    (folder / "unit.cpp").write_text(UNIT % FUNCTIONS)
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-g", "-c", "unit.cpp", "-o", "unit_0.o"],
        cwd=folder,
        check=True,
    )
    names = [f"unit_{i}" for i in range(UNITS)]
    for name in names[1:]:
        subprocess.run(
            ["objcopy", "--redefine-sym", f"unit_0={name}", "unit_0.o", f"{name}.o"],
            cwd=folder,
            check=True,
        )
    main = "#include <cstddef>\n" + "".join(
        f'extern "C" std::size_t {name}(int);\n' for name in names
    )
    main += (
        "int main() { std::size_t sum = 0; for (;;) { "
        + " ".join(f"sum += {name}(3);" for name in names)
        + " } return sum == 7; }\n"
    )
    (folder / "main.cpp").write_text(main)
    subprocess.run(
        ["g++", "-O1", "-g", "main.cpp", *(f"{name}.o" for name in names), "-o", "large"],
        cwd=folder,
        check=True,
    )
    return folder / "large"


def perf_seconds(folder, pid):
    """How long perf takes to name the same addresses, with lines and inlined functions; None if
    it took over two minutes."""
    subprocess.run(
        [
            "perf",
            "record",
            "-q",
            "-F",
            "999",
            "-g",
            "-p",
            str(pid),
            "-o",
            folder / "perf.data",
            "--",
            "sleep",
            "4",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    begun = time.monotonic()
    try:
        subprocess.run(
            ["perf", "script", "-i", folder / "perf.data", "--inline", "-F", "ip,sym,srcline"],
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None
    return time.monotonic() - begun


def bench(row):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = build(folder)
        size = program.stat().st_size
        check(size > 190e6, f"the program has only {size / 1e6:.0f} MB")
        process = subprocess.Popen([program])
        try:
            with capture_under_load(4) as daemon:
                time.sleep(2)  # a second, plus the time for its table
                daemon.ask("trigger", event="tick")
                figure = merge(wait_for_captures(daemon, 1)[-1])
            peer = perf_seconds(folder, process.pid)
        finally:
            process.kill()
            process.wait()
    row(
        f"merge of 4 s with functions, inlined functions and lines, program of {size / 1e6:.0f} MB "
        "with DWARF",
        f"{figure['seconds']:.2f} s, {figure['memory_mib']:.0f} MiB",
        "`perf script --inline` with lines: " + (f"{peer:.0f} s" if peer else "more than 120 s"),
        wanted="3 s; 300 MB",
    )
