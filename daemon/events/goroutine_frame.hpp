// Whether a goroutine still is where it was when a run began: read from the memory of the program, which is not stopped for it.
#pragma once

#include <cstdint>

#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

enum class FrameState {
    Alive,    // as far as it can be told: a goroutine that computes does not show where it is
    Gone,     // the run will never end: a panic has left the function, or the goroutine has ended
    Unknown,  // its memory cannot be read, or is being changed
};

struct GoroutineFrame {
    std::uint32_t pid = 0;
    std::uint64_t goroutine = 0;      // address of its structure (runtime.g) in the program
    std::uint64_t number = 0;         // of the goroutine; 0: a thread's own stack, of which nothing is asked
    std::uint32_t number_offset = 0;  // of the number in the structure, in bytes
    std::uint32_t frame_offset = 0;   // the same, of its frame pointer while it waits
    std::uint64_t stack_place = 0;    // as lagtrap_slot::stack_pointer
};

// Each looks by `inspector` once to three times; where that cannot answer, the state is Unknown.

// Whether the goroutine still lives. Its structure is used again by later ones.
[[nodiscard]] FrameState state_of_goroutine(const GoroutineFrame& frame, ProcessInspector& inspector);

// The same, and whether the call is still on its stack, which is told by the frame pointers of one that waits. One in a system
// call shows no more than how deep its stack is.
[[nodiscard]] FrameState state_of_frame(const GoroutineFrame& frame, ProcessInspector& inspector);

}  // namespace lagtrap::daemon
