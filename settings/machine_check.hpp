// Checks that the machine has what the settings name: binaries with their markers, tracepoints,
// users. It uses the functions that the daemon uses to arm events, so that settings that pass can
// be armed.
#pragma once

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {

// Adds a note instead of an error for anything that only root may access.
void check_machine(const MachineSources& sources, Diagnostics& diagnostics,
                   const OpenTraceFs& open_tracefs = TraceFs::open);

}  // namespace lagtrap::settings
