"""A recording exported in every format: each is opened by the program it is for, or checked
against that program's grammar, and says the same about a planted delay as the report. All
formats agree on the sums."""

import contextlib
import csv
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict

from lagtrap_test import (
    BUILD_DIR,
    LAGTRAP,
    PLANTED,
    SOURCE_DIR,
    UPLOADER,
    Daemon,
    Watched,
    check,
    library_event,
    run,
)
from upload_world import FOLDERS, OddServer

TIMES = ("--on-cpu", "--off-cpu", "--all")
LOCK = "blocked: lock (futex)"
FORMS = ("folded", "pprof", "speedscope", "firefox", "chrome", "csv", "perf")


def export(bundle, *options):
    done = subprocess.run([LAGTRAP, "export", bundle, *options], capture_output=True, timeout=120)
    check(done.returncode == 0, f"lagtrap export {options}: {done.stderr.decode()}")
    return done.stdout


def rounded(sum_ns, lines):
    """A sum of `lines` figures, each truncated to a microsecond."""
    return range(sum_ns - 1000 * lines, sum_ns + 1)


def folded_sum(data):
    """FlameGraph accepts "frames, a blank, a number": flamegraph.pl's own expression."""
    total, lines = 0, data.decode().splitlines()
    for line in lines:
        match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
        check(match and ";" in match[1], f"no folded stack: {line!r}")
        total += 1000 * int(match[2])
    return total, lines


def pprof_tops(path):
    """The output of `go tool pprof` for each function: flat and cumulative nanoseconds, by
    sample type."""
    types = subprocess.run(
        ["go", "tool", "pprof", "-raw", path], capture_output=True, text=True, check=True
    ).stdout
    names = re.search(r"Samples:\n(.*)\n", types)[1].split()
    tops = {}
    for name in (name.partition("/")[0] for name in names):
        done = subprocess.run(
            [
                "go",
                "tool",
                "pprof",
                "-top",
                "-unit=ns",
                "-nodefraction=0",
                f"-sample_index={name}",
                path,
            ],
            capture_output=True,
            text=True,
        )
        check(done.returncode == 0, f"go tool pprof: {done.stderr}")
        total = re.search(r"Showing nodes accounting for .* of (\d+)ns total", done.stdout)
        rows = re.findall(r"^ *(\d+)(?:ns)? +\S+ +\S+ +(\d+)(?:ns)? +\S+ +(.*)$", done.stdout, re.M)
        tops[name] = (
            int(total[1]) if total else 0,
            {row[2]: (int(row[0]), int(row[1])) for row in rows},
        )
    return tops


def csv_rows(data):
    csv.field_size_limit(
        2**20
    )  # a stack is one field: on the whole machine, some have functions of kilobytes
    return list(csv.DictReader(data.decode().splitlines(keepends=True), strict=True))


def perf_sum(data):
    """The header and frames that readers of perf script look for."""
    total = 0
    for sample in data.decode().rstrip("\n").split("\n\n") if data else []:
        header, *frames = sample.split("\n")
        match = re.fullmatch(
            r"\S.*? (\d+)/(\d+) \[\d{3,}\] \d+\.\d{6}: (\d+) (cpu-clock|off-cpu): ", header
        )
        check(match, f"no header of perf script: {header!r}")
        check(
            frames and all(re.fullmatch(r"\t *[0-9a-f]+ .+ \(.+\)", frame) for frame in frames),
            f"no frames: {frames}",
        )
        total += int(match[3])
    return total


def no_constants(word):
    raise ValueError(f"{word} is not JSON")


def strict_json(data):
    return json.loads(data, parse_constant=no_constants)


def chrome_slices(data):
    """The outermost slices of each thread. Slices must nest, and runs must begin and end."""
    trace, open_spans, slices = strict_json(data), defaultdict(int), defaultdict(list)
    for event in trace["traceEvents"]:
        check(
            event["ph"] in "MXbe"
            and isinstance(event["pid"], int)
            and isinstance(event["tid"], int),
            f"{event}",
        )
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(
                (round(event["ts"] * 1000), round(event["dur"] * 1000), event["name"])
            )
        elif event["ph"] in "be":
            key = (event["cat"], event["id"], event["pid"], event["name"])
            open_spans[key] += 1 if event["ph"] == "b" else -1
            check(open_spans[key] in (0, 1), f"{key} ends before it begins")
    check(not any(open_spans.values()), "a run does not end")
    outermost = defaultdict(list)
    for thread, found in slices.items():
        ends = []
        for begin, length, name in sorted(found, key=lambda slice: (slice[0], -slice[1])):
            while ends and ends[-1] <= begin:
                ends.pop()
            check(
                not ends or begin + length <= ends[-1],
                f"slices of {thread} cross at {begin}: {name}",
            )
            if not ends:
                outermost[thread].append((length, name))
            ends.append(begin + length)
    return outermost, {key[3] for key in open_spans}


def check_columns(table, where):
    for name, column in table.items():
        if name not in ("length", "weightType"):
            check(
                len(column) == table["length"],
                f"{where}.{name} has {len(column)} of {table['length']}",
            )


def firefox_weights(data):
    """Checks that every reference in the profile is valid, by its published types. Returns the
    weight of each leaf, in ns."""
    profile = strict_json(data)
    check(profile["meta"]["preprocessedProfileVersion"] == 60, f"{profile['meta']}")
    shared, categories = profile["shared"], len(profile["meta"]["categories"])
    for name in (
        "frameTable",
        "funcTable",
        "stackTable",
        "resourceTable",
        "nativeSymbols",
        "sources",
    ):
        check_columns(shared[name], name)
    texts, functions, stacks, frames = (
        shared["stringArray"],
        shared["funcTable"],
        shared["stackTable"],
        shared["frameTable"],
    )
    check(
        all(prefix is None or prefix < place for place, prefix in enumerate(stacks["prefix"])),
        "a stack before its caller",
    )
    check(
        all(0 <= frame < frames["length"] for frame in stacks["frame"]), "a stack without a frame"
    )
    check(
        all(0 <= function < functions["length"] for function in frames["func"]),
        "a frame without a function",
    )
    check(
        all(0 <= category < categories for category in frames["category"]),
        "a frame without a category",
    )
    check(
        all(
            -1 <= resource < shared["resourceTable"]["length"] for resource in functions["resource"]
        ),
        "no such resource",
    )
    check(
        all(
            source is None or source < shared["sources"]["length"] for source in functions["source"]
        ),
        "no such source",
    )
    check(
        all(0 <= lib < len(profile["libs"]) for lib in shared["resourceTable"]["lib"]),
        "no such library",
    )
    weights, markers = defaultdict(float), set()
    for thread in profile["threads"]:
        check_columns(thread["samples"], "samples")
        check_columns(thread["markers"], "markers")
        times = thread["samples"]["time"]
        check(all(a <= b for a, b in itertools.pairwise(times)), "samples are not by time")
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            weights[texts[functions["name"][frames["func"][stacks["frame"][stack]]]]] += (
                weight * 1e6
            )
        markers |= {texts[name] for name in thread["markers"]["name"]}
    return weights, markers


def speedscope_shows(files, folder):
    build = BUILD_DIR / "server" / "web" / "site"
    done = subprocess.run(
        ["node", SOURCE_DIR / "tests/integration/speedscope.mjs", build, folder, *files],
        capture_output=True,
        text=True,
        timeout=300,
    )
    check(done.returncode == 0, f"speedscope: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def check_sums(bundle, options):
    """All formats of one choice agree."""
    data = {form: export(bundle, "--format", form, *options) for form in FORMS}
    rows = csv_rows(data["csv"])
    total = sum(int(row["weight_ns"]) for row in rows)
    folded, lines = folded_sum(data["folded"])
    # Stacks of less than a microsecond are missing; there are at most as many as rows.
    check(folded in rounded(total, len(rows)), f"{options}: folded has {folded} of {total} ns")
    check(perf_sum(data["perf"]) == total, f"{options}: perf has not {total} ns")
    scopes = strict_json(data["speedscope"])["profiles"]
    check(
        sum(sum(scope["weights"]) for scope in scopes) == total,
        f"{options}: speedscope has not {total} ns",
    )
    check(
        abs(sum(firefox_weights(data["firefox"])[0].values()) - total) < 1000,
        f"{options}: firefox has not {total} ns",
    )
    slices, _ = chrome_slices(data["chrome"])
    lengths = sum(int(row["duration_ns"]) for row in rows)
    check(
        sum(length for found in slices.values() for length, _ in found) == lengths,
        f"{options}: chrome has not {lengths} ns",
    )
    return data, rows, total


def every_form_says_the_same(bundle, folder):
    duration_ns = int(
        re.search(r'<delay[^>]*duration-ns="(\d+)"', export(bundle, "--format", "system").decode())[
            1
        ]
    )
    totals = {}
    for time in TIMES:
        data, rows, totals[time] = check_sums(bundle, ("--delay", "1", time))
        pprof = folder / f"pprof{time}"
        pprof.write_bytes(data["pprof"])
        check(
            next(iter(pprof_tops(pprof).values()))[0] == totals[time],
            f"pprof{time} has not {totals[time]} ns",
        )
    check(
        totals["--all"] == duration_ns, f"the parts are {totals}, the delay took {duration_ns} ns"
    )
    unknown = sum(int(row["weight_ns"]) for row in rows if row["state"] == "unknown")
    check(
        totals["--on-cpu"] + totals["--off-cpu"] + unknown == duration_ns,
        f"{totals} and {unknown} unknown",
    )

    # Beside other tests, part of the run is spent waiting for a CPU.
    runnable = sum(int(row["weight_ns"]) for row in rows if row["state"] == "waits for a CPU")
    blocked = sum(int(row["weight_ns"]) for row in rows if row["reason"] == "lock (futex)")
    check(
        blocked > 0.8 * (duration_ns - runnable),
        f"{blocked} of {duration_ns} ns blocked by a lock, {runnable} without a CPU",
    )
    check(any("wait_for_mutex" in row["stack"] for row in rows), "no stack has wait_for_mutex")
    tops = pprof_tops(pprof)
    waited = [
        figures[1] for name, figures in tops["blocked"][1].items() if "wait_for_mutex" in name
    ]
    # A wait that began before the recording may have a part without a stack.
    with_stack = sum(
        int(row["weight_ns"])
        for row in rows
        if row["reason"] == "lock (futex)" and "wait_for_mutex" in row["stack"]
    )
    check(with_stack > 0.8 * blocked, f"{with_stack} of {blocked} ns blocked below wait_for_mutex")
    check(
        waited and waited[0] == with_stack,
        f"go tool pprof has {waited} ns blocked below wait_for_mutex, the CSV {with_stack}",
    )
    weights, markers = firefox_weights(data["firefox"])
    check(
        weights[LOCK] > 0.99 * blocked and {"work", "prepare", "execute", "finish"} <= markers,
        f"{weights} {markers}",
    )
    check(
        {"work", "prepare", "execute", "finish"} <= chrome_slices(data["chrome"])[1],
        "the run's stages are not in it",
    )
    return data, duration_ns, blocked / duration_ns


def real_programs_open_them(data, folder, blocked_share):
    files = []
    for form in ("speedscope", "pprof", "folded", "chrome", "perf"):
        files.append(folder / f"delay-{form}")
        files[-1].write_bytes(data[form])
    for name, shown in speedscope_shows(files, folder).items():
        check(not shown["errors"], f"speedscope on {name}: {shown['errors']}")
        shares = {}
        for row in shown["rows"]:
            share = re.search(r"\([<>]?([\d.]+)%\)", row[0])
            check(share and len(row) == 3, f"speedscope shows of {name}: {row}")
            shares[row[2]] = float(share[1])
        # It reads no periods from perf script, so shares mean nothing for that format.
        if name == "delay-perf":
            check(shares, "speedscope shows nothing of delay-perf")
            continue
        wanted = max(
            (share for what, share in shares.items() if "wait_for_mutex" in what or what == LOCK),
            default=0,
        )
        check(wanted > 99 * blocked_share, f"speedscope shows of {name}: {shares}")


def spans_reach_opentelemetry(bundle, folder, duration_ns):
    """As OpenTelemetry's own definitions decode them."""
    request = folder / "delay.otlp.pb"
    request.write_bytes(export(bundle, "--format", "otlp", "--delay", "1"))
    check(
        request.read_bytes() == export(bundle, "--format", "otlp"),
        "the only delay is not all delays",
    )
    decoded = subprocess.run(
        ["node", SOURCE_DIR / "tests/integration/otlp.mjs", BUILD_DIR / "server/web/site", request],
        capture_output=True,
        text=True,
    )
    check(decoded.returncode == 0, f"{decoded.stderr}")
    (group,) = json.loads(decoded.stdout)["resourceSpans"]
    resource = {entry["key"]: entry["value"] for entry in group["resource"]["attributes"]}
    check(resource["service.name"]["stringValue"] == "planted_delays", f"{resource}")
    delay, *stages = group["scopeSpans"][0]["spans"]
    begin, end = int(delay["startTimeUnixNano"]), int(delay["endTimeUnixNano"])
    check(
        end - begin == duration_ns and abs(time.time_ns() - end) < 600e9,
        f"{begin} to {end}, now {time.time_ns()}",
    )
    check(
        delay["name"] == "work"
        and not delay.get("parentSpanId")
        and delay["status"]["code"] == "STATUS_CODE_ERROR",
        f"{delay}",
    )
    check(
        len(delay["traceId"]) == 24 and len(delay["spanId"]) == 12,
        f"ids of other lengths than 16 and 8 bytes: {delay}",
    )
    facts = {entry["key"]: entry["value"] for entry in delay["attributes"]}
    parts = sum(
        int(facts[f"lagtrap.{part}_ns"]["intValue"])
        for part in ("on_cpu", "runnable", "blocked", "unknown")
    )
    check(parts == duration_ns, f"the parts are {parts} of {duration_ns} ns")
    causes = [value["stringValue"] for value in facts["lagtrap.causes"]["arrayValue"]["values"]]
    check(any("for a lock in wait_for_mutex" in cause for cause in causes), f"{causes}")
    check([stage["name"] for stage in stages] == ["prepare", "execute", "finish"], f"{stages}")
    check(
        all(
            stage["parentSpanId"] == delay["spanId"] and stage["traceId"] == delay["traceId"]
            for stage in stages
        ),
        f"{stages}",
    )
    check(
        all(
            begin <= int(stage["startTimeUnixNano"]) <= int(stage["endTimeUnixNano"]) <= end
            for stage in stages
        ),
        f"{stages}",
    )


def the_uploader_sends_spans(bundle):
    """To a collector that fails at first; each delay once, with or without a server."""
    answers = [503, 200]

    def answer(request, _body):
        status = answers.pop(0) if answers else 200
        # partial_success: rejected_spans 2, error_message "old"
        request.reply(status, b"\x0a\x07\x08\x02\x12\x03old" if status == 200 else b"")

    spool = pathlib.Path(tempfile.mkdtemp(prefix="lagtrap-spans-"))
    for folder in FOLDERS:
        (spool / folder).mkdir()
    shutil.copy(bundle, spool / "ready")
    with contextlib.closing(OddServer(answer)) as collector:
        settings = spool / "settings.xml"
        settings.write_text(
            f'<lagtrap version="1"><spool path="{spool}"/>'
            f'<otlp url="http://127.0.0.1:{collector.port}"/></lagtrap>'
        )

        def upload(code, *words):
            done = subprocess.run(
                [UPLOADER, "--settings", settings, "--once"],
                capture_output=True,
                text=True,
                timeout=120,
            )
            check(
                done.returncode == code and all(word in done.stdout for word in words),
                f"{done.returncode} {done.stdout} {done.stderr}",
            )

        upload(1, ".otlp.pb: try later", "HTTP 503")
        upload(0, ".otlp.pb: delivered", "the collector refused 2 span(s): old")
        upload(0, "nothing to send")
        check(
            [request[:2] for request in collector.requests] == 2 * [("POST", "/v1/traces")],
            f"{collector.requests}",
        )
        headers = collector.requests[1][2]
        check(headers["Content-Type"] == "application/x-protobuf", f"{headers}")
        check(
            collector.bodies[1] == export(bundle, "--format", "otlp"),
            "the spans are not those of lagtrap export",
        )
        check(
            (spool / "ready" / bundle.name).exists() and len(list((spool / "sent").iterdir())) == 1,
            f"{list(spool.rglob('*'))}",
        )
        # An unreadable bundle has none, and does not block others.
        (
            spool / "ready" / f"{'0' * 8}-0000-0000-0000-{'0' * 12}-{'0' * 16}.lagtrap.tar.zst"
        ).write_text("no bundle")
        done = subprocess.run(
            [UPLOADER, "--settings", settings, "--once"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        check(
            done.returncode == 0 and "no spans for the collector" in done.stderr,
            f"{done.returncode} {done.stdout} {done.stderr}",
        )
    shutil.rmtree(spool)


def threads_are_chosen(bundle):
    whole, _, _ = check_sums(bundle, ("--all",))
    rows = csv_rows(whole["csv"])
    holder = {row["tid"] for row in rows if row["thread"] == "lock-holder"}
    check(len(holder) == 1, f"threads of the name lock-holder: {holder}")
    for wanted in ("lock-holder", holder.pop()):
        for time in TIMES:
            _, chosen, _ = check_sums(bundle, ("--thread", wanted, time))
            check(
                {row["thread"] for row in chosen} == {"lock-holder"},
                f"--thread {wanted} {time} has others",
            )
    check(
        "planted_lock_holder" in "".join(row["stack"] for row in chosen),
        "the holder's function is not there",
    )
    for options, code, words in (
        (("--thread", "nobody"), 1, 'no thread "nobody" in recording'),
        (("--delay", "1", "--thread", "lock-holder"), 1, "there is planted_delays"),
        (("--format", "pftrace", "--on-cpu"), 2, "exports the whole recording"),
        (("--format", "otlp", "--thread", "x"), 2, "exports whole delays"),
        (("--format", "otlp", "--delay", "2"), 1, "there is no delay 2"),
        (("--on-cpu", "--all"), 2, "excludes"),
        (("--format", "gif"), 2, "folded"),
    ):
        done = subprocess.run([LAGTRAP, "export", bundle, *options], capture_output=True, text=True)
        check(
            done.returncode == code and words in done.stderr,
            f"{options}: {done.returncode} {done.stderr}",
        )


def forms_leave_a_recording():
    events = library_event("work", PLANTED, "50ms", "500ms", ("prepare", "execute", "finish"))
    with Daemon(events) as daemon:
        with Watched(
            PLANTED, "--kind", "lock", "--fast", 20, "--slow-ms", 200, "--wait"
        ) as program:
            program.go().result()
        bundle = daemon.wait_for_bundles(1)[0]
        data, duration_ns, blocked_share = every_form_says_the_same(bundle, daemon.folder)
        spans_reach_opentelemetry(bundle, daemon.folder, duration_ns)
        real_programs_open_them(data, daemon.folder, blocked_share)
        threads_are_chosen(bundle)
        the_uploader_sends_spans(bundle)


if __name__ == "__main__":
    run(forms_leave_a_recording)
