// Runs tasks that mostly wait on many threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lagtrap::daemon {

// Calls `task` once for each number from 0 to `count` - 1, on up to 32 threads (fewer if the system
// has no more), and returns when all calls are done. `task` must be thread-safe and must not throw.
void do_at_once(std::size_t count, const std::function<void(std::size_t number)>& task);

}  // namespace lagtrap::daemon
