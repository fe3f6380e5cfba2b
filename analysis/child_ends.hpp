// Waits for the end of a child process that the kernel's wakeups do not show as such. For analysis/
// only.
#pragma once

#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// The last thread of a process to end wakes its parent. If another thread of it ended the process,
// the wait counts as ended by that one.
void blame_enders_of_children(const Recording& recording, std::vector<Interval>& intervals);

// A thread that sleeps again and again at one place, until a child process ends, probably waited
// for that (Interval::likely).
void blame_polled_children(const Recording& recording, std::vector<Interval>& intervals);

// Whether a thread did hardly anything between these sleeps, as if it checked for something.
[[nodiscard]] bool is_polling(const Recording& recording, const std::vector<Interval>& sleeps);

}  // namespace lagtrap::analysis
