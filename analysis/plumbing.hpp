// Functions that are in every stack and explain nothing.
#pragma once

#include <string_view>

namespace lagtrap::analysis {

// True for the scheduler, tracing and system call entry.
[[nodiscard]] bool is_kernel_plumbing(std::string_view kernel_function);

// True for functions that only start threads or programs ("_start", "clone3", ...).
[[nodiscard]] bool is_thread_start(std::string_view function);

}  // namespace lagtrap::analysis
