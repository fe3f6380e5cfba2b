"""The recipes of docs/recipes.md, run with the events and commands given there: each leads to a
report that names its cause."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from documents import World, sections  # noqa: E402  (the path is set above)
from lagtrap_test import (
    LAGTRAP,
    SOURCE_DIR,
    Daemon,
    check,
    run,
    wait_for,
)  # noqa: E402  (the path is set above)
from preset_programs import node_preset  # noqa: E402

PAGE = SOURCE_DIR / "docs" / "recipes.md"


def cook(recipe):
    xml = recipe.block("xml")
    if 'preset="node"' in xml and node_preset() == "libnode":
        xml = xml.replace("node", "libnode")
    with World() as world:
        with Daemon(xml) as daemon:
            world.environment |= {
                "LAGTRAP_SOCKET": str(daemon.socket_path),
                "LAGTRAP_SPOOL": str(daemon.spool),
            }
            world.run(recipe.block("sh start"), "start")
            if "sh add" in recipe.blocks:
                world.run(
                    recipe.block("sh add").rstrip() + f" --settings {daemon.settings_path}", "add"
                )
            began = time.monotonic()
            name = daemon.status()["events"][0]["name"]
            kernels = 'preset="fsync"' in xml  # its markers are in no program
            wait_for(
                lambda: daemon.event(name)["armed"]
                and (kernels or daemon.event(name)["processes"] > 0),
                lambda: f"{name} to be watched: {daemon.event(name)}",
            )
            print(
                f"{recipe.title}: watched {time.monotonic() - began:.1f} s after the program had "
                "started"
            )
            world.run(recipe.block("sh slow"), "slow")
            wait_for(
                lambda: daemon.status()["captures"]["done"] > 0
                and daemon.status()["state"] in ("waiting", "cooling-down"),
                "the recording",
                90,
            )
            # Without a bundle, the newest in the spool. Other programs may have been slow since,
            # because the preset fsync also watches the writer of the bundle.
            asked = (
                [[bundle] for bundle in daemon.bundles()]
                if kernels
                else [["--spool", daemon.spool]]
            )
            reports = [
                subprocess.run(
                    [LAGTRAP, "report", *words], capture_output=True, text=True, check=True
                ).stdout
                for words in asked
            ]
            phrases = recipe.block("text report").splitlines()
            check(
                any(all(phrase in said for phrase in phrases) for said in reports),
                f"no report says {phrases}:\n" + "\n".join(said[:3000] for said in reports),
            )


def first_event_armed():
    """From settings as installed to an armed event, with the page's commands except systemd's;
    prints the time."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "settings.xml"
        shutil.copy(SOURCE_DIR / "settings" / "settings.xml", settings)
        settings.write_text(
            settings.read_text(encoding="utf-8").replace(
                "\n</lagtrap>", '\n<use preset="fsync"/>\n</lagtrap>'
            ),
            encoding="utf-8",
        )
        subprocess.run([LAGTRAP, "check", settings], check=True, capture_output=True)
        with Daemon('<use preset="fsync"/>'):  # which returns when all is armed
            print(f"first event armed after {time.monotonic() - began:.2f} s")


def ten_recipes():
    check(len(sections(PAGE)) == 10, f"{len(sections(PAGE))} recipes")


def test_of(recipe):
    def test():
        cook(recipe)

    test.__name__ = recipe.name()
    return test


if __name__ == "__main__":
    run(ten_recipes, first_event_armed, *[test_of(recipe) for recipe in sections(PAGE)])
