"""Events with record="runs": every run reaches the server, complete and counted, with its stages
and stacks."""

import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from lagtrap_server import sha256
from lagtrap_test import (
    BURST,
    LAGTRAP,
    PLANTED,
    PROGRAMS,
    UPLOADER,
    Daemon,
    Watched,
    check,
    library_event,
    run,
    wait_for,
)
from run_batches import read_batch, read_spool
from test_postgresql import BIN, STAGES, Postgres
from upload_world import OddServer, confirm

STARTS = PROGRAMS / "starts"
COLD, WARM = 1, 2
MISSING_STAGE, ABORTED = 4, 8
ALL = '<runs batch-interval="200ms" limit-per-second="100000"/>'


def runs_of(batches):
    return [run for batch in batches for run in batch["runs"]]


def counted(batches):
    """The number of runs in the batches, including those known only as a number."""
    return sum(run["weight"] for run in runs_of(batches) if not run["aborted"]) + sum(
        batch["runs_lost"] for batch in batches
    )


def wait_for_runs(daemon, count):
    wait_for(lambda: counted(read_spool(daemon.spool)) >= count, f"{count} runs in the spool")
    return read_spool(daemon.spool)


def check_losses(daemon):
    batches = daemon.status()["batches"]
    check(
        batches["failed"] == 0 and batches["lost_runs"] == 0 and not batches["problem"],
        f"{batches}",
    )


def postgresql_queries():
    event = (
        f'<event name="query" threshold="10s" trace-length="1s" binary="{BIN}/postgres" '
        'record="runs" stacks="markers"><begin usdt="postgresql:query__start"/>'
        + "".join(
            f'<stage name="{stage}" usdt="postgresql:query__{stage}__start"/>' for stage in STAGES
        )
        + '<end usdt="postgresql:query__done"/></event>'
    )
    with Postgres() as postgres, Daemon(event, more=ALL) as daemon:
        wait_for(lambda: daemon.status()["unwinder"]["tables_waiting"] == 0, "the unwind tables")
        # For two seconds, because a process is known only some time after its first run, and this
        # test is about later ones.
        output = postgres.run(
            BIN / "pgbench",
            "-h",
            postgres.folder,
            "-n",
            "-S",
            "-c",
            4,
            "-t",
            1000,
            "-R",
            2000,
            "postgres",
        )
        check("actually processed: 4000/4000" in output, f"pgbench: {output}")
        status = daemon.event("query")
        check(status["runs"] >= 4000 and status["recorded"]["sampled_away"] == 0, f"{status}")
        check(
            status["recorded"]["reported"] == status["runs"],
            f"{status['recorded']} of {status['runs']}",
        )
        batches = wait_for_runs(daemon, status["runs"])
        check_losses(daemon)
        runs = runs_of(batches)
        check(
            len(runs) == status["runs"] == daemon.event("query")["runs"],
            f"{len(runs)} of {status['runs']} runs",
        )
        check(
            len({batch["batch_id"] for batch in batches}) == len(batches),
            "an id of a batch came twice",
        )
        selects = [
            one for one in runs if [stage["name"] for stage in one["stages"]] == list(STAGES)
        ]
        check(len(selects) >= 4000, f"{len(selects)} runs with all stages")
        for one in runs:
            times = [stage["at_ns"] for stage in one["stages"]]
            check(
                times == sorted(times) and all(at <= one["duration_ns"] for at in times), f"{one}"
            )
            check(
                one["weight"] == 1
                and one["user"] == "postgres"
                and one["executable"] == str(BIN / "postgres")
                and one["process"] == "postgres"
                and one["build_id"]
                and one["begin_tid"] == one["end_tid"] == one["pid"],
                f"{one}",
            )
            check(abs(one["begin_realtime_ns"] / 1e9 - time.time()) < 600, f"{one}")
        check_stacks(batches)


def check_stacks(batches):
    """All markers have stacks. A process is known some time after its first run; from then on
    its stacks reach main."""
    processes = {}
    for batch in batches:
        reach = [any(frame["function"] == "main" for frame in stack) for stack in batch["stacks"]]
        for one in batch["runs"]:
            numbers = (
                one["begin_stack"],
                one["end_stack"],
                *(stage["stack"] for stage in one["stages"]),
            )
            check(all(number > 0 for number in numbers), f"a marker has no stack: {one}")
            processes.setdefault(one["pid"], []).append(
                (one["begin_realtime_ns"], [reach[number - 1] for number in numbers])
            )
        named = [
            frame
            for stack in batch["stacks"]
            for frame in stack
            if frame["module"].endswith("/postgres")
        ]
        check(all(frame["build_id"] for frame in named), "a frame of PostgreSQL has no build id")
    of_clients = [sorted(runs) for runs in processes.values() if len(runs) >= 500]
    check(len(of_clients) == 4, f"{len(of_clients)} clients")
    for runs in of_clients:
        known = next((place for place, (_, reached) in enumerate(runs) if all(reached)), len(runs))
        check(
            known < len(runs) / 2, f"only run {known} of {len(runs)} of a process has whole stacks"
        )
        later = [whole for _, reached in runs[known:] for whole in reached]
        check(
            sum(later) >= 0.99 * len(later),
            f"{sum(later)} of {len(later)} stacks of a known process reach main",
        )


def a_burst_is_sampled_and_counted():
    event = library_event("tick", BURST, "1s", attributes='record="runs" stacks="markers"')
    with Daemon(
        event, more='<runs batch-interval="200ms" batch-size="16KiB" limit-per-second="500"/>'
    ) as daemon:
        for pairs in (100_000, 3, 250_000):
            subprocess.run([BURST, "--pairs", str(pairs)], check=True, capture_output=True)
        status = daemon.event("tick")
        check(status["runs"] == 350_003, f"{status['runs']} runs")
        told = status["recorded"]
        check(told["reported"] + told["sampled_away"] + told["ring_full"] == 350_003, f"{told}")
        daemon.stop()
        batches = read_spool(daemon.spool)
        runs = runs_of(batches)
        check(counted(batches) == 350_003, f"{counted(batches)} of 350003 runs")
        # How many are within the limit depends on how long the bursts take.
        check(
            len(runs) == told["reported"] and 500 <= len(runs) < 100_000,
            f"{len(runs)} runs, {told}",
        )
        # A reported run stands for the runs before it that were sampled away. No run stands for
        # those after the last one, so the last batch counts them as lost. On a busy machine, the
        # ring may also be full before it is read.
        earlier = sum(batch["runs_lost"] for batch in batches[:-1])
        check(earlier == 0 or told["ring_full"] > 0, f"{earlier} runs lost in batches, {told}")
        lost = earlier + batches[-1]["runs_lost"]
        sampled_away = sum(batch["runs_sampled_away"] for batch in batches)
        check(
            sampled_away + lost == told["sampled_away"] + told["ring_full"],
            f"{sampled_away} sampled away, {lost} lost, {told}",
        )
        check(len(batches) > 1, "the size of batches was not kept")


def starts_are_cold_and_warm():
    """By time, with a private copy of python3."""
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder) / "python-under-test"
        shutil.copy(pathlib.Path("/usr/bin/python3").resolve(), python)
        event = (
            f'<event name="start" threshold="10s" trace-length="1s" binary="{python}" '
            'record="runs" cold-after="4s"><begin function="Py_BytesMain"/>'
            '<end function="Py_FinalizeEx"/></event>'
        )

        def start():
            subprocess.run([python, "-c", "import json"], check=True)

        with Daemon(event, more=ALL) as daemon:
            armed = time.monotonic()
            start()  # its history is unknown
            wait_for_runs(daemon, 1)
            begun = time.monotonic()
            wait_for(lambda: time.monotonic() - begun > 4.2, "the program to get cold")
            start()
            start()
            took = time.monotonic() - begun - 4.2
            runs = runs_of(wait_for_runs(daemon, 3))
            kinds = [one["start"] for one in runs]
            check(kinds[1] == COLD, f"{kinds}")
            # If the machine stalled meanwhile, the others can be either.
            if begun - armed < 4:
                check(kinds[0] == 0, f"{kinds}")
            if took < 4:
                check(kinds[2] == WARM, f"{kinds}")
            for one in runs:
                check(
                    one["executable"] == str(python)
                    and one["user"] == "root"
                    and one["process"] == python.name[:15],
                    f"{one}",
                )
            check(len({one["pid"] for one in runs}) == 3, "three processes")


def the_first_run_of_a_process_is_cold():
    event = library_event("tick", BURST, "1s", attributes='record="runs" cold="first-of-process"')
    with Daemon(event, more=ALL) as daemon:
        for _ in range(3):
            subprocess.run(
                [BURST, "--pairs", "50", "--threads", "1"], check=True, capture_output=True
            )
        runs = runs_of(wait_for_runs(daemon, 150))
        by_process = {}
        for one in sorted(runs, key=lambda one: one["begin_realtime_ns"]):
            by_process.setdefault(one["pid"], []).append(one["start"])
        check(list(by_process.values()) == [[COLD] + [WARM] * 49] * 3, f"{by_process}")


def start_event(**more):
    attributes = " ".join(f'{name}="{value}"' for name, value in more.items())
    return (
        f'<event name="start" threshold="1s" trace-length="1s" record="runs" {attributes}>'
        f'<library binary="{STARTS.resolve()}"><stage name="cold"/><stage name="warm"/>'
        '<stage name="work" expected="yes"/>'
        "</library></event>"
    )


def markers_say_the_kind_of_start():
    with Daemon(start_event(cold="first-of-process"), more=ALL) as daemon:
        subprocess.run([STARTS, "warm", "cold", "work", "skip"], check=True, capture_output=True)
        runs = runs_of(wait_for_runs(daemon, 4))
        check([one["start"] for one in runs] == [WARM, COLD, WARM, WARM], f"{runs}")
        check(
            [[stage["name"] for stage in one["stages"]] for one in runs]
            == [["work"], ["work"], ["work"], []],
            f"{runs}",
        )
        check([one["dirty_reasons"] for one in runs] == [0, 0, 0, MISSING_STAGE], f"{runs}")
        # No stacks are taken; a marker with a single address still has that address.
        batch = read_spool(daemon.spool)[0]
        stage = batch["runs"][0]["stages"][0]
        frames = batch["stacks"][stage["stack"] - 1]
        check(
            stage["stack"] > 0
            and frames[0]["module"] == str(STARTS.resolve())
            and frames[-1]["function"] in ("run", "main"),
            f"{frames}",
        )
        check(batch["runs"][0]["end_stack"] > 0, f"{batch['runs'][0]}")


def a_run_that_its_thread_left_is_aborted():
    with Daemon(start_event(), more=ALL) as daemon, Watched(
        STARTS, "--wait", "work", "leave"
    ) as program:
        program.go()
        wait_for_runs(daemon, 1)
        wait_for(
            lambda: any(one["aborted"] for one in runs_of(read_spool(daemon.spool))),
            "the run that was left",
            60,
        )
        program.go().result()
        aborted = [one for one in runs_of(read_spool(daemon.spool)) if one["aborted"]]
        check(
            len(aborted) == 1
            and aborted[0]["dirty_reasons"] & ABORTED
            and aborted[0]["executable"] == str(STARTS.resolve()),
            f"{aborted}",
        )
        status = daemon.event("start")
        check(status["abandoned"] == 1 and status["runs"] == 1, f"{status}")


def reload_and_stop_flush():
    event = library_event("tick", BURST, "1s", attributes='record="runs"')
    later = '<runs batch-interval="1h" batch-size="8MiB" limit-per-second="100000"/>'
    with Daemon(event, more=later) as daemon:
        subprocess.run([BURST, "--pairs", "100"], check=True, capture_output=True)
        check(not read_spool(daemon.spool), "a batch before its time")
        daemon.process.send_signal(signal.SIGHUP)
        wait_for_runs(daemon, 100)
        subprocess.run([BURST, "--pairs", "77"], check=True, capture_output=True)
        check(
            daemon.event("tick")["runs"] == 177 == daemon.event("tick")["recorded"]["reported"],
            f"{daemon.event('tick')}",
        )
        daemon.stop()
        check(
            counted(read_spool(daemon.spool)) == 177,
            f"{counted(read_spool(daemon.spool))} of 177 runs",
        )


def a_killed_daemon_leaves_whole_batches():
    event = library_event("tick", BURST, "1s", attributes='record="runs"')
    with Daemon(
        event, more='<runs batch-interval="100ms" batch-size="16KiB" limit-per-second="100000"/>'
    ) as daemon:
        with subprocess.Popen([BURST, "--seconds", "60"], stdout=subprocess.DEVNULL) as burst:
            wait_for(lambda: len(read_spool(daemon.spool)) > 5, "batches")
            daemon.kill()
            burst.kill()
        before = read_spool(daemon.spool)
        check(before and all(batch["runs"] for batch in before), "a batch is damaged")
        daemon.start()
        subprocess.run([BURST, "--pairs", "50"], check=True, capture_output=True)
        wait_for_runs(daemon, counted(before) + 50)


def what_a_killed_daemon_had_gathered_is_told_as_lost():
    event = library_event("tick", BURST, "1s", attributes='record="runs"')
    with Daemon(
        event, more='<runs batch-interval="1h" batch-size="1MiB" limit-per-second="100000"/>'
    ) as daemon:
        subprocess.run([BURST, "--pairs", "77"], check=True, capture_output=True)
        kept = daemon.spool / ".unwritten-runs"
        wait_for(
            lambda: kept.exists() and kept.read_text() == f"{77:020}\n", "77 runs to be gathered"
        )
        daemon.kill()
        check(read_spool(daemon.spool) == [], "a batch was written: nothing was lost")
        daemon.start()
        check(daemon.status()["batches"]["lost_runs"] == 77, f"{daemon.status()['batches']}")
        said = subprocess.run(
            [LAGTRAP, "status", "--socket", daemon.socket_path],
            check=True,
            capture_output=True,
            text=True,
        )
        check("77 runs lost" in said.stdout, said.stdout)
        check(
            "did not write 77 recorded runs" in daemon.log_path.read_text(),
            daemon.log_path.read_text(),
        )
        subprocess.run([BURST, "--pairs", "50"], check=True, capture_output=True)
        daemon.stop()
        batches = read_spool(daemon.spool)
        check(
            (len(runs_of(batches)), [batch["runs_lost"] for batch in batches]) == (50, [77]),
            f"{batches}",
        )
        daemon.start()
        check(daemon.status()["batches"]["lost_runs"] == 0, "told twice")


def reluctant_server(taken):
    """Refuses the first upload to each address, then accepts what matches its digest, and
    remembers it as (path, body)."""
    refused = set()

    def answer(request, body):
        if request.path not in refused:
            refused.add(request.path)
            request.reply(500, b'{"error":{"message":"not now","hint":"later"}}')
        elif not request.path.endswith("/" + sha256(body)):
            request.reply(400, b"{}")
        else:
            taken.append((request.path, body))
            confirm(request, body)

    def head(request):
        if any(path == request.path for path, _ in taken):
            request.reply(200, X_Lagtrap_Digest=request.path.rsplit("/", 1)[1])
        else:
            request.reply(404)

    return contextlib.closing(OddServer(answer, head))


def upload(daemon, server):
    return subprocess.run(
        [
            UPLOADER,
            "--once",
            "--settings",
            daemon.settings_path,
            "--spool",
            daemon.spool,
            "--url",
            server.url,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )


def batches_are_uploaded_once():
    event = library_event("tick", BURST, "1s", attributes='record="runs"')
    with Daemon(
        event, more='<runs batch-interval="100ms" batch-size="16KiB" limit-per-second="100000"/>'
    ) as daemon:
        subprocess.run([BURST, "--pairs", "1000"], check=True, capture_output=True)
        wait_for_runs(daemon, 1000)
        files = sorted((daemon.spool / "ready").glob("*.runs.zst"))
        copy = daemon.folder / files[0].name
        shutil.copy(files[0], copy)
        damaged = files[0].parent / ("0" * 8 + files[0].name[8:])
        damaged.write_bytes(b"not what its name says")
        taken = []
        with reluctant_server(taken) as server:
            done = upload(daemon, server)
            check(
                done.returncode == 1 and "not now; later" in done.stdout,
                f"{done.stdout} {done.stderr}",
            )
            check(
                len(list((daemon.spool / "ready").glob("*.runs.zst"))) == len(files),
                "a batch is gone that nobody took",
            )
            check(upload(daemon, server).returncode == 0, "the second upload")
            check(
                all(path.startswith("/api/v1/batches/") for path, _ in taken),
                f"{[path for path, _ in taken]}",
            )
            check(len(taken) == len(files) == len(set(taken)), f"{len(taken)} of {len(files)}")
            sent = {path.name for path in (daemon.spool / "sent").glob("*.runs.zst")}
            check(sent == {path.name for path in files}, f"{sent} are kept of {len(files)}")
            told = json.loads(
                subprocess.run(
                    [
                        LAGTRAP,
                        "runs",
                        "tick",
                        "--json",
                        "--spool",
                        daemon.spool,
                        "--socket",
                        "/none",
                    ],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            check(
                told["whole"]["runs"] + told["runs_left_out"] == 1000,
                f"{told['whole']}, {told['runs_left_out']}",
            )
            for state in ("ready", "sending"):
                check(
                    not list((daemon.spool / state).glob("*.runs.zst")),
                    f"a batch is left in {state}",
                )
            check(
                [path.name for path in (daemon.spool / "rejected").glob("*.runs.zst")]
                == [damaged.name],
                "the damaged one",
            )
            arrived = []
            for number, (_, body) in enumerate(taken):
                path = daemon.folder / str(number)
                path.write_bytes(body)
                arrived.append(read_batch(path))
            check(counted(arrived) == 1000, f"{counted(arrived)} runs arrived")
            shutil.copy(copy, daemon.spool / "ready" / copy.name)
            check(
                upload(daemon, server).returncode == 0 and len(taken) == len(files),
                "a repeated batch was sent again",
            )


def stages_need_recorded_runs():
    """The error names the attribute and the event that needs it."""
    with Daemon(library_event("work", PLANTED, "1h")) as daemon:
        for wish in (("--stage", "a"), ("--from", "a"), ("--to", "a"), ("--slowest",)):
            done = subprocess.run(
                [
                    LAGTRAP,
                    "runs",
                    "work",
                    *wish,
                    "--spool",
                    daemon.spool,
                    "--socket",
                    daemon.socket_path,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            check(
                done.returncode == 1 and 'set record="runs" in <event name="work">' in done.stderr,
                done,
            )


if __name__ == "__main__":
    run(
        postgresql_queries,
        a_burst_is_sampled_and_counted,
        starts_are_cold_and_warm,
        the_first_run_of_a_process_is_cold,
        markers_say_the_kind_of_start,
        a_run_that_its_thread_left_is_aborted,
        reload_and_stop_flush,
        a_killed_daemon_leaves_whole_batches,
        what_a_killed_daemon_had_gathered_is_told_as_lost,
        batches_are_uploaded_once,
        stages_need_recorded_runs,
    )
