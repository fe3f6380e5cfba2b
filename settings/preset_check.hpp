// Checks that the programs of presets have the markers that the presets use.
#pragma once

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {

// Looks for the markers of one <use> in each installed program that the preset or the <use> names.
// A marker that no program has is an error; one that only some have is a warning. If no program is
// installed, adds a note.
void check_preset(const PresetSource& preset, Diagnostics& diagnostics,
                  const OpenTraceFs& open_tracefs);

}  // namespace lagtrap::settings
