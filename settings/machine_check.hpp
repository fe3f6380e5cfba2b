// Looks whether the machine has what the settings name: binaries with their markers, tracepoints, users. It asks what the
// daemon asks when it arms the events, and by the same functions, so that what passes here is armed there.
#pragma once

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {

// What this user may not look at, but root, becomes a note instead of an error.
void check_machine(const MachineSources& sources, Diagnostics& diagnostics,
                   const OpenTraceFs& open_tracefs = TraceFs::open);

}  // namespace lagtrap::settings
