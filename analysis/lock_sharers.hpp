// Who else may have held a lock that several threads can hold. For analysis/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/call_tree.hpp"
#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Number of threads of the holder's process, other than the holder and the waiting thread, that
// were in `place` during these waits and did not wait for such a lock there. 0 if the process has
// too many threads to look.
[[nodiscard]] std::uint32_t other_threads_in(const Recording& recording, const CallPlace& place,
                                             const std::vector<Interval>& waits,
                                             const Thread& holder);

}  // namespace lagtrap::analysis
