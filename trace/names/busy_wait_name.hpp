// The names of the innermost frame of a place at which code waits by itself until memory changes.
#pragma once

#include <string_view>

namespace lagtrap::trace {

// Added by mark_wait_loops() as if they were inlined functions. The second is for loops that take a
// lock, which also run, once, if the lock is free.
inline constexpr std::string_view busy_wait_name = "[busy wait]";
inline constexpr std::string_view possible_busy_wait_name = "[busy wait?]";

}  // namespace lagtrap::trace
