// Runs whose durations do not speak of the program: found by what the machine says of them, and by a robust rule on
// the logarithm of the duration. Pure functions; any thread.
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
    double limit = 3.5;          // modified z beyond which a run differs plainly from the others
    std::size_t least_runs = 8;  // of a group; smaller ones are judged by reasons alone
};

struct DirtyVerdict {
    std::string
        rule;  // "suspended", "clock-stepped", "missing-stage", "aborted", "failed", "cancelled", "duration"; empty: a clean run
    std::string reason;  // one sentence for people; empty: a clean run
    [[nodiscard]] bool dirty() const { return !rule.empty(); }
};

// A verdict for each run, in their order. Groups are runs of one event, start and build. Reasons come first; runs that
// have one are left out of the statistics. The rest is compared by the modified z of Iglewicz and Hoaglin (How to Detect
// and Handle Outliers, 1993) on log(duration): 0.6745 (x - median) / MAD, both sides; where the MAD is 0, the distance
// from the median in standard deviations that the quartiles tell; where these are equal too, nothing differs.
//
// The rule finds what is unlike other runs, and so are most delays: use its verdicts where runs are compared, not where
// causes of delays are sought. For those the reasons alone count: set options.limit to infinity.
[[nodiscard]] std::vector<DirtyVerdict> find_dirty_runs(std::span<const DirtyCandidate> runs,
                                                        const DirtyOptions& options = {});

}  // namespace lagtrap::server::reports
