// The folder of a capture that waits for its merge: how large and old it is, how it is taken out of the hands of a merge that
// hangs, and how it is set aside when no merge of it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Of all regular files below it; 0 where it cannot be listed.
[[nodiscard]] std::uint64_t bytes_below(const std::filesystem::path& folder);

// Puts another folder with the same files in the capture's place, at once. A process that has the old one open, or holds its
// lock, and that the kernel cannot end, has nothing of the capture from then on. Errors: the file system does not have it;
// the capture is as it was.
[[nodiscard]] Status renew_folder(const std::filesystem::path& capture);

// Says in the capture, durably, why it is not merged any more (set-aside.txt): its folder waits for a person. Who removes the
// file has it tried again by the next daemon.
[[nodiscard]] Status set_aside(const std::filesystem::path& capture, std::string_view reason);
// Why it was set aside, printable; nullopt: it was not.
[[nodiscard]] std::optional<std::string> reason_set_aside(const std::filesystem::path& capture);

// Whether a name in captures/ is that of a folder that was replaced, or is no longer needed, by a daemon that did not come to
// remove it.
[[nodiscard]] bool is_leftover(std::string_view name);
// Removes the capture: under another name first, so that half of it never looks like a capture that was cut short.
[[nodiscard]] Status remove_capture(const std::filesystem::path& capture);

}  // namespace lagtrap::daemon
