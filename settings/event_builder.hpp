// Builds a single event of the settings.
#pragma once

#include "settings/build.hpp"

namespace lagtrap::settings {

// Builds an event from `element` (an <event>). Adds its markers to `sources`, and contradictions to
// `diagnostics`.
[[nodiscard]] Event build_event(const Element& element, MachineSources& sources,
                                Diagnostics& diagnostics);

}  // namespace lagtrap::settings
