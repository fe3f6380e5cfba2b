// Measures what the kernel's part of one marker hit costs the watched program, without the BPF
// program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::daemon {

// What the kernel does at a marker.
enum class ProbeKind {
    // skips or emulates the instruction: nop of a USDT probe, push at a function's entry
    Simple,
    Stepped,     // copies and single-steps any other instruction
    Return,      // a function's return, in addition to the probe at its entry
    Tracepoint,  // in the kernel
    Scheduler,   // a program at the scheduler's tracepoints
};

struct ProbeCosts {
    std::uint64_t simple_ns = 650;
    std::uint64_t stepped_ns = 3000;
    std::uint64_t return_ns = 500;
    std::uint64_t tracepoint_ns = 250;
    std::uint64_t scheduler_ns = 100;  // including the check of the scope
    // false: the defaults above, typical values of no particular machine
    bool measured = false;

    [[nodiscard]] std::uint64_t of(ProbeKind kind) const;
    // Mean over the markers of an event; simple_ns if `kinds` is empty.
    [[nodiscard]] std::uint64_t mean(const std::vector<ProbeKind>& kinds) const;
};

// Judges the first instruction in `code`; Stepped if it is unknown. On architectures other than
// x86-64 always Simple.
[[nodiscard]] ProbeKind probe_kind_of(std::string_view code);

// Probes functions of this program and calls them some hundred times. Takes some milliseconds, or
// up to a second if the kernel detaches slowly. If something cannot be measured (other
// architectures, refused probes), the defaults remain.
[[nodiscard]] ProbeCosts measure_probe_costs();

}  // namespace lagtrap::daemon
