// The files whose code a process has mapped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap {

// Paths as the process of folder `process` (/proc/PID) sees them, its program first, each once; the libraries that it
// loaded while it ran are among them. ErrorKind::NotFound: no process, or one of the kernel's. Denied: another user's.
[[nodiscard]] Result<std::vector<std::string>> mapped_files(const std::filesystem::path& process);

}  // namespace lagtrap
