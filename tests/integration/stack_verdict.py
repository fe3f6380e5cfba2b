"""Compares recorded stacks with what the planted programs know of their own."""

import collections
import re

from lagtrap_test import check
from recorded_stacks import COMPLETE, ENDS, GAP, MOST_FRAMES, TOO_DEEP

LEAST_SEEN = 5  # of each thread, so that something was checked
# Stacks that by nature end elsewhere than at the thread's first frame.
ENDS_ELSEWHERE = {"frames_128": TOO_DEEP, "frames_500": TOO_DEEP, "bare": GAP, "bare_frame": GAP}
# Reasons, outside the unwinder, for which stacks may stop short; the frames they have must still be
# right.
NEW_CODE = ("no process", "no mapping", "no table", "no stack")
MAY_STOP = {
    "reopened_libraries": (
        NEW_CODE + ("gap",),
        "a library's mapping is known a millisecond or two after it was made, and what "
        "it does when it is closed has no unwind information",
    ),
    "fork_storm": (
        NEW_CODE + ("bad address",),
        "so is a child; and one that ends has no memory any more",
    ),
    "longjmp": (
        ("gap", "unsupported"),
        "within glibc's longjmp the frame is found by registers that hold no frame",
    ),
    # The end of makecontext's stack is reached by a return without a call, before which glibc has
    # no unwind information.
    "fiber": (("gap",), "the function under the fiber's first has no unwind information"),
    "exceptions": (
        ("gap", "unsupported"),
        "the last instructions before a landing pad are between two frames",
    ),
    "watched": (
        ("no mapping", "no table", "gap"),
        "the kernel's own page for probes has no unwind information",
    ),
}
# After a fork, every page of both processes is copied on its next write. While the kernel does
# that, the page is absent; a thread that writes to its stack is then in the kernel.
PAGE_COPIED = "bad address, in the kernel"
# How many of their stacks are complete depends on how soon the machine lets the daemon look; that
# some are does not.
KNOWN_LATE = {"reopened_libraries": ("deep_two_enter", "deep_three_enter"), "fork_storm": ()}
# Where frames may be found by frame pointers, if that is reported: the linker makes no unwind
# information for the PLT of a library without other .eh_frame, and gcc makes none for what a
# library does when it is closed.
BY_FRAME_POINTER = (*ENDS_ELSEWHERE, "fiber", "debug_frame", "reopened_libraries")


def expected_base(scenario):
    """The noted frames by name, outermost first."""
    return re.compile(f'^{scenario["outer"]}(?: (?:{scenario["climb"]})){{{scenario["frames"]}}}$')


class Verdict:
    """Observations of one scenario."""

    def __init__(self, scenario):
        self.name, self.scenario = scenario["name"], scenario
        self.base = tuple(scenario["base"])
        self.inner = re.compile(f'^{scenario["inner"]}$')
        self.allowed = set(re.findall(r"deep_\w+|lib|plt|vdso|uprobes", scenario["inner"])) | {
            "lib"
        }
        for name, endings in re.findall(r"(deep_\w+)\(([_\w|]+)\)", scenario["inner"]):
            self.allowed |= {name + ending for ending in endings.split("|")}
        self.ends, self.seen, self.wrong, self.short, self.between = (
            collections.Counter(),
            0,
            [],
            [],
            0,
        )
        self.whole_through = collections.Counter()
        self.may_end = set(MAY_STOP.get(self.name, ((), ""))[0]) | {
            ENDS[ENDS_ELSEWHERE.get(self.name, COMPLETE)],
            "complete",
            PAGE_COPIED,
            "between",
        }
        asleep = self.name == "main" or self.name.endswith(
            "_long"
        )  # all the time: seen once, when a capture begins
        self.least = 1 if asleep else LEAST_SEEN

    def fail(self, why, capture, stack):
        self.wrong.append(f"{self.name}: {why}\n{capture.describe(stack, self.base)}")

    def count(self, end, times, description=""):
        self.seen += times
        self.ends[end] += times
        if end not in self.may_end:
            self.short.append(f"{self.name}: {times} times short\n{description}")

    def inner_fits(self, tokens):
        return self.inner.match(" ".join(reversed(tokens)))

    def judge(self, capture, stack, times, in_kernel):
        """One stack, seen this many times: all of it right, or short and right as far as it
        reaches."""
        end = ENDS[stack.end]
        if end == "bad address" and in_kernel:
            end = PAGE_COPIED
        tokens = capture.tokens(stack)
        if self.name == "exceptions" and any(
            frame.name().startswith("_Unwind_R") for frame in capture.frames(stack)
        ):
            if (
                stack.frames[-len(self.base) :] != self.base
                or not self.inner_fits(tokens[: -len(self.base)])
                or capture.not_called(stack)
            ):
                self.between += times
                return self.count("between", times)
        self.count(
            end, times, capture.describe(stack, self.base) if end not in self.may_end else ""
        )
        if stack.by_frame_pointer and self.name not in BY_FRAME_POINTER:
            return self.fail("found by frame pointers, which the program has not", capture, stack)
        if ENDS_ELSEWHERE.get(self.name) == GAP and tokens[0] in ("deep_bare", "deep_bare_frame"):
            if stack.end == COMPLETE and not stack.by_frame_pointer:
                self.fail(
                    "called complete, and certain, though there is no unwind information",
                    capture,
                    stack,
                )
            if stack.by_frame_pointer:
                return None
        elif ENDS_ELSEWHERE.get(self.name) == TOO_DEEP and end != PAGE_COPIED:
            whole = ("deep_stand",) == tuple(tokens[:1]) and stack.frames[1:] == self.base[
                : MOST_FRAMES - 1
            ]
            if stack.end != TOO_DEEP or len(stack.frames) != MOST_FRAMES or not whole:
                self.fail("is not the innermost 127 frames of a deeper stack", capture, stack)
            return None
        if stack.end == COMPLETE:
            self.whole_through.update(dict.fromkeys(tokens, times))
            return self.judge_complete(capture, stack, tokens)
        return self.judge_short(capture, stack, tokens)

    def judge_complete(self, capture, stack, tokens):
        if stack.frames[-len(self.base) :] != self.base:
            return self.fail("does not stand on the noted frames", capture, stack)
        if not self.inner_fits(tokens[: -len(self.base)]):
            return self.fail(
                f"what stands on the noted frames is not {self.inner.pattern}", capture, stack
            )
        wrong = [
            place
            for place in capture.not_called(stack)
            if place < len(stack.frames) - len(self.base)
        ]
        return (
            self.fail(f"no call stands before frame {wrong[0]}", capture, stack) if wrong else None
        )

    def judge_short(self, capture, stack, tokens):
        """Ends early: a whole stack without some of its outermost frames, or within what is
        above the noted ones."""
        for known in range(min(len(self.base), len(stack.frames) - 1), 0, -1):
            if stack.frames[-known:] == self.base[:known]:
                if not self.inner_fits(tokens[:-known]):
                    self.fail(
                        f"short, and what stands on the noted frames is not {self.inner.pattern}",
                        capture,
                        stack,
                    )
                return
        strange = [token for token in tokens if token not in self.allowed]
        if strange or capture.not_called(stack):
            self.fail(
                "short, and with frames that cannot be there: "
                f"{strange or capture.not_called(stack)}",
                capture,
                stack,
            )

    def too_few_complete(self):
        """Describes in a line what is wrong with a scenario whose stacks may stop short; None if
        nothing is."""
        complete = self.ends["complete"]
        if self.name not in KNOWN_LATE:
            return (
                f"{complete} of {self.seen} stacks are complete, fewer than half"
                if complete * 2 < self.seen
                else ""
            )
        missing = [name for name in KNOWN_LATE[self.name] if not self.whole_through[name]]
        if missing:
            return f"no stack through {' and '.join(missing)} is complete"
        return (
            ""
            if complete >= LEAST_SEEN
            else f"{complete} of {self.seen} stacks are complete, fewer than {LEAST_SEEN}"
        )

    def line(self):
        share = 100 * self.ends["complete"] / self.seen if self.seen else 0
        others = ", ".join(
            f"{count} {end}" for end, count in sorted(self.ends.items()) if end != "complete"
        )
        return (
            f"  {self.name:20} {self.seen:6} stacks of {len(self.base)} frames and more, "
            f"{share:5.1f} % complete {others}"
        )


def judge(verdict, capture, tids):
    """Adds a capture's stacks of some threads to the verdict on their scenario."""
    counted = collections.Counter(
        (seen.stack, bool(seen.in_kernel)) for tid in tids for seen in capture.seen[tid]
    )
    for (number, in_kernel), times in counted.items():
        if number in capture.stacks:
            verdict.judge(capture, capture.stacks[number], times, in_kernel)
        else:
            verdict.count("no stack", times)


def children_of(capture, pid):
    return [child for child, (parent, _) in capture.parents.items() if parent == pid]


def check_base(capture, scenario):
    """The noted frames are the planted ones: a check of the planted program itself."""
    pid = scenario["pid"]
    mappings = capture.mappings[pid]
    check(mappings, f"{scenario['name']}: no mappings of process {pid} were recorded")
    stack = next(iter(capture.stacks.values()))._replace(
        pid=pid, frames=tuple(scenario["base"]), at_ns=1 << 62
    )
    names = " " + " ".join(reversed(capture.tokens(stack)))
    check(
        expected_base(scenario).match(names),
        f"{scenario['name']} noted {names}, not {expected_base(scenario).pattern}",
    )
