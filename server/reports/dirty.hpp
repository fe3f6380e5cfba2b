// Finds runs whose durations say nothing about the program: by what the machine reported about
// them, and by a robust rule on the logarithm of the duration. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server::reports {

struct DirtyCandidate {
    std::string_view event;
    std::string_view build;
    trace::StartKind start = trace::StartKind::Unknown;
    std::uint64_t duration_ns = 0;
    std::uint32_t reasons = 0;  // enum trace::DirtyReason
};

struct DirtyOptions {
    double limit = 3.5;        // modified z-score above which a run clearly differs from the others
    std::size_t min_runs = 8;  // of a group; smaller groups are judged by reasons only
};

struct DirtyVerdict {
    // "suspended", "clock-stepped", "missing-stage", "aborted", "failed", "cancelled" or
    // "duration"; empty: a clean run.
    std::string rule;
    std::string reason;  // a sentence for people; empty: a clean run
    [[nodiscard]] bool dirty() const { return !rule.empty(); }
};

// A verdict for each run, in order. Runs are grouped by event, start and build. Runs with a reason
// are dirty and excluded from the statistics. The others are compared by the modified z-score of
// Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993) of log(duration): 0.6745 (x -
// median) / MAD, on both sides. If the MAD is 0, the quartiles estimate the standard deviation; if
// they are equal too, nothing differs.
//
// The rule finds runs that are unlike others, and most delays are. Use its verdicts to compare
// runs, not to search for causes of delays. To judge by reasons only, set options.limit to
// infinity.
[[nodiscard]] std::vector<DirtyVerdict> find_dirty_runs(std::span<const DirtyCandidate> runs,
                                                        const DirtyOptions& options = {});

}  // namespace lagtrap::server::reports
