// Checks whether a goroutine is still in the call where a run began. Reads the program's memory
// without stopping it.
#pragma once

#include <cstdint>

#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

enum class FrameState {
    Alive,    // as far as can be told: the position of a running goroutine is not visible
    Gone,     // the run will never end: a panic left the function, or the goroutine exited
    Unknown,  // memory cannot be read or is being changed
};

struct GoroutineFrame {
    std::uint32_t pid = 0;
    std::uint64_t goroutine = 0;      // address of its runtime.g in the program
    std::uint64_t number = 0;         // goroutine number; 0: on a thread's own stack, not checked
    std::uint32_t number_offset = 0;  // offset of the number in the structure, in bytes
    std::uint32_t frame_offset = 0;   // offset of its saved frame pointer while it waits
    std::uint64_t stack_place = 0;    // see lagtrap_slot::stack_pointer
};

// Each function reads memory one to three times through `inspector`. Unknown if that fails.

// Checks whether the goroutine is still alive. Go reuses its structure for later ones.
[[nodiscard]] FrameState state_of_goroutine(const GoroutineFrame& frame,
                                            ProcessInspector& inspector);

// Like state_of_goroutine(), and checks whether the call is still on the stack, which the frame
// pointers of a waiting goroutine show. For one in a system call, only its stack depth is known.
[[nodiscard]] FrameState state_of_frame(const GoroutineFrame& frame, ProcessInspector& inspector);

}  // namespace lagtrap::daemon
