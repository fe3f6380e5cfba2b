// Marks the places of a recording at which code waits by itself until memory changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

// Of `places` of one file, those that are worth a look: places with uses as innermost frame, at
// least three within the size of a loop. `uses` is by frame (StackTable::innermost_uses()).
[[nodiscard]] std::vector<FrameId> often_used_places(const StackTable& stacks,
                                                     std::vector<FrameId> places,
                                                     const std::vector<std::uint64_t>& uses);

// At each of `places` of an open program or library whose code is in a wait loop
// (binaries/code/wait_loop.hpp), adds an innermost function with a name of busy_wait_name.hpp, as
// if it were inlined there. Call it when the places have their names.
void mark_wait_loops(StackTable& stacks, std::span<const FrameId> places, int program);

}  // namespace lagtrap::trace
