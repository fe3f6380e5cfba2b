// Why a thread blocked, read off the kernel functions of the stack at which it stopped.
#pragma once

#include <string>
#include <string_view>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// What a kernel function says of a wait, by a table of the kernel's function names (6.1 to 6.18):
// "lock (futex)", "disk", "sleep", "events", ...; empty where it says nothing.
[[nodiscard]] std::string_view reason_of_function(std::string_view kernel_function);

// The reason of a stack: the first entry of the table that any of its kernel functions matches; else
// "blocked in FUNCTION" after the innermost function that is not the scheduler's own; else "unknown reason".
[[nodiscard]] std::string reason_of_stack(const Recording& recording, StackId stack);

// Whether waits of this reason end by a timer or a device, never by what another program does. The kernel then
// names the thread that the interrupt hit as the waker, which means nothing.
[[nodiscard]] bool ends_by_interrupt(std::string_view reason);

// Whether a kernel function is scheduler, tracing or system call entry: always there, explains nothing.
[[nodiscard]] bool is_kernel_plumbing(std::string_view kernel_function);

// Whether a function only starts threads or programs ("_start", "clone3", ...).
[[nodiscard]] bool is_thread_start(std::string_view function);

}  // namespace lagtrap::analysis
