// The kernel's names of a process and its program. Accesses neither file systems nor memory of the
// process, so any thread may call it.
#pragma once

#include <filesystem>
#include <string>

namespace lagtrap::daemon {

// The path of its program as the calling process sees it through /proc/PID/exe; " (deleted)" may
// follow. Empty if the process is gone or is a kernel thread. May contain any bytes.
[[nodiscard]] std::string program_of(const std::filesystem::path& process);

// The name of the process, or of the thread for /proc/PID/task/TID. Empty if it is gone. May
// contain any bytes.
[[nodiscard]] std::string name_of(const std::filesystem::path& process_or_thread);

}  // namespace lagtrap::daemon
