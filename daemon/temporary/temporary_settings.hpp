// The event or preset that a client of the control socket sends, and the settings of the lagtrapd
// that watches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

inline constexpr std::size_t temporary_event_limit_bytes = 16 * 1024;

// The name of the event or preset if `text` is one <event> or <use> element and nothing else,
// follows the vocabulary of settings, and only watches: no runs for a server, no traces of calls,
// functions or objects. Opens no file and asks for no account. ErrorKind::Invalid,
// ErrorKind::TooLarge.
[[nodiscard]] Result<std::string> name_of_temporary_event(std::string_view text);

// Settings for `text`, which has passed the above. All files are in `folder`. Privacy and
// how to record follow the service's settings; recordings follow each other without a cool-down.
[[nodiscard]] std::string temporary_settings(std::string_view text,
                                             const std::filesystem::path& folder,
                                             const settings::Settings& service,
                                             std::uint64_t share_ppm);

}  // namespace lagtrap::daemon
