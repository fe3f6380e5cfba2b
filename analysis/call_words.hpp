// What functions of the C library wait for. For analysis/ only.
#pragma once

#include <string_view>

#include "analysis/wait_kind.hpp"

namespace lagtrap::analysis {

// "for a lock of the memory allocator (malloc)", for a wait of that kind in the function `called`;
// empty if its name says no more than the kind.
[[nodiscard]] std::string_view words_of_call(WaitKind kind, std::string_view called);

}  // namespace lagtrap::analysis
