// What the kernel calls a process and its program. Asks no file system and reads no memory of the process, so any thread may.
#pragma once

#include <filesystem>
#include <string>

namespace lagtrap::daemon {

// The path of its program, as whoever looks at the link /proc/PID/exe sees it; "(deleted)" may follow. Empty where it is gone,
// or a thread of the kernel. Any bytes.
[[nodiscard]] std::string program_of(const std::filesystem::path& process);

// What the process, or the thread of folder /proc/PID/task/TID, calls itself; empty where it is gone. Any bytes.
[[nodiscard]] std::string name_of(const std::filesystem::path& process_or_thread);

}  // namespace lagtrap::daemon
