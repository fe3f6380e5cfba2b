// Detects busy waiting: loops that yield the CPU, retry a lock word, or spin on a kernel lock.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Sets Interval::spin where a thread spun, including waits for a CPU between two tries, and splits
// intervals in which spinning begins or ends. Needs several samples of a loop: a single call of
// sched_yield is not spinning.
void mark_spinning(const Recording& recording, std::vector<Interval>& intervals);

// Finds the probable holder of what the spinning intervals `spins` waited for: the thread of the
// same process that ran last before the spinning ended, and then left the function it had been in
// throughout. 0 if there is no clear candidate.
[[nodiscard]] std::uint32_t likely_spin_holder(const Recording& recording,
                                               const std::vector<Interval>& spins);

}  // namespace lagtrap::analysis
