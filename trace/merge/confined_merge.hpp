// Runs a merge without privileges. It reads files that other users' processes wrote (programs,
// debug files, maps of JIT code), so the merging process can open no file itself. Its parent opens
// the files a merge needs, but never parses them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

// Whether the merge may open programs and debug files. Opening them can hang on a broken file
// system.
enum class Programs { Opened, LeftAlone };

// Calls `merge` in an unprivileged, confined child. A broker in this process opens files for it:
// those of this capture and its bundle (session `session_id`), the programs the capture names and
// their debug files (ELF) unless `programs` says LeftAlone, and a few that describe the machine.
// Returns the child's exit status, which is the result of `merge`. If a signal kills the child, the
// same signal ends this process. Call it with a single thread, before reading anything the daemon
// did not write. Fails if the child cannot be created or confined.
[[nodiscard]] Result<int> merge_confined(const std::filesystem::path& capture,
                                         const std::filesystem::path& output,
                                         const std::string& session_id, Programs programs,
                                         const std::function<int()>& merge);

}  // namespace lagtrap::trace
