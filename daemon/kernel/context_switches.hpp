// How often the machine's CPUs changed threads.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// Since the machine runs (/proc/stat); 0 where the kernel does not say.
[[nodiscard]] std::uint64_t context_switches();

}  // namespace lagtrap::daemon
