// Whether what a person wants to watch exists, before a daemon starts for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/watch/watch_event.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// ErrorKind::NotFound for an unknown preset or system call, with the nearest name. Finds system
// calls only as root.
[[nodiscard]] Status check_names(const WatchWish& wish);

// `known` are the names of tracepoints, such as "sys_enter_fsync".
[[nodiscard]] Status check_syscall(const std::string& name, const std::vector<std::string>& known);

// Refuses a 32-bit program, for whose system calls the kernel has no tracepoints. Any other file is
// accepted, and one that cannot be read.
[[nodiscard]] Status check_calls_of(const std::filesystem::path& program);

}  // namespace lagtrap::cli
