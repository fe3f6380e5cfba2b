// Fills the part of a delay before its recording from the kernel's counters.
#pragma once

#include <vector>

#include "analysis/thread_name.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Replaces the delay's intervals of Gap::Outside that lie before the recording. The longest waits
// are placed at their real times. A wait that was in progress when the recording began becomes one
// interval with its recorded rest, and takes its stack. The intervals between these waits have the
// right sums in an arbitrary order, because their real times are unknown.
void fill_in_before(const Recording& recording, const trace::Delay& delay,
                    std::vector<Interval>& intervals);

// Names a thread: as recorded, or as it was called when it ended a wait of the delay before the
// recording, because the recording may have missed it or seen only its end. Does not set the unit.
[[nodiscard]] ThreadName name_thread(const Recording& recording, const trace::Delay& delay,
                                     std::uint32_t tid);

// What a thread in this wait class waited for, in the words that block_reason.hpp uses for stacks.
[[nodiscard]] std::string_view reason_of_class(std::uint32_t wait_class);
// Number of wait classes.
[[nodiscard]] std::uint32_t wait_classes();

}  // namespace lagtrap::analysis
