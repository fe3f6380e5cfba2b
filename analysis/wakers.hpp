// Who ended waits. For analysis/ only.
#pragma once

#include <cstdint>

#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"
#include "analysis/wait_groups.hpp"

namespace lagtrap::analysis {

[[nodiscard]] ThreadName name_with_unit(const Recording& recording, const trace::Delay& delay,
                                        std::uint32_t tid);

[[nodiscard]] WaitEnd end_of_wait(const Recording& recording, const Interval& wait, WaitKind kind);

// Sets how the waits of the group ended, by whom or what, and how often it was the same one.
void find_wakers(const Recording& recording, const trace::Delay& delay, const IntervalGroup& group,
                 ThreadDoing& doing);

}  // namespace lagtrap::analysis
