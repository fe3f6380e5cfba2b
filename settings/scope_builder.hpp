// Builds the scope of one event of the settings.
#pragma once

#include "settings/build.hpp"

namespace lagtrap::settings {

// `element` is a <scope>. Adds the program and users that do not exist to `sources`, and
// contradictions to `diagnostics`.
[[nodiscard]] Scope build_scope(const Element& element, MachineSources& sources,
                                Diagnostics& diagnostics);

}  // namespace lagtrap::settings
