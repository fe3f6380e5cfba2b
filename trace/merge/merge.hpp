// The merge turns three logs into one time-ordered Perfetto trace with names, and the system file.
//
// Packet sequences of the trace:
//   1      clock snapshot, trace uuid, system info, process trees (the initial one and every later
//          change)
//   2      runs and stages: track descriptors and slices
//   3      CPU samples (timebase cpu-clock)
//   4      stacks at which threads blocked (timebase sched:sched_switch, name "off-cpu")
//   16+CPU sched_switch and sched_waking of that CPU
// All time stamps are CLOCK_BOOTTIME, and packets are in time order.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.hpp"
#include "trace/names/symbolizer.hpp"

namespace lagtrap::trace {

struct MergeOptions {
    SymbolizerOptions symbols;
    std::size_t reorder_window_records = 65536;  // of each log
    std::size_t stacks_limit_bytes = 96 << 20;
    std::size_t runs_limit_bytes = 32 << 20;  // held in memory; the rest goes to a temporary file
    std::size_t callstacks_limit = 300'000;   // interned per sequence before its numbers restart
    std::size_t delays_limit = 10'000;        // most delays listed in the system file
};

struct MergeSummary {
    std::string session_id;
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t samples = 0;
    std::uint64_t switches = 0;
    // later than the reorder window allows; counted as lost in the system file
    std::uint64_t late_records = 0;
    std::uint64_t trace_bytes = 0;
    bool partial = false;  // the capture was cut short, or a log is torn or missing
};

// Reads session.json and the three logs of `capture_directory` and writes trace.pftrace and
// system.xml into it, each atomically. Uses one thread, memory within the limits of the options
// whatever the capture's length, and a temporary file for further runs. Errors: no readable
// session, logs of another session, no space.
[[nodiscard]] Result<MergeSummary> merge_capture(const std::filesystem::path& capture_directory,
                                                 const MergeOptions& options = {});

}  // namespace lagtrap::trace
