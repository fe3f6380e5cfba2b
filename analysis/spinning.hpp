// Threads that wait without giving up: loops that yield the CPU, try a lock word again, or spin on a lock of the kernel.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// What a thread that was on a CPU at this stack spun on.
[[nodiscard]] SpinKind spin_of_stack(const Recording& recording, StackId stack);

// "calling sched_yield over and over": after where it did so.
[[nodiscard]] std::string_view words_of(SpinKind kind);

// Sets Interval::spin where a thread spun, waits for a CPU between two looks at the lock included. Cuts an interval in two where
// spinning begins or ends within it. A few samples of a loop are needed: one call of sched_yield is none.
void mark_spinning(const Recording& recording, std::vector<Interval>& intervals);

// Who probably held what the intervals, all of spinning, were for: the thread of the same process that ran last before
// the spinning ended, and then left the function in which it had been all that time. 0: nobody stands out.
[[nodiscard]] std::uint32_t likely_spin_holder(const Recording& recording, const std::vector<Interval>& spins);

}  // namespace lagtrap::analysis
