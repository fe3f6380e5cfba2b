// Decodes untrusted recordings in a process that can do nothing else.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// Runs `make` on the recording at `path` (a bundle, the folder of a merged capture, or its trace
// file) and returns its result. `make` runs in a child process. The child opens the recording's
// files and then gives up root privileges and, through a seccomp filter, everything except reading
// them, writing and allocating memory up to this process's limit. `make` must pass its path to
// analysis::read_recording() or read_recording_files() and open nothing else. Trust the result no
// more than the recording: show it as text, or parse it with care. It has at most 4 GiB. Call with
// a single thread, and without a FileAccess.
//
// Errors: those of `make`, as ErrorKind::Invalid; the files cannot be opened; the child ended early
// (System).
[[nodiscard]] Result<std::string> decode_confined(
    const std::filesystem::path& path,
    const std::function<Result<std::string>(const std::filesystem::path&)>& make);

}  // namespace lagtrap::cli
