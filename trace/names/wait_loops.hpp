// Marks the places of a recording at which code waits by itself until memory changes.
#pragma once

#include <span>

#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

// At each of `places` of an open program or library whose code is in a wait loop
// (binaries/code/wait_loop.hpp), adds an innermost function with a name of busy_wait_name.hpp, as
// if it were inlined there. Call it when the places have their names.
void mark_wait_loops(StackTable& stacks, std::span<const FrameId> places, int program);

}  // namespace lagtrap::trace
