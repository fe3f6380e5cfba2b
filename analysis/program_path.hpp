// Reduces a stack to what matters in a report: the program's functions, and what they called.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

struct ProgramPath {
    // Frames (of Recording::frames) of the program and of libraries it uses, outermost first.
    // Plumbing, unnamed places and recursion are folded; what a signal handler calls is none. An
    // unnamed place stays a step if no function of its file is known around it, or as the last.
    std::vector<std::uint32_t> steps;
    // What the last step called: plumbing ("pthread_mutex_lock" of libc), or a helper that waits
    // for its callers (is_wait_wrapper).
    std::optional<std::uint32_t> called;
    // The signal handler that ran: index into `steps`.
    std::optional<std::size_t> handler;
    // The time was in unnamed code, or in what that called.
    bool nameless = false;
    // Innermost kernel function, excluding scheduler and system call entry.
    std::optional<std::uint32_t> kernel;
};

[[nodiscard]] ProgramPath program_path(const Recording& recording, StackId stack);

}  // namespace lagtrap::analysis
