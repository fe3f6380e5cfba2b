// A lock that goes from thread to thread while one more waits for it: who had it when. Whoever ended that wait may have had it
// for a moment only, after a long wait of its own. Used inside analysis/ alone.
#pragma once

#include <vector>

#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Works out Recording::lock_turns from its threads' changes.
void find_lock_turns(Recording& recording);

// The intervals, with each wait for something that changed hands meanwhile in pieces: one for each thread that had it in turn,
// which counts as the piece's waker. All pieces but the last are Interval::handed_on.
[[nodiscard]] std::vector<Interval> by_holder(const Recording& recording, const std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
