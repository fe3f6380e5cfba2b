// Looks whether the machine has what the settings name: binaries with their markers, tracepoints, users.
#pragma once

#include <filesystem>
#include <vector>

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"

namespace lagtrap::settings {

// The places where tracefs may be mounted. Where none has an events folder that can be read, tracepoints are
// not checked here; attaching them will tell.
[[nodiscard]] std::vector<std::filesystem::path> tracefs_roots();

void check_machine(const MachineSources& sources, Diagnostics& diagnostics,
                   const std::vector<std::filesystem::path>& tracefs = tracefs_roots());

}  // namespace lagtrap::settings
