// Recordings, which may come from anywhere, decoded by a process that can do nothing else.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// `make` says something of the recording at `path` (a bundle, the folder of a merged capture, or its trace file). It runs in
// a child of this process that has opened the recording's files and then given up everything else: root, and by a seccomp
// filter all but reading these, writing and allocating, within the memory that this process may have. `make` hands the path
// that it is given to analysis::read_recording() or read_recording_files(), and opens nothing else. What it gives is as
// trustworthy as the recording: a text to show, or to parse with care; 4 GiB at most. To be called by one thread, and
// without a FileAccess.
//
// Errors: those of `make`, as ErrorKind::Invalid; the files cannot be opened; the child ended early (System).
[[nodiscard]] Result<std::string> decode_confined(
    const std::filesystem::path& path, const std::function<Result<std::string>(const std::filesystem::path&)>& make);

}  // namespace lagtrap::cli
