"""Events of units, control groups and containers: whose runs count, and what is reported if that
is unknown."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from control_groups import command_in, group
from run_batches import read_spool

from lagtrap_test import (
    LAGTRAP,
    PLANTED,
    Daemon,
    Watched,
    check,
    check_trace,
    report,
    run,
    wait_for,
)

FAST = ("--kind", "cpu", "--fast", "50", "--slow-ms", "1", "--wait")
RUNS = 101  # of a program started with these options
SOMEBODY = 64001  # a user that no machine knows
ID = "0123456789ab" + f"{os.getpid():052x}"  # unique
OTHER_ID = "ba9876543210" + f"{os.getpid():052x}"


def work_in(folder):
    """All runs of a program that is in this group from its first instruction."""
    with Watched(*command_in(folder, PLANTED, *FAST)) as program:
        program.go().result()


def event(scope):
    return (
        f'<event name="work" threshold="10s" trace-length="1s"><scope {scope}/>'
        f'<library binary="{PLANTED.resolve()}"/></event>'
    )


def work(daemon):
    return daemon.status()["events"][0]


def shown(daemon):
    return subprocess.run(
        [LAGTRAP, "status", "--socket", daemon.socket_path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def scoped(daemon, groups):
    wait_for(
        lambda: work(daemon)["scope_groups"]["groups"] == groups,
        f"{groups} groups to be in the scope",
    )


def state_of(folder, file, state):
    folder.mkdir(parents=True)
    (folder / file).write_text(json.dumps(state))


@contextlib.contextmanager
def docker_says(container, name, image, labels):
    """As docker stores it for a container."""
    folder = pathlib.Path("/var/lib/docker/containers") / container
    made = next(parent for parent in [folder, *folder.parents] if parent.parent.exists())
    state_of(
        folder,
        "config.v2.json",
        {"ID": container, "Name": f"/{name}", "Config": {"Image": image, "Labels": labels}},
    )
    try:
        yield
    finally:
        shutil.rmtree(made)


def of_a_unit():
    """Existing groups, and one created later; a group inside a unit's group belongs to the unit."""
    with group("app.slice", "web.service") as unit, group(
        "app.slice", "other.service"
    ) as other, Daemon(event('unit="web"')) as daemon:
        scoped(daemon, 1)
        work_in(unit)
        work_in(other)
        check(
            (work(daemon)["runs"], work(daemon)["out_of_scope"]) == (RUNS, 2 * RUNS), work(daemon)
        )
        with group("app.slice", "web.service", "inside") as inside:
            scoped(daemon, 2)
            work_in(inside)
        scoped(daemon, 1)
        check(
            (work(daemon)["runs"], work(daemon)["out_of_scope"]) == (2 * RUNS, 2 * RUNS),
            work(daemon),
        )


def a_users_group_is_no_unit():
    """Users create groups with any names below those that a manager gave them; a user named by
    the scope may have units there."""
    markers = '<begin usdt="lagtrap:work__begin"/><end usdt="lagtrap:work__end"/>'
    theirs = (
        f'<event name="theirs" threshold="10s" trace-length="1s" binary="{PLANTED.resolve()}">'
        f'<scope unit="web" user="{SOMEBODY}"/>{markers}</event>'
    )
    events = event('unit="web"') + theirs
    with group("app.slice", "web.service") as unit, group("manager") as manager:
        os.chown(manager, SOMEBODY, SOMEBODY)
        with group("manager", "web.service") as forged, Daemon(events) as daemon:
            scoped(daemon, 1)
            check(daemon.event("theirs")["scope_groups"]["groups"] == 2, daemon.event("theirs"))
            work_in(forged)
            work_in(unit)
            check(
                (work(daemon)["runs"], work(daemon)["out_of_scope"]) == (RUNS, 2 * RUNS),
                work(daemon),
            )


def of_a_control_group():
    with Daemon(event('control-group="/lagtrap-test-*/batch/*"')) as daemon:
        check("no unit or container matches its scope now" in shown(daemon), shown(daemon))
        with group("batch", "a") as a, group("batch", "b", "below") as b, group("night") as night:
            scoped(daemon, 3)
            for folder in (a, b, night):
                work_in(folder)
            check(
                (work(daemon)["runs"], work(daemon)["out_of_scope"]) == (2 * RUNS, 2 * RUNS),
                work(daemon),
            )
        scoped(daemon, 0)


def of_a_container():
    """By docker's own files, which may appear after the group; a container known only by its id
    is reported."""
    scopes = {
        'container="shop"': True,
        'container="sho*"': True,
        f'container="{ID[:12]}"': True,
        'container="bank"': False,
        'image="registry.example:5000/team/shop:7"': True,
        'image="shop"': True,
        'image="*/team/*"': True,
        'image="redis"': False,
        'label="tier=front"': True,
        'label="tier=f*"': True,
        'label="tier=back"': False,
        'label="missing=*"': False,
        'image="shop" label="tier=front" unit="docker-*.scope"': True,
    }
    markers = '<begin usdt="lagtrap:work__begin"/><end usdt="lagtrap:work__end"/>'
    events = "".join(
        f'<event name="of-{number}" threshold="10s" trace-length="1s" binary="{PLANTED.resolve()}">'
        f"<scope {scope}/>{markers}</event>"
        for number, scope in enumerate(scopes)
    )
    with group("system.slice", f"docker-{ID}.scope") as folder, Daemon(events) as daemon:

        def states():
            return zip(scopes, daemon.status()["events"], strict=True)

        for scope, state in states():
            check(state["scope_groups"]["groups"] == 0 or ID[:12] in scope, f"{scope}: {state}")
        with docker_says(ID, "shop", "registry.example:5000/team/shop:7", {"tier": "front"}):
            wait_for(
                lambda: all(
                    state["scope_groups"]["groups"] == int(scopes[scope])
                    for scope, state in states()
                ),
                "the groups to be in the scopes that mean them",
            )
            wait_for(
                lambda: not any(state["scope_groups"]["not_known"] for _, state in states()),
                "the container to be known",
            )
            work_in(folder)
        for scope, state in states():
            check(state["runs"] == (RUNS if scopes[scope] else 0), f"{scope}: {state}")


def reports_name_units_and_containers():
    """Of the delayed program and of what took its CPU: in the text, as JSON, in the system file."""
    # It ends when its input does, after lagtrapd has read its group.
    hog = (
        "import sys, time\nprint(flush=True)\nsys.stdin.readline()\nend = time.monotonic() + 0.3\n"
        "while time.monotonic() < end: pass\nsys.stdin.read()"
    )
    urgent = (
        ["chrt", "-f", "40"]
        if subprocess.run(["chrt", "-f", "40", "true"], capture_output=True).returncode == 0
        else []
    )

    def enter(folder):
        return ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$0" "$@"']

    slow = (
        '<event name="work" threshold="60ms" trace-length="1s" record="runs">'
        f'<library binary="{PLANTED.resolve()}"/></event>'
    )
    with group("system.slice", f"docker-{ID}.scope") as web, group(
        "system.slice", "backup.service"
    ) as backup, docker_says(ID, "web", "team/web:7", {}), Daemon(
        slow, more='<runs batch-interval="100ms"/>'
    ) as daemon:
        with Watched(
            *enter(web),
            "taskset",
            "-c",
            "0",
            PLANTED,
            "--kind",
            "cpu",
            "--fast",
            5,
            "--slow-ms",
            900,
            "--wait",
        ) as program, subprocess.Popen(
            [*enter(backup), *urgent, "taskset", "-c", "0", sys.executable, "-c", hog],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as taken:
            check(taken.stdout.readline() == b"\n", "who takes the CPU did not start")
            program.go()
            wait_for(
                lambda: daemon.status()["state"] == "recording",
                "the recording that the run's deadline begins",
            )
            taken.stdin.write(b"\n")
            taken.stdin.flush()
            program.result()
            bundle = daemon.wait_for_bundles(1)[0]
        told = report(bundle)
        delay = max(told["delays"], key=lambda one: one["duration_ns"])
        whole = f"container {ID[:12]} (docker), web, image team/web:7"
        check(delay["unit"] == whole, f"the delay's unit is {delay['unit']!r}")
        holders = [
            holder
            for part in delay["cause"]["parts"]
            for holder in (part.get("cpu") or {}).get("holders", [])
        ]
        check(
            any(
                holder["pid"] == taken.pid and holder["unit"] == "backup.service"
                for holder in holders
            ),
            f"{delay['cause']}",
        )
        if urgent:
            check(
                any(
                    f"({taken.pid}, real-time priority 40, backup.service)" in sentence
                    for sentence in delay["cause"]["sentences"]
                ),
                f"{delay['cause']['sentences']}",
            )
        units = {process["pid"]: process["unit"] for process in told["machine"]["processes"]}
        check(units.get(program.process.pid) == "container web", f"{units}")
        text = subprocess.run(
            [LAGTRAP, "report", bundle],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": "200"},
        ).stdout
        check(whole in text and f"({taken.pid}, backup.service)" in text, text)
        check_trace(bundle)

        def units_of_runs():
            return {
                one["unit"]
                for batch in read_spool(daemon.spool)
                for one in batch["runs"]
                if one["pid"] == program.process.pid
            }

        wait_for(lambda: units_of_runs() == {"container web"}, "its runs to name the container")


def not_known():
    with group(f"docker-{ID}.scope") as folder, Daemon(event('image="shop"')) as daemon:
        check(work(daemon)["scope_groups"]["not_known"] == {"image": 1}, work(daemon))
        check(
            "1 container is not in its scope: the container manager's files lack the image"
            in shown(daemon),
            shown(daemon),
        )
        work_in(folder)
        check(work(daemon)["runs"] == 0, work(daemon))


def of_a_pod():
    """As containerd stores it for Kubernetes: pod and namespace, but not the pod's labels."""
    bundle = pathlib.Path("/run/containerd/io.containerd.runtime.v2.task/k8s.io") / ID
    made = next(parent for parent in [bundle, *bundle.parents] if parent.parent.exists())
    notes = {
        "io.kubernetes.cri.container-name": "api",
        "io.kubernetes.cri.sandbox-name": "shop-7d4f",
        "io.kubernetes.cri.sandbox-namespace": "prod",
        "io.kubernetes.cri.image-name": "docker.io/team/shop:7",
    }
    with group(
        "kubepods.slice", "kubepods-besteffort.slice", f"cri-containerd-{ID}.scope"
    ) as folder:
        state_of(bundle, "config.json", {"ociVersion": "1.0.2", "annotations": notes})
        try:
            for scope, is_meant in {
                'pod="shop-*" namespace="prod"': True,
                'namespace="test"': False,
                'container="api"': True,
            }.items():
                with Daemon(event(scope)) as daemon:
                    scoped(daemon, 1 if is_meant else 0)
                    work_in(folder)
                    check(
                        work(daemon)["runs"] == (RUNS if is_meant else 0),
                        f"{scope}: {work(daemon)}",
                    )
            with Daemon(event('label="app=shop"')) as daemon:
                check(work(daemon)["scope_groups"]["not_known"] == {"labels": 1}, work(daemon))
        finally:
            shutil.rmtree(made)


def hostile_state():
    """A container's files may contain anything."""
    folder = pathlib.Path("/var/lib/docker/containers") / ID
    made = next(parent for parent in [folder, *folder.parents] if parent.parent.exists())
    folder.mkdir(parents=True)
    try:
        for content in (
            b"",
            b"[" * 100_000,
            b'{"Name": 7, "Config": []}',
            b"\xff" * 1000,
            b'{"Config": {"Image": "' + b"a" * 5_000_000,
        ):
            (folder / "config.v2.json").write_bytes(content)
            with group(f"docker-{ID}.scope"), Daemon(event('image="shop"')) as daemon:
                check(work(daemon)["scope_groups"]["not_known"] == {"image": 1}, work(daemon))
                check(
                    daemon.status()["file_readers"]["last_problem"] == ""
                    if "file_readers" in daemon.status()
                    else True,
                    daemon.status(),
                )
    finally:
        shutil.rmtree(made)


if __name__ == "__main__":
    run(
        reports_name_units_and_containers,
        of_a_unit,
        a_users_group_is_no_unit,
        of_a_control_group,
        of_a_container,
        not_known,
        of_a_pod,
        hostile_state,
    )
