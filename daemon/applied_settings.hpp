// What parts of the daemon take from the settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "daemon/processes/command_line_mask.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

[[nodiscard]] spool::RetentionLimits retention_of(const settings::Settings& settings);

[[nodiscard]] CommandLines command_lines_of(const settings::Privacy& privacy);

// As MappedFiles::want() takes them: the programs that events name (programs_to_find()), and those
// whose Python functions are named.
[[nodiscard]] std::set<std::string> files_to_track(const settings::Settings& settings);

// One sentence for each part that differs and stays as it is until the daemon restarts.
[[nodiscard]] std::vector<std::string> changes_at_restart(const settings::Settings& in_force,
                                                          const settings::Settings& next);

// Whether the service manager's watchdog is fed, although the thread that tracks processes has been
// silent for so long: until half of the timeout has passed, because a thread that is merely late is
// no reason to restart the daemon. 0: the service manager sets no timeout.
[[nodiscard]] bool may_feed_watchdog(std::chrono::nanoseconds silent, std::uint64_t timeout_us);

}  // namespace lagtrap::daemon
