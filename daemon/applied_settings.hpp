// What parts of the daemon take from the settings.
#pragma once

#include "daemon/processes/command_line_mask.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

[[nodiscard]] spool::RetentionLimits retention_of(const settings::Settings& settings);

[[nodiscard]] CommandLines command_lines_of(const settings::Privacy& privacy);

}  // namespace lagtrap::daemon
