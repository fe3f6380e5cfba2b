// Whether a thread is still the one that it was.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// Whether the thread (or, for the process as a whole, thread = process) that did something at `at_ns` (CLOCK_MONOTONIC)
// still lives. A thread of the same number that started later is another one. Any thread may ask.
[[nodiscard]] bool thread_alive(std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns);

}  // namespace lagtrap::daemon
