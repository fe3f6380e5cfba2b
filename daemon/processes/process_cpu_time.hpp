// The CPU time of another process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// Of all its threads, those that ended among them, since it began; nullopt: it is gone. Free to be used from any thread.
[[nodiscard]] std::optional<std::chrono::nanoseconds> process_cpu_time(std::uint32_t pid);

}  // namespace lagtrap::daemon
