// A stack as the reader of a report wants it: the functions of the program, and what they had called.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

struct ProgramPath {
    // Frames (of Recording::frames) of the program and of libraries that work for it, outermost first. Plumbing,
    // nameless places and recursion are folded away, but a place without a name is a step where no function of its
    // file is known around it, as the last.
    std::vector<std::uint32_t> steps;
    // The function of plumbing that the last step had called: "pthread_mutex_lock" of libc.
    std::optional<std::uint32_t> called;
    // The time was in code without a name, or in what that called.
    bool nameless = false;
    // The kernel's function that the stack ends in, without its scheduler and system call entry.
    std::optional<std::uint32_t> kernel;
};

[[nodiscard]] ProgramPath program_path(const Recording& recording, StackId stack);

}  // namespace lagtrap::analysis
