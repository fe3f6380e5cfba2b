// The folder of a capture that waits for its merge: its size, taking it away from a hung merge, and
// setting it aside if it cannot be merged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Total size of all regular files in it; 0 if it cannot be listed.
[[nodiscard]] std::uint64_t bytes_below(const std::filesystem::path& folder);

// Atomically replaces the capture's folder by another with the same files. A process that the
// kernel cannot end and that has the old folder open, or holds its lock, does not affect the
// capture any more. Errors: the file system does not support it; the capture is unchanged.
[[nodiscard]] Status renew_folder(const std::filesystem::path& capture);

// Durably records in the capture (set-aside.txt) why it is not merged any more. It then waits for a
// person: delete that file, and the next daemon tries again.
[[nodiscard]] Status set_aside(const std::filesystem::path& capture, std::string_view reason);
// The reason, printable; nullopt if it was not set aside.
[[nodiscard]] std::optional<std::string> reason_set_aside(const std::filesystem::path& capture);

// True for names in captures/ of folders that a daemon replaced or no longer needed, but did not
// get to remove.
[[nodiscard]] bool is_leftover(std::string_view name);
// Removes the capture. Renames it first, so that a half-removed folder never looks like an
// interrupted capture.
[[nodiscard]] Status remove_capture(const std::filesystem::path& capture);

}  // namespace lagtrap::daemon
