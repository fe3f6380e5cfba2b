"""lagtrapd in a container from an image of our packages, with the options of
packaging/container/compose.yaml: it records a delay of a program outside and one of a program in
another container.

LAGTRAP_BUILD_DIR is the build directory; the test "packages" puts our packages into its folder
"packages". Exits with 0, with 1 and a reason, or with 77 and a reason if podman cannot run.
"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

import image
from machine import MachineFailure, say

BUILD = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", "build/ci")).resolve()
PLACE = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "container"
PROGRAM = "/opt/lagtrap-placed/placed_delays"
LINK = "/opt/lagtrap-placed/link"  # leads astray in the daemon's own root folder
IMAGE, PROGRAM_IMAGE, BASE_IMAGE = (
    "localhost/lagtrap-test",
    "localhost/lagtrap-test-program",
    "localhost/lagtrap-test-base",
)
DAEMON, BOX = "lagtrap-test-daemon", "lagtrap-test-box"
SETTINGS = f"""<lagtrap version="1">
  <recording cool-down="100ms" captures-per-hour="1000"/>
  <event name="work" threshold="100ms" trace-length="1s"><library binary="{PROGRAM}"/></event>
  <event name="linked" threshold="1h" trace-length="1s">
    <function name="planted_cpu_burn" binary="{LINK}"/></event>
  <event name="boxed" threshold="1h" trace-length="1s">
    <scope container="{BOX}"/><function name="planted_lock_wait" binary="{PROGRAM}"/>
  </event>
</lagtrap>
"""
CAP_SYS_RESOURCE = 24


def check(condition, message):
    if not condition:
        raise MachineFailure(message)


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        check(time.monotonic() < deadline, f"waited {seconds} s in vain for {what}")
        time.sleep(0.1)
    return value


def may_raise_limits():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("CapEff:")[1].split()[0], 16) >> CAP_SYS_RESOURCE & 1


def podman_command():
    """If control groups of version 1 are mounted, podman gets its own mount namespace in which
    they are of version 2."""
    command = ["podman", "--cgroup-manager=cgroupfs"]
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return command
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"',
        "sh",
        *command,
    ]


def podman(*arguments, **options):
    options = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "timeout": 300,
        **options,
    }
    return subprocess.run([*podman_command(), *map(str, arguments)], text=True, **options)


def podman_or_fail(*arguments, **options):
    done = podman(*arguments, **options)
    check(
        done.returncode == 0,
        f"podman {' '.join(map(str, arguments))} ended with {done.returncode}: "
        f"{(done.stdout or '')[-2000:]}{done.stderr[-2000:]}",
    )
    return done.stdout.strip()


def limits(wanted):
    """Options for resource limits: as wanted, as far as this machine lets them be set."""
    hard = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    options = []
    if not may_raise_limits():
        wanted = {"nproc": 32768, "nofile": 65536, **wanted}
        wanted = {
            name: min(value, resource.getrlimit(hard[name])[1]) for name, value in wanted.items()
        }
        say(f"this machine lets nobody raise limits: {wanted}")
    for name, value in wanted.items():
        options.append(f"--ulimit={name}={value}:{value}")
    return options


def group_limits(service):
    groups = podman_or_fail("info", "--format", "{{.Host.CgroupControllers}}")
    options = []
    for key, controller, option in (
        ("mem_limit", "memory", "--memory"),
        ("pids_limit", "pids", "--pids-limit"),
    ):
        value = service.pop(key, None)
        if controller in groups:
            options += [f"{option}={value}"] if value else []
        else:
            say(f"this machine has no controller for {key}: left out")
            options += ["--pids-limit=0"] if controller == "pids" else []
    return options


def runtime():
    """crun fails if it may not lock unlimited memory."""
    return [] if may_raise_limits() else ["--runtime=runc"]


def daemon_options(folder):
    """The service's options in compose.yaml as options of podman; writable host paths are in
    `folder`."""
    service = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]["lagtrapd"]
    own = {"/etc/lagtrap": folder / "etc", "/var/lib/lagtrap": folder / "lib"}
    options = group_limits(service) + limits(service.pop("ulimits"))
    for key, option in (
        ("pid", "pid"),
        ("cgroup", "cgroupns"),
        ("uts", "uts"),
        ("network_mode", "network"),
    ):
        options.append(f"--{option}={service.pop(key)}")
    for key, option in (
        ("cap_drop", "cap-drop"),
        ("cap_add", "cap-add"),
        ("security_opt", "security-opt"),
        ("tmpfs", "tmpfs"),
    ):
        options += [f"--{option}={value}" for value in service.pop(key)]
    for volume in service.pop("volumes"):
        source, rest = volume.split(":", 1)
        options.append(f"--volume={own.get(source, source)}:{rest}")
    if service.pop("read_only"):
        options.append("--read-only")
    for about_composing in (
        "image",
        "container_name",
        "restart",
        "stop_grace_period",
        "healthcheck",
    ):
        service.pop(about_composing)
    check(not service, f"compose.yaml has {list(service)}, which this test does not know")
    return options


def check_manifest():
    """The Kubernetes manifest has the options tested here."""
    service = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]["lagtrapd"]
    documents = list(yaml.safe_load_all((PLACE / "daemonset.yaml").read_text()))
    pod = next(document for document in documents if document["kind"] == "DaemonSet")["spec"][
        "template"
    ]["spec"]
    container = pod["containers"][0]
    added = set(container["securityContext"]["capabilities"]["add"])
    check(added == set(service["cap_add"]), f"capabilities: {sorted(added)}")
    check("privileged" not in container["securityContext"] and pod["hostPID"], pod)
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    expected = (
        {volume.split(":")[1] for volume in service["volumes"]}
        | set(service["tmpfs"])
        | {"/sys/fs/cgroup"}
    )
    check(mounted == expected, f"mounts: {sorted(mounted)}; expected {sorted(expected)}")


def base_tar(packages):
    """A root folder of plain Debian with what our packages need, kept in the cache folder."""
    dependencies = [part for part in image.dependencies_of(packages) if "systemd-" not in part]
    include = "systemd-standalone-sysusers,libstdc++6"
    target = (
        image.cache_folder()
        / "container"
        / f"base-{image.hashlib.sha256(repr(dependencies).encode()).hexdigest()[:16]}.tar"
    )
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "sources").write_text(image.sources_of("bookworm"))
        install = (
            'printf "%s\\n" "$DEPENDENCIES" | chroot "$1" xargs -d "\\n" apt-get -y '
            "--no-install-recommends satisfy"
        )
        done = subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=minbase",
                f"--include={include}",
                "--dpkgopt=force-unsafe-io",
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                "--dpkgopt=path-exclude=/usr/share/locale/*",
                *image.apt_proxies(),
                f"--customize-hook={install}",
                '--customize-hook=rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*',
                "bookworm",
                folder / "base.tar",
                folder / "sources",
            ],
            env={**os.environ, "DEPENDENCIES": "\n".join(dependencies), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        check(
            done.returncode == 0, f"mmdebstrap ended with {done.returncode}:\n{done.stdout[-3000:]}"
        )
        shutil.move(folder / "base.tar", target)
    return target


def build_images(folder):
    packages = [
        found
        for name in ("lagtrap", "lagtrapd", "lagtrap-uploader")
        for found in (BUILD / "packages").glob(f"{name}_*.deb")
    ]
    check(len(packages) == 3, f'{BUILD}/packages lacks packages. The test "packages" makes them')
    podman_or_fail("import", base_tar(packages), BASE_IMAGE)
    # Without a container for each step, which crun cannot start on a machine that does not allow
    # raising limits.
    build = ("build", "--isolation=chroot", "--network=host", "--build-arg", f"BASE={BASE_IMAGE}")
    podman_or_fail(*build, "--tag", IMAGE, "--file", PLACE / "Containerfile", BUILD / "packages")
    (folder / "program").mkdir()
    shutil.copy(BUILD / "examples" / "planted_delays", folder / "program" / "placed_delays")
    (folder / "program" / "Containerfile").write_text(
        f"FROM {BASE_IMAGE}\nCOPY placed_delays {PROGRAM}\n"
    )
    podman_or_fail(*build[:3], "--tag", PROGRAM_IMAGE, folder / "program")


def remove_groups():
    """Control groups of ended containers: podman leaves them without a group manager, and other
    tests would count them."""
    for hierarchy in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for folder, _, _ in os.walk(os.path.join(hierarchy, "libpod_parent"), topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def remove_all():
    podman("rm", "--force", "--time=5", DAEMON, BOX)
    podman("rmi", "--force", IMAGE, PROGRAM_IMAGE, BASE_IMAGE)
    shutil.rmtree(os.path.dirname(PROGRAM), ignore_errors=True)
    remove_groups()


def lagtrap(*arguments):
    return podman_or_fail("exec", DAEMON, "lagtrap", *arguments)


def event(name):
    return next(
        found
        for found in json.loads(lagtrap("status", "--json"))["events"]
        if found["name"] == name
    )


def delay_of(folder, command, kind, pause_for):
    """Starts `command`, tells it to go once it is watched, and returns the report of the bundle
    that results."""
    before = set((folder / "lib/spool/ready").glob("*.zst"))
    with subprocess.Popen(
        [*map(str, command), "--kind", kind, "--fast", "5", "--slow-ms", "400", "--wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        check(program.stdout.readline() == "ready\n", "the program did not start")
        wait_for(pause_for, "the program to be watched")
        program.stdin.write("go\n")
        program.stdin.flush()
        made = wait_for(
            lambda: set((folder / "lib/spool/ready").glob("*.zst")) - before,
            "a bundle in the spool",
        )
        program.communicate(timeout=60)
    return json.loads(
        lagtrap("report", "--json", f"/var/lib/lagtrap/spool/ready/{made.pop().name}")
    )


def check_delay(report, function):
    delay = report["delays"][0]
    check(delay["event"] == "work" and delay["program"] == PROGRAM, delay)
    named = {found["name"] for found in delay["functions"]}
    check(
        any(function in name for name in named), f"functions: {sorted(named)}; expected {function}"
    )
    check("main" in json.dumps(delay["stacks"]), "the stacks do not reach the program's main")
    check(
        report["host"] == os.uname().nodename and "Debian" in report["os"],
        f"{report['host']}, {report['os']}",
    )
    return delay


def record(folder):
    podman_or_fail(
        *runtime(), "run", "--detach", f"--name={DAEMON}", *daemon_options(folder), IMAGE
    )
    log = lambda: podman("logs", DAEMON, stderr=subprocess.STDOUT).stdout
    try:
        wait_for(
            lambda: podman("exec", DAEMON, "lagtrap", "status").returncode == 0,
            "the daemon to answer",
            30,
        )
        wait_for(
            lambda: json.loads(lagtrap("status", "--json"))["arming"] is None,
            "the events to be armed",
            30,
        )
        check(event("work")["armed"], event("work"))
        doctor = podman("exec", DAEMON, "lagtrap", "doctor").stdout
        check("Everything that lagtrap needs is available." in doctor, doctor)

        outside = delay_of(folder, [PROGRAM], "cpu", lambda: event("work")["processes"] == 1)
        check_delay(outside, "spin")
        check(event("linked")["runs"] == 1, event("linked"))

        boxed = [
            *podman_command(),
            *runtime(),
            "run",
            "--interactive",
            "--rm",
            f"--name={BOX}",
            "--network=none",
            *limits({}),
            *([] if may_raise_limits() else ["--pids-limit=0"]),
            PROGRAM_IMAGE,
            PROGRAM,
        ]
        inside = check_delay(
            delay_of(
                folder,
                boxed,
                "lock",
                lambda: event("work")["processes"] == 1
                and event("boxed")["scope_groups"]["groups"] >= 1,
            ),
            "wait_for_mutex",
        )
        check(BOX in inside["unit"], inside["unit"])
        check(
            any("spin" in json.dumps(waker) for waker in inside["wakers"]),
            "who held the lock is not named",
        )
        check(BOX in lagtrap("report"), "the text of the report does not name the container")
        check(event("boxed")["runs"] == 1, event("boxed"))
        mode = (folder / "lib/spool/ready").stat()
        check(
            (mode.st_mode & 0o7777, mode.st_gid) == (0o775, 481),
            "the uploader's group may not change the spool",
        )
    except Exception:
        say(
            "--- log of the daemon\n"
            + log()
            + "--- status\n"
            + podman("exec", DAEMON, "lagtrap", "status").stdout
            + "---"
        )
        raise


def main():
    if os.geteuid() != 0 or not shutil.which("podman") or not shutil.which("mmdebstrap"):
        say("skipped: it takes root, podman and mmdebstrap")
        return 77
    begun = time.monotonic()
    remove_all()
    with tempfile.TemporaryDirectory(prefix="lagtrap-container-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for part in ("etc", "lib"):
            (folder / part).mkdir()
        (folder / "etc/settings.xml").write_text(SETTINGS)
        os.makedirs(os.path.dirname(PROGRAM))
        shutil.copy(BUILD / "examples" / "planted_delays", PROGRAM)
        os.symlink(PROGRAM, LINK)
        try:
            check_manifest()
            build_images(folder)
            say(f"{time.monotonic() - begun:.1f} s  images")
            record(folder)
        finally:
            remove_all()
    say(f"{time.monotonic() - begun:.1f} s  all")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MachineFailure as failure:
        say(f"FAILED: {failure}")
        sys.exit(1)
