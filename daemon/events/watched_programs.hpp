// The programs that the events of settings name.
#pragma once

#include <set>
#include <string>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

[[nodiscard]] std::set<std::string> watched_programs(const settings::Settings& settings);

// The watched programs, and the targets of those that are symlinks: processes map them under the
// target's path. Reads each link within a second.
[[nodiscard]] std::set<std::string> programs_to_find(const settings::Settings& settings);

}  // namespace lagtrap::daemon
