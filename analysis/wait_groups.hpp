// Intervals of a thread, by what it did and why. For analysis/ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/block_reason.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_kind.hpp"

namespace lagtrap::analysis {

// Intervals of one kind, for one reason.
struct IntervalGroup {
    TimeKind kind = TimeKind::Unknown;
    WaitKind wait = WaitKind::Other;
    SpinKind spin = SpinKind::None;
    UnknownTime unknown = UnknownTime::NotRecorded;
    bool throttled = false;
    BlockReason block = BlockReason::Unknown;
    std::string reason;
    std::uint64_t time_ns = 0;
    std::vector<Interval> intervals;

    // From the begin of the first interval to the end of the last one; there is one.
    [[nodiscard]] Window window() const {
        return {intervals.front().begin_ns, intervals.back().end_ns};
    }
};

// Longest first.
[[nodiscard]] std::vector<IntervalGroup> groups_of(const Recording& recording,
                                                   std::vector<Interval> intervals);

// Waits at two or three places of a program that each take a sixth of their group's time become
// groups of their own, because each has a holder of its own. The rest stays with the longest.
[[nodiscard]] std::vector<IntervalGroup> split_by_place(const Recording& recording,
                                                        std::vector<IntervalGroup> groups);

}  // namespace lagtrap::analysis
