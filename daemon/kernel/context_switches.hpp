// Counts the machine's context switches.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// Number since boot (/proc/stat); 0 if unknown.
[[nodiscard]] std::uint64_t context_switches();

}  // namespace lagtrap::daemon
