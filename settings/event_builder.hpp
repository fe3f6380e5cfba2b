// Builds one event of the settings.
#pragma once

#include "settings/build.hpp"

namespace lagtrap::settings {

// Builds `element` (an <event>), adding its markers to `sources` and its contradictions to `diagnostics`.
[[nodiscard]] Event build_event(const Element& element, MachineSources& sources, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
