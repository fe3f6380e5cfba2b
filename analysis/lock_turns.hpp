// Finds who held a lock when it passed between threads while another one waited. The thread that
// ended that wait may have held it only briefly, after a long wait of its own. For analysis/ only.
#pragma once

#include <vector>

#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Fills Recording::lock_turns from the changes of its threads, and sorts Recording::lock_sightings.
// The mmap_lock of each process becomes a lock of its own.
void find_lock_turns(Recording& recording);

// Splits each wait for something that changed hands during the wait, into one piece per thread that
// held it in turn. That thread counts as the piece's waker. All pieces but the last are
// Interval::handed_on.
[[nodiscard]] std::vector<Interval> by_holder(const Recording& recording,
                                              const std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
