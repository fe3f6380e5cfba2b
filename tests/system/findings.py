"""Checks the lines "data NAME JSON" that steps print."""

import json

from machine import MachineFailure, say

NEEDED = (
    "kernel",
    "kernel types (BTF)",
    "probes in programs",
    "uprobes",
    "cookies of probes",
    "loops in BPF",
    "BPF ring buffer",
    "tracepoint programs",
    "names of tracepoints",
    "context switches",
    "programs of samplers",
    "sampling of CPUs",
    "run time of BPF programs",
    "settings",
    "cgroup v2",
)
KERNELS = {"debian12": "Linux 6.1.", "debian13": "Linux 6.12."}


def data(lines, name):
    return [json.loads(line.split(" ", 2)[2]) for line in lines if line.startswith(f"data {name} ")]


def expect(condition, what):
    if not condition:
        raise MachineFailure(what)


def check_doctor(name, lines, daemon):
    """The output of `lagtrap doctor` on the machine, whose daemon is "ok" or "missing"."""
    (answer,) = data(lines, "doctor")
    findings = {finding["name"]: finding for finding in answer["findings"]}
    expect(answer["ok"], f"lagtrap doctor finds something missing: {findings}")
    for finding in findings.values():
        if finding["state"] != "ok":
            say(
                f"  {finding['name']}: {finding['state']}: {finding['reason']}; {finding['advice']}"
            )
    for needed in NEEDED:
        expect(findings[needed]["state"] == "ok", f"lagtrap doctor: {findings[needed]}")
    expect(
        findings["kernel"]["reason"].startswith(KERNELS[name]),
        f"lagtrap doctor: {findings['kernel']}",
    )
    expect(findings["CPUs"]["reason"] == "2 online (0-1)", f"lagtrap doctor: {findings['CPUs']}")
    many = findings["many probes at once"]
    if name == "debian12":
        # The only thing that Linux 6.1 lacks: what, why, and what works instead.
        expect(
            many["state"] == "works with a fallback"
            and "the kernel lacks it (Invalid argument)" in many["reason"]
            and "one by one" in many["advice"]
            and "Linux 6.6" in many["advice"],
            f"lagtrap doctor: {many}",
        )
    else:
        expect(many["state"] == "ok", f"lagtrap doctor: {many}")
    said = findings["daemon"]
    expect(said["state"] == daemon, f"lagtrap doctor: {said}")
    if daemon == "ok":
        expect(
            "1 events armed, 0 disabled by the budget, 0 off" in said["reason"],
            f"lagtrap doctor: {said}",
        )
        expect(findings["uploader"]["state"] == "ok", f"lagtrap doctor: {findings['uploader']}")
    else:
        expect("systemctl start" in said["reason"], f"lagtrap doctor: {said}")


def check_recording(report, *programs, gap=None):
    """A report has each program's delay, as long as the program says, and its function if it
    burnt CPU time. Nothing is lost, except for a CPU's gap, which is reported."""
    quality = report["quality"]
    # Copies of stacks have a budget, which programs started meanwhile may use up; those of the
    # delays are complete.
    lost = {what: count for what, count in quality["lost"].items() if what != "copies of stacks"}
    # A delay that only slept has fewer than twenty of them, of which one may hit a page that the
    # kernel is copying.
    stacks = quality["delayed_stacks"]
    short = round(stacks * (1 - (quality["delayed_stacks_complete"] or 0)))
    expect(
        short <= max(1, 0.05 * stacks),
        f"{short} of {stacks} stacks of the delays are not whole: {quality}",
    )
    if gap is None:
        expect(not lost and not quality["omitted"], f"a recording lacks something: {quality}")
    else:
        # The kernel reports no switch for what the CPU did last before it went offline.
        expect(
            set(lost) <= {"process changes", "context switches"},
            f"a recording lacks more than it may: {quality}",
        )
        expect(
            any(gap in sentence for sentence in quality["omitted"]),
            f"a recording says nothing of {gap}: {quality}",
        )
    for program in programs:
        found = [delay for delay in report["delays"] if delay["begin_tid"] == program["tid"]]
        expect(len(found) == 1, f"{len(found)} delays of {program}")
        duration, functions = found[0]["duration_ns"], [
            function["name"] for function in found[0]["functions"]
        ]
        expect(
            program["slow_inner_ns"] <= duration <= program["slow_outer_ns"],
            f"{duration} ns were recorded of {program}",
        )
        if program["kind"] == "cpu":
            expect(
                any(program["planted_function"] in name for name in functions),
                f"{program} was not sampled: {functions}",
            )
        before = found[0]["before"]
        expect(
            before and before["length_ns"] > 0,
            f"nothing is known of the time before the recording: {before}",
        )
        if program["kind"] == "cpu" and duration > 5e9:
            names = [process["name"] for process in before["processes"]]
            expect(
                any(name.startswith("planted") for name in names),
                f"the program is not known from before: {before}",
            )
        say(
            f"  recorded: {program['kind']}, {duration / 1e6:.0f} ms, {found[0]['samples']} "
            f"samples; lost {quality['lost'] or 'nothing'}"
            + "".join(f"; {sentence}" for sentence in quality["omitted"])
        )
