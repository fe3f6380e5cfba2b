"""lagtrap objects finds classes and allocators, with and without symbols, and their memory."""

import pathlib
import shutil
import subprocess
import tempfile

from lagtrap_test import Daemon, check, run
from object_program import CLASSES, CREATED, HANDLES, PROGRAM, RELEASED, Program
from object_watch import PLENTY, Watch
from trace_client import SETTINGS, idle_daemon


def memory_is_what_the_calls_took():
    with idle_daemon() as daemon, Program() as program, Watch(
        daemon, program.process.pid, *CLASSES, *PLENTY
    ) as watch:
        check(watch.started["memory"] == "", f"{watch.started['memory']}")
        program.run("keep", 3)
        program.run("release")
        watch.end()
        made = [call for call in watch.calls("shop::Item::Item") if call["state"] == CREATED]
        gone = [call for call in watch.calls("shop::Item::~Item") if call["state"] == RELEASED]
        check(len(made) == 3 and len(gone) == 3, f"{len(made)} made, {len(gone)} gone")
        # 1,000 bytes in a glibc block, which has 8 bytes more and is a multiple of 16.
        check(
            all(
                call["taken"] == 1008 and call["given"] == 0 and call["allocations"] == 1
                for call in made
            ),
            f"{made}",
        )
        # The destructor called is the one that also frees the object itself: 32 bytes more, in a
        # block of 48.
        check(all(call["given"] == 1008 + 48 and call["left"] == 0 for call in gone), f"{gone}")


def what_ends_by_a_jump_to_the_allocator_is_seen_to_its_end():
    handles = tuple(
        "handle_close:arg0 handle_drop:arg0:never" if option == "handle_close:arg0" else option
        for option in HANDLES
    )
    with idle_daemon() as daemon, Program() as program:
        with Watch(daemon, program.process.pid, *handles, *PLENTY) as watch:
            program.run("drop", 30)
            watch.end()
            dropped = watch.calls("handle_drop")
            # 4 bytes, in the smallest block.
            check(
                len(dropped) == 30
                and all(
                    (call["given"], call["left"], call["state"]) == (32, 0, RELEASED)
                    for call in dropped
                ),
                f"{dropped}",
            )
            check(watch.totals()["handle_drop"] == 30, f"{watch.totals()}")
        with Watch(daemon, program.process.pid, *handles, *PLENTY, "--no-memory") as watch:
            program.run("drop", 30)
            watch.end()
            dropped = watch.calls("handle_drop")
            check(
                len(dropped) == 30 and not any(call["given"] or call["left"] for call in dropped),
                f"without memory they end at the jump: {dropped}",
            )


def allocators_are_found_by_their_functions():
    """For allocators other than glibc's, the requested size counts."""
    for library in "libjemalloc.so.2", "libtcmalloc_minimal.so.4":
        with idle_daemon() as daemon, Program(preload=library) as program:
            with Watch(daemon, program.process.pid, *CLASSES, *PLENTY) as watch:
                notes = watch.started["notes"]
                check(
                    watch.started["memory"] == ""
                    and any(library.split(".")[0] in note for note in notes),
                    f"{watch.started}",
                )
                # A function whose memory is not counted would have a note of its own.
                check(len([note for note in notes if "memory" in note]) == 1, f"{library}: {notes}")
                program.run("keep", 3)
                program.run("release")
                program.run("fail", 5)
                watch.end()
            made = [call for call in watch.calls("shop::Item::Item") if call["state"] == CREATED]
            gone = [call for call in watch.calls("shop::Item::~Item") if call["state"] == RELEASED]
            check(
                len(made) == 3
                and all(
                    (call["taken"], call["given"], call["allocations"]) == (1000, 0, 1)
                    for call in made
                ),
                f"{library}: {made}",
            )
            # The object's own memory was allocated before its constructor was called.
            check(
                len(gone) == 3 and all((call["given"], call["left"]) == (1000, 0) for call in gone),
                f"{library}: {gone}",
            )
            check(watch.counts("shop::Gadget")["failures"] == 5, "exceptions pass operator new")


def classes_without_symbols_have_virtual_functions():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "stripped"
        shutil.copy(PROGRAM, path)
        subprocess.run(["strip", "--strip-all", path], check=True)
        with idle_daemon() as daemon, Program(path) as program, Watch(
            daemon, program.process.pid, *CLASSES, *PLENTY
        ) as watch:
            check(
                set(watch.started["classes"]) == {"shop::Item", "shop::Gadget"}, f"{watch.started}"
            )
            check(
                any("virtual table" in note for note in watch.started["notes"]),
                f"{watch.started['notes']}",
            )
            program.run("make", 5)
            program.run("keep", 7)
            program.run("release")
            watch.end()
            totals = watch.totals()
            # Both destructors, then price().
            check(
                totals["shop::Gadget::virtual #2"] == 5 and totals["shop::Item::virtual #2"] == 5,
                f"{totals}",
            )
            check(totals["shop::Item::virtual #1 (destructor)"] == 7, f"{totals}")
            check(totals["shop::Gadget::virtual #1 (destructor)"] == 5, f"{totals}")
            check(totals["shop::Item::virtual #0 (destructor)"] == 12, f"{totals}")


def classes_of_a_large_program_are_found():
    """Hundreds of virtual functions, without a symbol; what cannot be seen of them is reported
    once."""
    with Daemon(SETTINGS) as daemon, subprocess.Popen(
        [shutil.which("gdb"), "-nx", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as gdb:
        gdb.stdin.write("python print('ready', flush=True)\n")
        gdb.stdin.flush()
        line = ""
        while "ready" not in line:
            line = gdb.stdout.readline()
            check(line, "gdb is ready")
        with Watch(daemon, gdb.pid, "--class", ".*operation", *PLENTY) as watch:
            for number in range(7):
                gdb.stdin.write(
                    f"python print('is', gdb.parse_and_eval('{number}*2'), flush=True)\n"
                )
                gdb.stdin.flush()
                while f"is {number * 2}" not in line:
                    line = gdb.stdout.readline()
                    check(line, "gdb has ended")
            watch.end()
        gdb.communicate("quit\n", timeout=60)
        check(
            len(watch.started["classes"]) > 50 and len(watch.names) > 200,
            f"{len(watch.started['classes'])}, {len(watch.names)}",
        )
        for part in "virtual tables in memory", "no creating function found":
            check(
                sum(part in note for note in watch.started["notes"]) == 1,
                f"{watch.started['notes']}",
            )
        check(
            watch.totals() and all(name.startswith("expr::") for name in watch.totals()),
            f"{watch.totals()}",
        )


if __name__ == "__main__":
    run(
        memory_is_what_the_calls_took,
        what_ends_by_a_jump_to_the_allocator_is_seen_to_its_end,
        allocators_are_found_by_their_functions,
        classes_without_symbols_have_virtual_functions,
        classes_of_a_large_program_are_found,
    )
