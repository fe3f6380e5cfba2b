// What one hit of a marker costs the program that makes it, before any program of ours runs: the kernel's own part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::daemon {

// What the kernel does at a marker.
enum class ProbeKind {
    Simple,      // an instruction that it steps over or emulates: nops of USDT probes, push at a function's entry
    Stepped,     // any other instruction: it is copied and single-stepped
    Return,      // a function's return, beside the probe of its entry
    Tracepoint,  // in the kernel
    Scheduler,   // a program at the scheduler's own tracepoints
};

struct ProbeCosts {
    std::uint64_t simple_ns = 650;
    std::uint64_t stepped_ns = 3000;
    std::uint64_t return_ns = 500;
    std::uint64_t tracepoint_ns = 250;
    std::uint64_t scheduler_ns = 100;  // with a look at the scope
    bool measured = false;             // else those above, of no machine in particular

    [[nodiscard]] std::uint64_t of(ProbeKind kind) const;
    // The mean over the markers of an event; of none: simple_ns.
    [[nodiscard]] std::uint64_t mean(const std::vector<ProbeKind>& kinds) const;
};

// By the bytes of the instruction; Stepped where they are not known. x86-64; elsewhere Simple.
[[nodiscard]] ProbeKind probe_kind_of(std::string_view code);

// Probes functions of this program itself and calls them some hundred times: some milliseconds, and up to a second where
// the kernel detaches slowly. What cannot be measured (other processors, probes refused) stays as above.
[[nodiscard]] ProbeCosts measure_probe_costs();

}  // namespace lagtrap::daemon
