// What a thread did in intervals of one kind: where, why, and who or what ended its waits. For
// analysis/ only.
#pragma once

#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"
#include "analysis/wait_groups.hpp"

namespace lagtrap::analysis {

// `group` is not empty. Sets who had the CPU that the thread waited for, but not what they computed
// (CpuHolder::function, caller and request).
[[nodiscard]] ThreadDoing doing_in(const Recording& recording, const trace::Delay& delay,
                                   const IntervalGroup& group);

// Sets where in the program and in the kernel most of the group's time went, and whether that was
// in a signal handler, work of the kernel or page faults.
void find_place(const Recording& recording, const trace::Delay& delay, const IntervalGroup& group,
                ThreadDoing& doing);

}  // namespace lagtrap::analysis
