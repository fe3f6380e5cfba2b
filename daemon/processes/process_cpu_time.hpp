// The CPU time of another process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// Of all its threads since it started, including ended ones. nullopt if it is gone. Thread-safe.
[[nodiscard]] std::optional<std::chrono::nanoseconds> process_cpu_time(std::uint32_t pid);

}  // namespace lagtrap::daemon
