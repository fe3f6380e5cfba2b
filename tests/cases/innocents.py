"""Processes that keep all CPUs busy beside a case and are not involved in it."""

import os
import subprocess
import tempfile

from case import PROGRAMS

SOURCE = (
    "#include <map>\n#include <regex>\n#include <string>\n"
    'int main() { return std::regex_match("a", std::regex("a")); }\n'
)


class Innocents:
    """One computing process for each CPU, and a compiler that is started again and again."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lagtrap-innocents-")
        source = os.path.join(self.folder.name, "source.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        self.processes = [
            subprocess.Popen([PROGRAMS / "innocent"]) for _ in range(os.cpu_count() or 1)
        ]
        self.processes.append(
            subprocess.Popen(
                ["sh", "-c", f"while :; do g++ -O2 -c -o /dev/null '{source}'; done"],
                start_new_session=True,
            )
        )
        return self

    def __exit__(self, *_):
        for process in self.processes[:-1]:
            process.kill()
        os.killpg(self.processes[-1].pid, 9)
        for process in self.processes:
            process.wait()
        self.folder.cleanup()
