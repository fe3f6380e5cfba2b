"""One event for every copy of a program: in containers of one image, of another, under another
path."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cases"))
from case import World  # noqa: E402  (the path is set above)
from containers import Container, Image  # noqa: E402
from lagtrap_test import LAGTRAP, PLANTED, Daemon, check, report, run, wait_for  # noqa: E402
from servers import Redis  # noqa: E402

# A name of its own: patterns would match the same program of other tests.
NAME = f"planted_copies_{os.getpid()}"
PROGRAM = f"/opt/lagtrap-test-{os.getpid()}/{NAME}"
FAST = ("--kind", "cpu", "--fast", "50", "--slow-ms", "1", "--wait")
RUNS = 101  # of a program started with these options: the slow one has 50 on each side


def event(binary, more="", attributes=""):
    return (
        f'<event name="work" threshold="10s" trace-length="1s" {attributes}>{more}'
        f'<library binary="{binary}"/></event>'
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


def looked_at(daemon, number):
    """The copies, once there are this many and each was watched or refused."""
    copies = work(daemon)["copies"]
    return (
        len(copies) == number
        and not any(copy["problem"] == "waiting for its turn" for copy in copies)
        and copies
    )


class OnMachine:
    """The program under the same path outside containers."""

    def __enter__(self):
        os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
        shutil.copy(PLANTED, PROGRAM)

    def __exit__(self, *_):
        shutil.rmtree(os.path.dirname(PROGRAM), ignore_errors=True)


def every_container():
    """Two containers of one image and one of another, found while they wait: each run of each
    counts once."""
    with OnMachine(), Image({PROGRAM: PLANTED}) as one, Image({PROGRAM: PLANTED}) as other:
        with Daemon(event(PROGRAM)) as daemon:
            check((work(daemon)["files"], work(daemon)["processes"]) == (1, 0), work(daemon))
            with Container(one, PROGRAM, *FAST) as a, Container(
                one, PROGRAM, *FAST
            ) as b, Container(other, PROGRAM, *FAST) as c:
                # The first two share a layer, and so one file.
                found = wait_for(
                    lambda: work(daemon)["processes"] == 3 and work(daemon),
                    "three processes to be found",
                )
                check(found["files"] == 3 and len(found["copies"]) == 2, found)
                check(sorted(copy["processes"] for copy in found["copies"]) == [1, 2], found)
                check(
                    all(
                        copy["path"] == PROGRAM and not copy["problem"] for copy in found["copies"]
                    ),
                    found,
                )
                check(PROGRAM in shown(daemon), shown(daemon))
                for number, container in enumerate((a, b, c), 1):
                    container.go()
                    container.wait()
                    wait_for(
                        lambda: work(daemon)["runs"] >= RUNS * number, "the runs of the container"
                    )
                    check(work(daemon)["runs"] == RUNS * number, work(daemon))
            check(
                work(daemon)["unmatched_ends"] == work(daemon)["unmatched_begins"] == 0,
                work(daemon),
            )
            wait_for(
                lambda: work(daemon)["files"] == 1,
                "the copies that nobody has mapped any more to be left",
            )


def found_at_the_start():
    """Containers that run when the daemon starts, or when its settings are reloaded."""
    with Image({PROGRAM: PLANTED}) as image, Container(image, PROGRAM, *FAST) as first, Container(
        image, PROGRAM, *FAST
    ) as second:
        with Daemon(event(f"*/{NAME}")) as daemon:
            wait_for(lambda: work(daemon)["processes"] == 2, "the processes to be found")
            check(work(daemon)["files"] == 1, work(daemon))
            first.go()
            first.wait()
            wait_for(lambda: work(daemon)["runs"] == RUNS, "the runs of the first container")
            # Another name for the same program: existing mappings are known.
            daemon.write_settings(event(f"/opt/*/{NAME}", attributes='breach="end"'))
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(
                lambda: work(daemon)["breach"] == "end" and work(daemon)["processes"] == 1,
                "the process to be found",
            )
            second.go()
            second.wait()
            wait_for(
                lambda: work(daemon)["runs"] == 2 * RUNS, "the runs of the second container too"
            )


def by_build_id():
    notes = subprocess.run(
        ["readelf", "-n", PLANTED], capture_output=True, text=True, check=True
    ).stdout
    shared = bytes.fromhex(
        next(line.split()[-1] for line in notes.splitlines() if "Build ID" in line)
    )
    own = os.urandom(len(shared))  # other tests run the same program
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, NAME)
        program.write_bytes(PLANTED.read_bytes().replace(shared, own))
        program.chmod(0o755)
        watched_by_build_id(program, own.hex())


def watched_by_build_id(program, build_id):
    with Image({"/srv/renamed": program}) as image, Container(
        image, "/srv/renamed", *FAST
    ) as before:
        with Daemon(event(f"build-id:{build_id}")) as daemon:
            wait_for(lambda: work(daemon)["processes"] == 1, "the process of before to be found")
            with Container(image, "/srv/renamed", *FAST) as after:
                wait_for(lambda: work(daemon)["processes"] == 2, "the new process to be found")
                for container in (before, after):
                    container.go()
                    container.wait()
            wait_for(lambda: work(daemon)["runs"] == 2 * RUNS, "the runs of both")
            check(work(daemon)["files"] == 1, work(daemon))


def by_package():
    """The program that a package has installed, before and after the daemon's start; here by a
    link to another package's file."""
    settings = (
        '<event name="work" threshold="10s" trace-length="1s" binary="package:redis-server">'
        '<function name="call"/></event>'
    )
    with World() as before, World() as after:
        first = Redis(before)
        with Daemon(settings) as daemon:
            wait_for(
                lambda: work(daemon)["processes"] == 1, "the process that was there to be found"
            )
            second = Redis(after)
            wait_for(lambda: work(daemon)["processes"] == 2, "the new process to be found")
            runs = work(daemon)["runs"]
            for redis in (first, second):
                redis.ask("set", "key", "value")
            wait_for(lambda: work(daemon)["runs"] >= runs + 2, "a run of each")
            missing = daemon.settings_path.read_text().replace(
                "package:redis-server", "package:no-such-package"
            )
            (after.folder / "missing.xml").write_text(missing, encoding="utf-8")
            said = subprocess.run(
                [LAGTRAP, "check", after.folder / "missing.xml"],
                capture_output=True,
                text=True,
                check=False,
            )
            check(
                said.returncode == 3
                and 'there is no package "no-such-package"' in said.stdout + said.stderr,
                f"{said}",
            )


def by_another_name():
    """A program started through a link beside it is found by the link's name."""
    link = f"/opt/link_{NAME}"
    with Image({"/opt/real-name": PLANTED}) as image:
        os.symlink("real-name", image.folder + link)
        with Container(image, link, *FAST) as before, Daemon(event(f"*{link}")) as daemon:
            wait_for(lambda: work(daemon)["processes"] == 1, "the process of before to be found")
            with Container(image, link, *FAST) as after:
                wait_for(lambda: work(daemon)["processes"] == 2, "the new process to be found")
                for container in (before, after):
                    container.go()
                    container.wait()
            wait_for(lambda: work(daemon)["runs"] == 2 * RUNS, "the runs of both")


def another_path():
    """A container with the program elsewhere is not watched, and that is reported."""
    elsewhere = f"/srv/{NAME}"
    with OnMachine(), Image({elsewhere: PLANTED}) as image, Daemon(event(PROGRAM)) as daemon:
        with Container(image, elsewhere, *FAST) as container:
            namesake = wait_for(lambda: work(daemon)["namesake"], "the other file to be told")
            check((namesake["path"], namesake["pid"]) == (elsewhere, container.pid), namesake)
            text = shown(daemon)
            check(
                f'binary="*/{NAME}"' in text and f"{elsewhere} (process {container.pid}" in text,
                text,
            )
            container.go()
            container.wait()
        check(work(daemon)["runs"] == 0, work(daemon))


def none_wanted():
    with OnMachine(), Image({PROGRAM: PLANTED}) as image, Daemon(
        event(PROGRAM, attributes='copies="none"')
    ) as daemon:
        with Container(image, PROGRAM, *FAST) as container:
            wait_for(lambda: work(daemon)["namesake"], "the container's file to be seen")
            container.go()
            container.wait()
        check(work(daemon)["runs"] == 0, work(daemon))


def functions_of(daemon, kill):
    """The functions that the report names for a program in a container, which may be killed
    during the recording."""
    with Image({PROGRAM: PLANTED}) as image:
        with Container(
            image, PROGRAM, "--kind", "cpu", "--fast", "0", "--slow-ms", "2500", "--wait"
        ) as container:
            wait_for(lambda: work(daemon)["processes"] == 1, "the process to be found")
            container.go()
            wait_for(lambda: daemon.status()["state"] == "recording", "the recording")
            # Its stacks are walked once its code is known.
            wait_for(lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the tables")
            if kill:
                container.tear_down()
            else:
                container.wait()
    told = report(daemon.wait_for_bundles(1)[0])
    delay = told["delays"][0]
    check(delay["program"] == PROGRAM, delay)
    return {function["name"] for function in delay["functions"]}


def torn_down_in_a_recording():
    """A container that is gone when the recording is merged has names just like one that still
    runs."""
    for kill in (False, True):
        with Daemon(event("*" + PROGRAM).replace('"10s"', '"100ms"')) as daemon:
            functions = functions_of(daemon, kill)
            check("spin" in functions, f"killed: {kill}: {functions}")


def a_damaged_copy():
    """A copy that cannot be watched is reported with its path; the others are watched."""
    with tempfile.TemporaryDirectory() as folder:
        without = shutil.copy("/bin/sleep", folder)
        with Image({PROGRAM: without}) as bad, Image({PROGRAM: PLANTED}) as good, Daemon(
            event("*" + PROGRAM)
        ) as daemon:
            sleeper = "/bin/sh", "-c", f"echo ready; exec {PROGRAM} 1000"
            with Container(bad, *sleeper), Container(good, PROGRAM, *FAST) as container:
                found = wait_for(
                    lambda: looked_at(daemon, 2),
                    lambda: f"both files to be looked at: {work(daemon)}",
                )
                (problem,) = (copy["problem"] for copy in found if copy["problem"])
                check("lagtrap:work__" in problem and PROGRAM in problem, problem)
                check("is not watched" in shown(daemon), shown(daemon))
                container.go()
                container.wait()
            wait_for(lambda: work(daemon)["runs"] == RUNS, "the runs of the good copy")


def readers_at_work(daemon):
    """Readers that are reading something large: they have reported that they are ready, and are
    not finished."""
    found = []
    for children in pathlib.Path(f"/proc/{daemon.process.pid}/task").glob("*/children"):
        for pid in children.read_text().split():
            with contextlib.suppress(OSError):
                name, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)
                fields = rest.split()
                if name.endswith("(lagtrap-reader") and int(fields[11]) + int(fields[12]) >= 10:
                    found.append(int(pid))
    return found


def large_program(folder):
    """With 200,000 symbols, which keep a reader busy; it calls work() forever."""
    fillers = "".join(
        f".globl filler_{number}\n.type filler_{number},@function\nfiller_{number}: ret\n"
        for number in range(200_000)
    )
    (folder / "fillers.s").write_text(fillers + '.section .note.GNU-stack,"",@progbits\n')
    (folder / "main.c").write_text(
        "#include <unistd.h>\n__attribute__((noinline)) void work(void) { usleep(1000); }\n"
        "int main(void) { for (;;) work(); }\n"
    )
    program = folder / f"large-{NAME}"
    subprocess.run(
        ["cc", "-O1", "-o", program, folder / "main.c", folder / "fillers.s"], check=True
    )
    return program


def too_slow_at_first():
    """If a copy's markers are not found in time, as on a busy machine, that is reported, and the
    search is retried."""
    stopped = set()

    def told(daemon):
        for reader in set(readers_at_work(daemon)) - stopped:
            os.kill(reader, signal.SIGSTOP)
            stopped.add(reader)
        return any("took longer" in copy["problem"] for copy in work(daemon)["copies"])

    with tempfile.TemporaryDirectory() as folder:
        calls = (
            '<event name="work" threshold="100s" trace-length="1s">'
            f'<function name="work" binary="*/large-{NAME}"/></event>'
        )
        with Daemon(calls) as daemon, subprocess.Popen(
            [large_program(pathlib.Path(folder))]
        ) as process:
            try:
                wait_for(
                    lambda: told(daemon), lambda: f"one of {stopped} to be given up: {work(daemon)}"
                )
                check("will be retried" in shown(daemon), shown(daemon))
                for reader in stopped & set(readers_at_work(daemon)):
                    os.kill(reader, signal.SIGCONT)
                wait_for(lambda: work(daemon)["runs"] > 0, lambda: f"its calls: {work(daemon)}")
                check(
                    not any(copy["problem"] for copy in work(daemon)["copies"]), f"{work(daemon)}"
                )
            finally:
                process.kill()


def held_by(daemon, folder):
    """Files below the folder that lagtrapd has open."""
    links = []
    for descriptor in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(descriptor))
    return len({link for link in links if link.startswith(f"{folder}/")})


def a_user_holds_few_files_open():
    """Copies of a user beyond its share are not even opened, and that is reported; those of
    others are watched."""
    somebody, many, share, watched = 64001, 270, 256, 32
    with tempfile.TemporaryDirectory() as folder, Daemon(
        event(f"*/{NAME}")
    ) as daemon, contextlib.ExitStack() as stack:

        def start(number, **as_whom):
            place = pathlib.Path(folder) / str(number)
            place.mkdir(mode=0o755)
            process = stack.enter_context(
                subprocess.Popen(
                    [shutil.copy(PLANTED, place / NAME), *FAST],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    **as_whom,
                )
            )
            stack.callback(process.kill)

        os.chmod(folder, 0o755)
        for number in range(many):
            start(number, user=somebody, group=somebody, extra_groups=[])
        wait_for(
            lambda: any(
                user.get("copies_left_out") and user.get("uid") == somebody
                for user in daemon.status()["limited_users"]
            ),
            lambda: f"files to be left out: {held_by(daemon, folder)} are open",
        )
        check("copies of watched files not opened" in shown(daemon), shown(daemon))
        wait_for(
            lambda: work(daemon)["files"] == watched,
            lambda: f"the user's share to be watched: {work(daemon)['files']}",
        )
        check(held_by(daemon, folder) <= share, f"{held_by(daemon, folder)} files are open")
        start(many)
        wait_for(
            lambda: work(daemon)["files"] == watched + 1,
            lambda: f"root's copy to be watched: {work(daemon)['files']}",
        )


if __name__ == "__main__":
    run(
        every_container,
        found_at_the_start,
        by_build_id,
        by_package,
        by_another_name,
        another_path,
        none_wanted,
        a_damaged_copy,
        torn_down_in_a_recording,
        too_slow_at_first,
        a_user_holds_few_files_open,
    )
