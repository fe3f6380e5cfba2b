"""Documents that tests carry out: sections with blocks of commands, and a shell that runs them."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lagtrap_test import LAGTRAP, check, wait_for


class Section:
    """A part of a page under a heading of its own, with its blocks by their kind ("sh start")."""

    def __init__(self, text):
        self.title = text.splitlines()[0]
        self.blocks = {
            kind.strip(): body
            for kind, body in re.findall(
                r"^```(\w+[ \w]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
            )
        }
        self.notes = re.findall(r"^<!-- (.*?) -->$", text, re.MULTILINE)

    def block(self, kind):
        check(kind in self.blocks, f'{self.title}: no block "{kind}"')
        return self.blocks[kind]

    def name(self):
        """Of the test for this section: the title's words before the colon, without its number."""
        words = re.sub(r"\W+", "_", self.title.split(":")[0]).strip("_").lower()
        return re.sub(r"^\d+_", "", words)


def sections(page):
    return [
        Section(part)
        for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    ]


class World:
    """A folder, and a shell that runs blocks in order; what they start ends with it."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tmp."))
        self.folder.chmod(0o755)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        # As installed by the package.
        self.tools.joinpath("lagtrap").symlink_to(LAGTRAP.resolve())
        self.environment = {**os.environ, "PATH": f"{self.tools}:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.shell = None
        return self

    def run(self, script, name):
        if self.shell is None:
            self.output = open(self.folder / "output", "w", encoding="utf-8")
            self.shell = subprocess.Popen(
                ["bash"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=self.output,
                stderr=self.output,
                text=True,
                start_new_session=True,
            )
        done = self.tools / f"{name}-done"
        self.shell.stdin.write(f"{script}\necho $? > {done}.new; mv {done}.new {done}\n")
        self.shell.stdin.flush()
        wait_for(
            lambda: done.exists() or self.shell.poll() is not None,
            f"the block {name}: {self.said()}",
            120,
        )
        check(
            done.exists() and done.read_text() == "0\n", f"the block {name} failed: {self.said()}"
        )

    def said(self):
        return (self.folder / "output").read_text(encoding="utf-8", errors="replace")[-2000:]

    def __exit__(self, *_):
        if self.shell is not None:
            os.killpg(self.shell.pid, signal.SIGTERM)
            self.shell.stdin.close()
            self.shell.wait(timeout=60)
            self.output.close()
        shutil.rmtree(self.folder, ignore_errors=True)
