// Pipes and files in whose system calls threads are now, as /proc has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace lagtrap::cli {

// By thread: "pipe:[4711] (descriptor 0), also open in make (33)". Threads in other calls, or of which nothing may be read, have
// none. Looks at the files of all processes where a pipe is among them.
[[nodiscard]] std::map<std::uint32_t, std::string> waited_files(std::uint32_t pid,
                                                                const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
