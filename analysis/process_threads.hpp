// Which threads of a process are left. For analysis/ only.
#pragma once

#include <cstdint>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

[[nodiscard]] bool has_ended(const Thread& thread);

// 0 if the process has several threads, or none.
[[nodiscard]] std::uint32_t only_thread_of(const Recording& recording, std::uint32_t pid);

}  // namespace lagtrap::analysis
