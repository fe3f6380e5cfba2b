// Looks for USDT probes and the markers of lagtrap.h, where the daemon will.
#pragma once

#include "settings/checked_files.hpp"

namespace lagtrap::settings {

// One marker: its probe, that each of its sites can be probed, and the arguments that the settings want of it.
void check_probe(const MarkerSource& source, CheckedFiles& files, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
