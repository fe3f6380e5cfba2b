// Tells whether two events turn the same hits into the same runs, across restarts of the daemon.
#pragma once

#include <string>

#include "settings/settings.hpp"

namespace lagtrap::settings {

// 16 hexadecimal digits that depend on what makes and ends the event's runs: markers, key, nesting
// and scope. Name, threshold, stages, and how delays are recorded do not matter.
[[nodiscard]] std::string run_identity(const Event& event);

}  // namespace lagtrap::settings
