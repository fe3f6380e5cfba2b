// Looks whether the programs of presets have what the presets watch in them.
#pragma once

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {

// The markers of one <use>, in each program that is installed where the preset or the <use> says. A marker that no program has
// is an error; one that only some have is a warning; where none is installed a note says so.
void check_preset(const PresetSource& preset, Diagnostics& diagnostics, const OpenTraceFs& open_tracefs);

}  // namespace lagtrap::settings
