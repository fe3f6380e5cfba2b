// Checks USDT probes and markers of lagtrap.h, where the daemon will look for them.
#pragma once

#include "settings/checked_files.hpp"

namespace lagtrap::settings {

// Checks that the marker's probe exists, that each of its sites can be probed, and that it has the
// arguments that the settings use.
void check_probe(const MarkerSource& source, CheckedFiles& files, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
