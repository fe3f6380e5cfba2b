// Tasks that mostly wait, done by many threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lagtrap::daemon {

// Calls `task` with 0 to `count` - 1, each once, on up to 32 threads (fewer where no more can be had), and returns when all are
// done. `task` must bear being called by several threads, and must not throw.
void do_at_once(std::size_t count, const std::function<void(std::size_t number)>& task);

}  // namespace lagtrap::daemon
