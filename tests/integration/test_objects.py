"""lagtrap objects: what creates, uses and releases objects, in programs that count these
themselves."""

import collections
import json
import pathlib
import subprocess
import tempfile

from call_programs import CallTrace
from lagtrap_test import LAGTRAP, Daemon, check, report, run, wait_for
from object_program import CLASSES, HANDLES, MAKER, PROGRAM, Program
from object_watch import PLENTY, UNTHINNED, Watch
from trace_client import SETTINGS, idle_daemon


def counts_equal_what_the_program_did():
    with idle_daemon() as daemon, Program() as program, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY
    ) as watch:
        check(
            set(watch.started["classes"]) == {"shop::Item", "shop::Gadget"},
            f"{watch.started['classes']}",
        )
        program.run("keep", 7)
        program.run("make", 5)
        program.run("threads", 11)
        watch.end()
        check(watch.ended["not_sent"] == 0 and watch.ended["too_deep"] == 0, f"{watch.ended}")
        items, gadgets = watch.counts("shop::Item"), watch.counts("shop::Gadget")
        # The constructor of a base class creates no object of its own.
        check((items["created"], items["alive"], items["released"]) == (7, 7, 0), f"{items}")
        check(
            (gadgets["created"], gadgets["alive"], gadgets["released"]) == (49, 0, 49), f"{gadgets}"
        )
        for counts in (items, gadgets):
            check(
                sum(
                    counts[key]
                    for key in ("failures", "released_twice", "used_after", "unknown", "replaced")
                )
                == 0,
                f"{counts}",
            )
        totals = watch.totals()
        check(
            totals["shop::Gadget::Gadget"] == 49 and totals["shop::Item::Item"] == 56, f"{totals}"
        )
        check(
            totals["shop::Gadget::price"] == 49 and totals["shop::Item::price"] == 49, f"{totals}"
        )
        oldest = watch.ended["oldest"]
        check(
            len(oldest) == 7 and all("keep_items" in one[8] for one in oldest),
            f"who had them created: {oldest}",
        )


def the_first_creation_of_a_new_daemon_has_its_stack():
    """The daemon builds the process's tables first, and waits for them before attaching the
    probes."""
    with Program() as program:
        for _ in range(3):
            with Daemon(SETTINGS) as daemon, Watch(
                daemon, program.process.pid, *CLASSES, *PLENTY
            ) as watch:
                program.run("keep", 1)
                ended = watch.end().ended
                check(len(ended["oldest"]) == 1, f"{ended['oldest']}")
                number = ended["oldest"][0][9]
                check(number > 0, f"no stack: {ended}")
                _, cut, frames = ended["stacks"][number - 1]
                check(
                    cut == 0 and "main" in [frame.split(" (")[0] for frame in frames],
                    f"the stack is whole: {frames}",
                )
                check(
                    not any("unwind" in note for note in watch.started["notes"]),
                    f"{watch.started['notes']}",
                )
            program.run("release")


def who_does_not_want_to_wait_is_told():
    with Program() as program, Daemon(SETTINGS) as daemon, Watch(
        daemon, program.process.pid, *CLASSES, *UNTHINNED, "--timeout", "0s"
    ) as watch:
        # It may be there already; then there is no note.
        notes = [note for note in watch.started["notes"] if "unwind" in note]
        program.run("keep", 1)
        oldest = watch.end().ended["oldest"]
        check(
            len(oldest) == 1 and (notes or oldest[0][9] > 0), f"{watch.started['notes']}, {oldest}"
        )
        check(not notes or "were not ready yet" in notes[0], f"{notes}")


def stacks_say_who_had_the_living_created():
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
            program.run("keep", 50)
            program.run("release")
            program.run("keep", 3_000)
            program.run("deep", 20)
            program.run("some", 40)
            ended = watch.end().ended
            by_caller = {}
            for row in ended["oldest"]:
                caller, number = row[8], row[9]
                check(number > 0, f"no stack: {row}")
                alive, cut, frames = ended["stacks"][number - 1]
                names = [frame.split(" (")[0] for frame in frames]
                check(
                    cut == 0 and "main" in names and names[-1] == "_start",
                    f"the stack is whole: {frames}",
                )
                check(
                    frames[0] == caller, f"the stack begins with the caller: {frames[0]}, {caller}"
                )
                by_caller[names[0].split("::")[-1]] = alive, names
            # There may be a separate function make_unique in between.
            for name, alive in ("keep_items", 3_000), ("keep_some", 20):
                found = [
                    one for one in by_caller.values() if f"(anonymous namespace)::{name}" in one[1]
                ]
                check(len(found) == 1 and found[0][0] == alive, f"{name}: {found}")
            check(ended["stacks_lost"] == 0, f"{ended['stacks_lost']}")
            counts = watch.counts("shop::Item")
            check((counts["created"], counts["alive"]) == (3_051, 3_001), f"{counts}")


def a_deep_stack_is_whole():
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
            program.run("deep", 20)
            program.run("deep", 90)
            ended = watch.end().ended
            deep, deeper = (ended["stacks"][row[9] - 1] for row in ended["oldest"])
            check(sum("keep_deep" in frame for frame in deep[2]) == 21 and deep[1] == 0, f"{deep}")
            check(len(deeper[2]) == 64 and deeper[1] == 1, f"64 callers are told: {deeper}")


def what_creates_or_releases_and_is_not_seen_is_named():
    handles = tuple(
        "handle_close:arg0 handle_forget:arg0" if option == "handle_close:arg0" else option
        for option in HANDLES
    )
    with Daemon(SETTINGS) as daemon, Program() as program, Watch(
        daemon, program.process.pid, *handles, *PLENTY
    ) as watch:
        notes = watch.started["notes"]
        check(
            any(note.startswith("handle_forget, which releases handle, ") for note in notes),
            f"{notes}",
        )
        check(not any(note.startswith("handle_close") for note in notes), f"{notes}")


def calls_nest_as_they_were_made():
    with idle_daemon() as daemon, Program() as program, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY
    ) as watch:
        program.run("make", 1)
        watch.end()
        order = [(call["name"], call["depth"]) for call in watch.calls()]
        check(
            order[:4]
            == [
                ("shop::Item::Item", 1),
                ("shop::Gadget::Gadget", 0),
                ("shop::Item::price", 1),
                ("shop::Gadget::price", 0),
            ],
            f"{order}",
        )
        check(len({call["object"] for call in watch.calls()}) == 1, "one object")


def failed_creations_say_why():
    """Left by an exception at the same stack position again and again."""
    with idle_daemon() as daemon, Program() as program, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY
    ) as watch:
        program.run("fail", 25)
        watch.end()
        gadgets, items = watch.counts("shop::Gadget"), watch.counts("shop::Item")
        check(
            (gadgets["created"], gadgets["alive"], gadgets["failures"]) == (0, 0, 25), f"{gadgets}"
        )
        check(
            items["created"] == 0 and items["released_twice"] == 0 and items["used_after"] == 0,
            f"{items}",
        )
        failed = [call for call in watch.calls("shop::Gadget::Gadget") if call["failed"]]
        check(
            failed[0]["error"] == "std::runtime_error: no gadget of size -1"
            and failed[0]["left"] == 1,
            f"{failed[0]}",
        )
        check(failed[24]["error"].endswith("size -25"), f"{failed[24]}")


def handles_of_c_fail_with_their_text():
    """Without the secrets in it."""
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *HANDLES, *PLENTY) as watch:
            program.run("handles", 6)
            watch.end()
            counts = watch.counts("handle")
            check(
                (counts["created"], counts["released"], counts["alive"]) == (6, 6, 0), f"{counts}"
            )
            # If one creating function jumps to another, or calls it, that is a single failure of a
            # creation.
            errors = [
                (call["name"], call["result"], call["error"])
                for call in watch.calls()
                if call["failed"]
            ]
            opened = [one for one in errors if one[0].startswith("handle_open")]
            used = [one for one in errors if one[0] == "handle_use"]
            check(
                len(used) == 6
                and all(one[1:] == (9, "the handle is worn out, token=***") for one in used),
                f"{used}",
            )
            check(len(opened) >= 6 and all(one[1] == 7 for one in opened), f"{opened}")
            check(sum(one[2] == "the handle is not wanted" for one in opened) == 6, f"{opened}")
        with Watch(daemon, program.process.pid, *HANDLES, *PLENTY) as watch:
            program.run("misuse")
            counts = watch.end().counts("handle")
            check(
                counts["released"] == 1 and counts["unknown"] + counts["released_twice"] >= 2,
                f"{counts}",
            )


def what_is_recorded_is_shown_elsewhere():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "objects.jsonl"
        with idle_daemon() as daemon, Program() as program:
            with Watch(daemon, program.process.pid, *CLASSES, *PLENTY, "--record", path) as watch:
                program.run("fail", 3)
                program.run("keep", 2)
                watch.end()
        shown = subprocess.run(
            [LAGTRAP, "objects", "--read", path, "--tree"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for words in (
            "shop::Gadget::Gadget",
            "std::runtime_error: no gadget of size -1",
            "+ shop::Item::Item",
            "keep_items",
        ):
            check(words in shown, f"{words} is missing: {shown}")
        check(shown.index("Failures") < shown.index("created"), "failures come first")
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
        cut = subprocess.run(
            [LAGTRAP, "objects", "--read", path], capture_output=True, text=True, check=False
        )
        check(cut.returncode == 1 and "incomplete" in cut.stderr, cut.stderr)
        path.write_text("\n".join([lines[0], '{"object_calls":[[99999]]}']), encoding="utf-8")
        wrong = subprocess.run(
            [LAGTRAP, "objects", "--read", path], capture_output=True, text=True, check=False
        )
        check(wrong.returncode == 1 and f"{path}:2:" in wrong.stderr, wrong.stderr)


def what_costs_too_much_is_detached():
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, "--budget", "1") as watch:
            out = set()
            while not {"shop::Item::Item", "shop::Item::~Item"} <= out:
                program.run("hot", 200_000)
                if watch.client.poll() is not None:
                    break
                line = json.loads(watch.client.stdout.readline())
                out.update(watch.names[function] for function, _ in line.get("detached", []))
            check(
                {"shop::Item::Item", "shop::Item::~Item"} <= out, f"a class goes as a whole: {out}"
            )
            program.run("make", 3)
            watch.end()


def wrong_requests_say_what_is_right():
    with idle_daemon() as daemon, Program() as program:

        def refused(*options):
            done = subprocess.run(
                [
                    LAGTRAP,
                    "objects",
                    "--socket",
                    daemon.socket_path,
                    "--process",
                    str(program.process.pid),
                    *options,
                ],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            check(done.returncode == 1, f"{options}: {done.stdout}")
            return done.stderr

        check("--class NAME" in refused(), refused())
        check("arg0 to arg5" in refused("--create", "handle_open:arg9"), "a wrong place")
        check(
            "not-positive" in refused("--create", "handle_open:arg1*", "--error", "bad"),
            "a wrong failure",
        )
        check("sqlite" in refused("--preset", "oracle"), "an unknown preset")
        check("class Nothing" in refused("--class", "Nothing"), refused("--class", "Nothing"))
        check("regular expression" in refused("--class", "("), refused("--class", "("))


def a_breach_has_its_objects_in_the_bundle():
    event = (
        '<event name="work" threshold="1ms" trace-length="10s">'
        f'<function name="slow_work" binary="{PROGRAM}"/>'
        '<object class="Item|Gadget"/><object name="handle" create="handle_open:arg1*" '
        'use="handle_use:arg0" release="handle_close:arg0" message="handle_error:result" '
        'error="nonzero"/></event>'
    )
    with Daemon(event) as daemon, Program() as program:
        program.run("slow", 20)
        wait_for(
            lambda: any(path.stat().st_size for path in daemon.spool.rglob("objects.jsonl")),
            "the probes to be in",
        )
        program.run("fail", 3)
        program.run("keep", 4)
        program.run("handles", 2)
        bundle = daemon.wait_for_bundles(1)[0]
        objects = report(bundle)["delays"][0]["objects"]
        classes = {one["name"]: one for one in objects["classes"]}
        check(
            classes["shop::Item"]["created"] == 4 and classes["shop::Item"]["alive"] == 4,
            f"{classes}",
        )
        check(classes["shop::Gadget"]["failures"] == 3, f"{classes}")
        failures = {(one["function"], one["count"]) for one in objects["failures"]}
        check(
            ("shop::Gadget::Gadget", 3) in failures and ("handle_use", 2) in failures,
            f"{objects['failures']}",
        )
        text = subprocess.run(
            [LAGTRAP, "report", bundle], capture_output=True, text=True, check=True
        ).stdout
        for words in (
            "Objects",
            "std::runtime_error: no gadget of size -1",
            "the handle is worn out",
            "keep_items",
        ):
            check(words in text, f"{words} is missing: {text}")


def several_clients_watch_one_process():
    """Partly the same functions. A client that ends detaches only its own probes."""
    made = {MAKER: 1, "shop::Gadget::Gadget": 4, "shop::Item::Item": 4}

    def of_makers(daemon, program):
        return CallTrace(
            daemon, program.process.pid, MAKER, "--match", "^shop::(Gadget::Gadget|Item::Item)$"
        )

    def counted(tree):
        return dict(collections.Counter(call["function"] for call in tree["calls"]))

    def begins_again(daemon, program):
        """Once there is room, because another client has ended."""
        asked = subprocess.run(
            [
                LAGTRAP,
                "calls",
                "--socket",
                daemon.socket_path,
                "--process",
                str(program.process.pid),
                "--function",
                MAKER,
                "--json",
                "--for",
                "1ms",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        check(asked.returncode == 0 or "already" in asked.stderr, f"{asked.stderr}")
        return asked.returncode == 0

    with idle_daemon() as daemon, Program() as program, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY
    ) as watch, CallTrace(
        daemon, program.process.pid, "shop::Gadget::price", "--match", "^shop::Item::price$"
    ) as prices:
        with of_makers(daemon, program) as makers:
            program.run("make", 4)
            check(counted(makers.next_tree()) == made, f"{counted(makers.tree)}")
            for _ in range(4):
                check(
                    counted(prices.next_tree())
                    == {"shop::Gadget::price": 1, "shop::Item::price": 1},
                    f"{prices.tree}",
                )
        wait_for(lambda: begins_again(daemon, program), "the daemon to see that a client has left")
        program.run("make", 4)
        with of_makers(daemon, program) as makers:
            program.run("make", 4)
            check(counted(makers.next_tree()) == made, f"{counted(makers.tree)}")
        check(
            [counted(tree) for tree in prices.take(8)]
            == 8 * [{"shop::Gadget::price": 1, "shop::Item::price": 1}],
            "of all that came since",
        )
        program.run("make", 4)
        watch.end()
        gadgets = watch.counts("shop::Gadget")
        check(
            (gadgets["created"], gadgets["released"], gadgets["unknown"]) == (16, 16, 0),
            f"{gadgets}",
        )
        totals = watch.totals()
        check(
            all(
                totals[name] == 16
                for name in (
                    "shop::Gadget::Gadget",
                    "shop::Item::Item",
                    "shop::Gadget::price",
                    "shop::Item::price",
                )
            ),
            f"{totals}",
        )


def probes_are_out_when_the_daemon_is_killed():
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *CLASSES, *PLENTY):
            daemon.process.kill()
            daemon.process.wait()
        program.run("make", 3)
        program.run("fail", 3)
        check(program.process.poll() is None, "the program goes on")


if __name__ == "__main__":
    run(
        counts_equal_what_the_program_did,
        the_first_creation_of_a_new_daemon_has_its_stack,
        who_does_not_want_to_wait_is_told,
        stacks_say_who_had_the_living_created,
        a_deep_stack_is_whole,
        what_creates_or_releases_and_is_not_seen_is_named,
        calls_nest_as_they_were_made,
        failed_creations_say_why,
        handles_of_c_fail_with_their_text,
        what_is_recorded_is_shown_elsewhere,
        what_costs_too_much_is_detached,
        wrong_requests_say_what_is_right,
        a_breach_has_its_objects_in_the_bundle,
        several_clients_watch_one_process,
        probes_are_out_when_the_daemon_is_killed,
    )
