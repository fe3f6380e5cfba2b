"""The recipes of docs/recipes.md, run with the events and commands given there: each leads to a
report that names its cause."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from lagtrap_test import LAGTRAP, SOURCE_DIR, Daemon, check, run, wait_for  # noqa: E402  (the path is set above)
from preset_programs import node_preset  # noqa: E402

os.environ["LAGTRAP_PRESETS"] = str(SOURCE_DIR / "settings" / "presets")
PAGE = SOURCE_DIR / "docs" / "recipes.md"


class Recipe:
    def __init__(self, text):
        self.title = text.splitlines()[0]
        self.blocks = {kind.strip(): body for kind, body in re.findall(r"^```(\w+[ \w]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)}

    def block(self, kind):
        check(kind in self.blocks, f"{self.title}: no block \"{kind}\"")
        return self.blocks[kind]


def recipes():
    return [Recipe(part) for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]]


class World:
    """A folder, and a shell that runs the blocks of a recipe in order; what they start ends with
    it."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-recipe-"))
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
            self.shell = subprocess.Popen(["bash"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=self.output,
                                          stderr=self.output, text=True, start_new_session=True)
        done = self.tools / f"{name}-done"
        self.shell.stdin.write(f"{script}\necho $? > {done}.new; mv {done}.new {done}\n")
        self.shell.stdin.flush()
        wait_for(lambda: done.exists() or self.shell.poll() is not None, f"the block {name}: {self.said()}", 120)
        check(done.exists() and done.read_text() == "0\n", f"the block {name} failed: {self.said()}")

    def said(self):
        return (self.folder / "output").read_text(encoding="utf-8", errors="replace")[-2000:]

    def __exit__(self, *_):
        if self.shell is not None:
            os.killpg(self.shell.pid, signal.SIGTERM)
            self.shell.stdin.close()
            self.shell.wait(timeout=60)
            self.output.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def cook(recipe):
    xml = recipe.block("xml")
    if "preset=\"node\"" in xml and node_preset() == "libnode":
        xml = xml.replace("node", "libnode")
    with World() as world:
        with Daemon(xml) as daemon:
            world.environment |= {"LAGTRAP_SOCKET": str(daemon.socket_path), "LAGTRAP_SPOOL": str(daemon.spool)}
            world.run(recipe.block("sh start"), "start")
            if "sh add" in recipe.blocks:
                world.run(recipe.block("sh add").rstrip() + f" --settings {daemon.settings_path}", "add")
            began = time.monotonic()
            name = daemon.status()["events"][0]["name"]
            kernels = 'preset="fsync"' in xml  # its markers are in no program
            wait_for(lambda: daemon.event(name)["armed"] and (kernels or daemon.event(name)["processes"] > 0),
                     lambda: f"{name} to be watched: {daemon.event(name)}")
            print(f"{recipe.title}: watched {time.monotonic() - began:.1f} s after the program had started")
            world.run(recipe.block("sh slow"), "slow")
            wait_for(lambda: daemon.status()["captures"]["done"] > 0 and daemon.status()["state"] in ("waiting", "cooling-down"),
                     "the recording", 90)
            # Without a bundle, the newest in the spool. Other programs may have been slow since,
            # because the preset fsync also watches the writer of the bundle.
            asked = [[bundle] for bundle in daemon.bundles()] if kernels else [["--spool", daemon.spool]]
            reports = [subprocess.run([LAGTRAP, "report", *words], capture_output=True, text=True, check=True).stdout for words in asked]
            phrases = recipe.block("text report").splitlines()
            check(any(all(phrase in said for phrase in phrases) for said in reports),
                  f"no report says {phrases}:\n" + "\n".join(said[:3000] for said in reports))


def first_event_armed():
    """From settings as installed to an armed event, with the page's commands except systemd's;
    prints the time."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "settings.xml"
        shutil.copy(SOURCE_DIR / "settings" / "settings.xml", settings)
        settings.write_text(settings.read_text(encoding="utf-8").replace("\n</lagtrap>", '\n<use preset="fsync"/>\n</lagtrap>'), encoding="utf-8")
        subprocess.run([LAGTRAP, "check", settings], check=True, capture_output=True)
        with Daemon('<use preset="fsync"/>'):  # which returns when all is armed
            print(f"first event armed after {time.monotonic() - began:.2f} s")


def ten_recipes():
    check(len(recipes()) == 10, f"{len(recipes())} recipes")


def test_of(recipe):
    def test():
        cook(recipe)
    test.__name__ = re.sub(r"\W+", "_", recipe.title.split(":")[0]).strip("_").lower()
    test.__name__ = re.sub(r"^\d+_", "", test.__name__)
    return test


if __name__ == "__main__":
    run(ten_recipes, first_event_armed, *[test_of(recipe) for recipe in recipes()])
