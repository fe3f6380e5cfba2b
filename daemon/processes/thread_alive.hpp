// Checks whether a thread is still alive.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// True if the thread that did something at `at_ns` (CLOCK_MONOTONIC) is still alive. Pass tid = pid
// for the process. A thread with the same number that started later does not count. Thread-safe.
[[nodiscard]] bool thread_alive(std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns);

}  // namespace lagtrap::daemon
