"""test_machine.py debian12|debian13 install|life|use: our packages in a booted machine, from
installing to purging. "install" records a delay in between, "life" also reboots and upgrades,
"use" covers what people do with them and what happens to machines.

LAGTRAP_BUILD_DIR is the build directory; the test "packages" puts our packages into its folder
"packages". Exits with 0, with 1 and a reason, or with 77 and a reason if no machine can be made.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import image
from findings import check_doctor, check_recording, data
from host_server import HostCollector, HostServer
from machine import STEPS, Machine, MachineFailure, say

BUILD = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", "build/ci")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
WALK = "From the package to the first bundle over the network"
EVENT = "work"  # as in the settings of steps/lib.sh
SLEEP_SECONDS = 12
OLD_VERSION = "0.0.9"
# Maximum exposure of each service, by systemd-analyze's score.
MOST_EXPOSED = {"lagtrapd": 3.5, "lagtrap-uploader": 1.5, "lagtrap-server": 1.5}
TOOLS = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "dpkg-scanpackages", "openssl")


class Stopwatch:
    """Prints how long each step took."""

    def __init__(self):
        self.last = self.begin = time.monotonic()

    def lap(self, what):
        now = time.monotonic()
        say(f"== {now - self.last:6.1f} s  {what}")
        self.last = now


def packages():
    found = [
        path
        for path in sorted((BUILD / "packages").glob("lagtrap*.deb"))
        if "-dbgsym" not in path.name
    ]
    if len(found) != 5:
        raise MachineFailure(
            f"{BUILD}/packages has {len(found)} packages; "
            'expected 5. The test "packages" makes them'
        )
    return found


def blocks_of(section):
    """The commands that docs/server.md gives in that section."""
    page = (SOURCE / "docs" / "server.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {section}$(.*?)^## ", page, re.M | re.S)
    if not found:
        raise MachineFailure(f'docs/server.md has no section "{section}"')
    return re.findall(r"^```\n(.*?)^```$", found.group(1), re.M | re.S)


def scan(folder):
    with open(folder / "Packages", "wb") as listing:
        subprocess.run(
            ["dpkg-scanpackages", "--multiversion", "."],
            cwd=folder,
            check=True,
            stdout=listing,
            stderr=subprocess.DEVNULL,
        )


def as_older(package, folder):
    """The same package under an older version's number, in `folder`."""
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name) / "tree"
        subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
        control = tree / "DEBIAN" / "control"
        version = subprocess.run(
            ["dpkg-deb", "-f", package, "Version"], check=True, capture_output=True, text=True
        ).stdout.strip()
        text = control.read_text()
        control.write_text(
            re.sub(r"(?m)^Version: .*$", f"Version: {OLD_VERSION}", text).replace(
                f"(= {version})", f"(= {OLD_VERSION})"
            )
        )
        subprocess.run(
            ["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", tree, folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return version


def add_older(materials):
    """The same packages under an older version's number; returns the version of the others."""
    (materials / "old").mkdir()
    for package in packages():
        version = as_older(package, materials / "old")
    scan(materials / "old")
    return version


def gather(folder, server):
    """Fills the folder that the machine can see with packages and steps."""
    (folder / "new").mkdir()
    for package in packages():
        shutil.copy(package, folder / "new")
    scan(folder / "new")
    shutil.copytree(STEPS, folder / "steps")
    shutil.copy(BUILD / "examples" / "planted_delays", folder / "planted_delays")
    shutil.copy(server.folder / "ca.pem", folder / "ca.pem")
    for name, block in zip(("walk_server", "walk_machine"), blocks_of(WALK), strict=True):
        (folder / name).write_text(block)


def wait_for_bundles(server, count, seconds=600):
    deadline = time.monotonic() + seconds
    while True:
        bundles = [bundle for bundle in server.bundles() if bundle["parsed"]]
        if len(bundles) >= count:
            return bundles
        if time.monotonic() > deadline:
            raise MachineFailure(
                f"the server in the network has {len(bundles)} bundles; expected {count}"
            )
        time.sleep(0.5)


def wait_for_slept_run(server, seconds=300):
    deadline = time.monotonic() + seconds
    while True:
        for run in server.get(f"/api/v1/events/{EVENT}/runs?dirty=1")["runs"]:
            if run["dirty"] and run["dirty"]["reason"] == "the machine slept":
                return run
        if time.monotonic() > deadline:
            raise MachineFailure("the server has no run of which is said that the machine slept")
        time.sleep(0.5)


def check_exposure(lines):
    scores = {
        name: float(score)
        for name, score in re.findall(r"^exposure (\S+) (\S+)$", "\n".join(lines), re.M)
    }
    if scores.keys() != MOST_EXPOSED.keys():
        raise MachineFailure(
            f"exposure is said of {sorted(scores)}; expected {sorted(MOST_EXPOSED)}"
        )
    for name, most in MOST_EXPOSED.items():
        if scores[name] > most:
            raise MachineFailure(
                f"{name} has an exposure of {scores[name]}; at most {most} is allowed"
            )


def begin(machine, packages_folder, watch):
    """From the first boot to the first delay."""
    machine.wait_for_boot()
    watch.lap("booted")
    machine.run("install", packages_folder)
    watch.lap("installed with apt")
    check_doctor(machine.name, machine.run("doctor"), "missing")
    watch.lap("examined before the daemon runs")
    for line in machine.run("first_event"):
        if line.startswith("to the first armed event"):
            say(f"  {line}")
    watch.lap(
        "settings edited, switched on, a delay recorded and found on the server of the same machine"
    )
    check_doctor(machine.name, machine.run("doctor"), "ok")
    watch.lap("examined beside the daemon")
    machine.run("why")
    watch.lap("a command explained by the daemon as its unit confines it")
    check_exposure(machine.run("security"))
    watch.lap("exposure of the services")


def explain_slow_runs(machine, watch):
    for line in machine.run("watch"):
        if " took " in line:
            say(f"  {line}")
    watch.lap("slow runs explained by it as they happened, also for a user with the right to trace")


def install(machine, _, __, watch):
    """From installation to a delay, and removal."""
    begin(machine, "/mnt/new", watch)
    explain_slow_runs(machine, watch)
    for line in machine.run("ask"):
        say(f"  {line}")
    watch.lap("somebody at a terminal asked whether to keep a recording, and answered")
    leave(machine, watch)


def live(machine, _, version, watch):
    """The life of our packages in a machine."""
    begin(machine, "/mnt/old", watch)
    machine.run("before_reboot")
    machine.reboot()
    watch.lap("rebooted with a bundle in the spool")
    machine.run("after_reboot", "2")
    watch.lap("up by itself; the bundle in the spool arrived, and a new one")
    machine.run("before_upgrade")
    machine.run("upgrade", "/mnt/new", version, "4")
    watch.lap(f"upgraded from {OLD_VERSION} to {version} with a bundle in the spool")
    leave(machine, watch)


def use(machine, server, _, watch):
    """Everyday use of the installed packages, and unusual conditions."""
    begin(machine, "/mnt/new", watch)
    explain_slow_runs(machine, watch)
    machine.run("calls")
    watch.lap("calls of a function of a running program shown")
    machine.run("add_unit")
    watch.lap("an event added for a unit by lagtrap add, which watches that unit alone")
    machine.run("reload")
    watch.lap("reloaded good and bad settings")
    machine.run("send_away", server.url, server.upload_token)
    bundles = wait_for_bundles(server, 1)
    say(
        f"  on the server in the network: {bundles[0]['digest'][:16]}, {bundles[0]['delays']} "
        "delays"
    )
    watch.lap("a delay found on the server in the network, over TLS")
    send_spans(machine, watch)
    suffer(machine, server, watch)
    machine.run("walk_through")
    watch.lap("a server with TLS and a machine that uploads to it set up as docs/server.md says")
    leave(machine, watch)


def send_spans(machine, watch):
    """Delays go to a collector, sent by the uploader as systemd confines it."""
    with HostCollector() as collector:
        machine.run("spans", collector.url)
        if not collector.requests:
            raise MachineFailure(
                "the uploader says that spans were delivered; the collector has none"
            )
        for path, kind, body in collector.requests:
            if (
                (path, kind) != ("/v1/traces", "application/x-protobuf")
                or b"planted_delays" not in body
                or b"lagtrap.causes" not in body
            ):
                raise MachineFailure(f"the collector got {kind} at {path}: {body[:300]}")
    watch.lap("a delay found as a span at a collector in the network")


def suffer(machine, server, watch):
    """Changes of the machine: sleep, and CPUs that come and go."""
    with machine.woken_after(SLEEP_SECONDS):
        lines = machine.run("sleep")
    check_recording(*data(lines, "report"), *data(lines, "planted"))
    run = wait_for_slept_run(server)
    say(
        f"  the run that slept, on the server: {run['duration_ns'] / 1e6:.0f} ms, "
        f"{run['dirty']['reason']}"
    )
    watch.lap("slept in the middle of a run, woken; a delay recorded afterwards")
    lines = machine.run("cpus")
    afterwards, meanwhile = data(lines, "report")
    first, second, third = data(lines, "planted")
    check_recording(afterwards, first)
    check_recording(meanwhile, second, third, gap="CPU 1, which went offline and came back")
    watch.lap("a CPU switched off and on, between recordings and in one")


def leave(machine, watch):
    machine.run("remove")
    watch.lap("removed and purged")


def main():
    name, part = sys.argv[1:]
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        print(
            "skipped: "
            + (
                f"not installed: {', '.join(missing)}; ./dev setup installs them"
                if missing
                else "the disk of a machine is made by root"
            )
        )
        return 77
    watch = Stopwatch()
    folder, made = image.get(name, packages(), prepared=part == "install")
    watch.lap("disk made" if made else "disk from the cache")
    with HostServer() as server, tempfile.TemporaryDirectory() as temporary:
        materials = pathlib.Path(temporary)
        gather(materials, server)
        version = add_older(materials) if part == "life" else ""
        watch.lap("packages gathered")
        with Machine(name, folder, materials) as machine:
            {"install": install, "life": live, "use": use}[part](machine, server, version, watch)
    say(f"== {time.monotonic() - watch.begin:6.1f} s in all: {part} of our packages in {name}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MachineFailure, RuntimeError, subprocess.CalledProcessError) as failure:
        say(f"FAILED: {failure}")
        sys.exit(1)
