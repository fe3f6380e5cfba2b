// Where a marker in a program or library is probed.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/overhead_probes.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct ProbePlaces {
    std::vector<unsigned long> offsets;     // in the file
    std::vector<unsigned long> semaphores;  // in the file, one for each offset, 0: none; empty: none at all
    std::vector<lagtrap_site> arguments;    // one for each offset; empty: none has an argument that is wanted
    bool return_probe = false;              // of the kernel's, at the entries; else plain probes
    ProbeKind kind = ProbeKind::Simple;     // of the first one
};

// Which arguments of a USDT probe are wanted, counted from 0; LAGTRAP_NO_ARGUMENT: none.
struct WantedArguments {
    std::uint16_t key = LAGTRAP_NO_ARGUMENT;
    std::uint16_t begin_time = LAGTRAP_NO_ARGUMENT;
};

[[nodiscard]] Result<ProbePlaces> function_places(const settings::Marker& marker);

// A site that has fewer arguments than are wanted tells 0 for those. ErrorKind::Unsupported: one that is wanted is of a
// kind that is not read.
[[nodiscard]] Result<ProbePlaces> usdt_places(const settings::Marker& marker, WantedArguments wanted);

}  // namespace lagtrap::daemon
