"""Takes the documentation's pictures from the pages of a real server; run by ./dev pictures.

pictures.py BUILD_DIRECTORY FOLDER: PostgreSQL runs in a temporary folder, and one INSERT waits for
the lock of a session that computes. lagtrapd records it, a server receives the recording, and a
browser takes pictures of the server's pages and writes them into FOLDER. Pictures in three sizes,
to look at, go into BUILD_DIRECTORY/pictures. Needs root. Exits with 0, or with 1 and a message.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
SCENARIO = "debian_postgres_lock"
SIZE_LIMIT_BYTES = 200 * 1024
sys.path[:0] = [str(SOURCE / "tests" / part) for part in ("integration", "cases", "replay")]


def record(kept):
    """Makes the recording in a folder whose path reveals nothing about this machine."""
    import record_golden

    record_golden.copy_build()
    record_golden.take_the_cpus(True)
    _, bundle = record_golden.record(SCENARIO)
    shutil.copy(bundle, kept)


def waiting_delay(bundle):
    """Number of the delay of the session that waits for the other one's lock. Exits if its report
    does not name the holder: on a busy machine, PostgreSQL's deadlock timer ends the wait first."""
    from lagtrap_test import LAGTRAP

    shown = subprocess.run(
        [LAGTRAP, "report", "--json", bundle], capture_output=True, text=True, check=True
    )
    delays = json.loads(shown.stdout)["delays"]
    number = next(at for at, delay in enumerate(delays) if "waiting" in delay["command_line"])
    sentences = " ".join(delays[number]["cause"]["sentences"])
    if " held; " not in sentences:
        sys.exit(f"the machine is too busy for a picture: {sentences}")
    return number + 1


def take_pictures(build, bundle, folder):
    from lagtrap_server import Server, sha256

    content = bundle.read_bytes()
    with tempfile.TemporaryDirectory(prefix="lagtrap-pictures-") as work:
        with Server("--requests-per-second", "0") as server:
            server.put(content)
            server.parsed_bundles()
            world = pathlib.Path(work) / "world.json"
            world.write_text(
                json.dumps(
                    {
                        "url": server.url,
                        "accounts": {},
                        "delay": {"bundle": sha256(content), "number": waiting_delay(bundle)},
                    }
                )
            )
            subprocess.run(
                ["node", SOURCE / "tests" / "browser" / "pictures.mjs"],
                check=True,
                timeout=300,
                env={
                    **os.environ,
                    "LAGTRAP_WEB_WORLD": str(world),
                    "LAGTRAP_WEB_BUILD": str(build / "server/web/site"),
                    "LAGTRAP_WEB_SCREENSHOTS": str(folder),
                    "LAGTRAP_WEB_SIZES": str(build / "pictures"),
                },
            )
    for picture in folder.glob("*.png"):
        size = picture.stat().st_size
        if size > SIZE_LIMIT_BYTES:
            sys.exit(f"{picture.name} has {size} bytes, more than {SIZE_LIMIT_BYTES}")
        print(f"{picture.name}: {size} bytes")


def main():
    build, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    os.environ["LAGTRAP_BUILD_DIR"] = str(build)
    if len(sys.argv) > 3:
        return record(sys.argv[3])
    from control_groups import command_in, group

    with tempfile.TemporaryDirectory(prefix="lagtrap-pictures-") as work:
        bundle = pathlib.Path(work) / "recording.lagtrap.tar.zst"
        # The recorder uses copies of the programs, which requires a separate process. Its control
        # group is one that a reader knows.
        with group("system.slice", "postgresql.service") as inside:
            subprocess.run(
                command_in(inside, sys.executable, "-B", __file__, build, folder, bundle),
                check=True,
            )
        folder.mkdir(parents=True, exist_ok=True)
        take_pictures(build, bundle, folder)


if __name__ == "__main__":
    main()
