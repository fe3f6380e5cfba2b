"""The page of a watch in a real browser while the watched program runs: lagtrap objects --send,
spool, uploader, server, page."""

import json
import os
import shutil
import subprocess

from lagtrap_server import PASSWORD, add_user
from lagtrap_test import SOURCE_DIR, check, require_bpf, run, skip, wait_for
from object_program import CLASSES, HANDLES
from test_distant_objects import World, end


def a_page_follows_a_running_program():
    with World() as world, world.uploader():
        add_user(world.data, "ann", "admin", PASSWORD)
        told = lambda name: (world.root / name).exists()
        (world.root / "world.json").write_text(
            json.dumps(
                {
                    "url": world.server.url,
                    "folder": str(world.root),
                    "host": os.uname().nodename,
                    "accounts": {"admin": {"account": "ann", "password": PASSWORD}},
                }
            )
        )
        browser = subprocess.Popen(
            ["node", SOURCE_DIR / "tests" / "browser" / "run.mjs", "watched.mjs"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "LAGTRAP_WEB_WORLD": str(world.root / "world.json")},
        )
        try:

            def reach(step):
                wait_for(lambda: told(step) or browser.poll() is not None, step, seconds=180)
                check(
                    told(step),
                    f"{step}: "
                    f"{browser.communicate(timeout=60)[0] if browser.poll() is not None else ''}",
                )

            # The empty list is shown first.
            reach("nothing-yet")
            sender, _ = world.send(*HANDLES, *CLASSES)
            reach("running")
            world.program.run("fail", 3)
            world.program.run("keep", 4)
            reach("failures-seen")
            reach("paused")
            world.program.run("fail", 2)
            reach("gone-on")
            end(sender)
            out, _ = browser.communicate(timeout=180)
            check(browser.returncode == 0, out[-8000:])
        finally:
            browser.kill()


if __name__ == "__main__":
    require_bpf()
    for program in ("node", os.environ.get("LAGTRAP_CHROMIUM", "chromium-headless-shell")):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    run(a_page_follows_a_running_program)
