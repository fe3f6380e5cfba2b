// Finds the pipes and files that threads are using in a system call right now, from /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace lagtrap::cli {

// By thread: "pipe:[4711] (descriptor 0), also open in make (33)". Omits threads in other system
// calls and threads that may not be read. For pipes, examines the open files of all processes.
[[nodiscard]] std::map<std::uint32_t, std::string> waited_files(
    std::uint32_t pid, const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
