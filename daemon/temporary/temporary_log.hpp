// The log of a lagtrapd that watched a temporary event.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lagtrap::daemon {

// Why it failed, as one printable line: its last errors, without times, without the lines that they
// quote from the settings, and without the name of the settings file in `folder`.
[[nodiscard]] std::string reason_in_log(std::string_view log, const std::filesystem::path& folder);

}  // namespace lagtrap::daemon
