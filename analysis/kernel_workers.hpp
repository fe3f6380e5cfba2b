// Workers of the kernel pass on what others asked for: a thread queues work, or a disk has written.
// For analysis/ only.
#pragma once

#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// True for threads of the kernel itself.
[[nodiscard]] bool is_kernel_thread(const Recording& recording, std::uint32_t tid);

// Makes waits that a worker without work of its own ended count as ended by whoever had just given
// it that work: a thread or a device.
void blame_givers_of_work(const Recording& recording, std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
