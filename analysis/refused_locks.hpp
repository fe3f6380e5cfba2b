// Locks that programs ask for again and again, sleeping in between. For analysis/ only.
#pragma once

#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Makes sleeps between refusals of a lock on a file count as waits for the only thread of the
// process that held it (Interval::outlasting). A single sleep after a refusal may be for anything,
// unless the program is known to wait for the lock.
void blame_refusers(const Recording& recording, std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
