// Finds whether a thread waited for a disk because its control group was at a limit of bytes or
// operations per second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct HeldBack {
    std::string disk;   // empty if most of the waits had another reason
    std::string group;  // the one at its limit, the thread's or one around it; empty: of all groups
    bool writes = false;
    std::uint64_t bytes_per_s = 0, operations_per_s = 0;  // 0 if it was not at this limit
};

// `waits` are Blocked. The limit is the one that held back most of them.
[[nodiscard]] HeldBack held_back_in(const Recording& recording, const std::vector<Interval>& waits);

}  // namespace lagtrap::analysis
