// The machine around a delay in the form of openapi.yaml; written by the parsing process.
#pragma once

#include <string>

#include "analysis/machine_timeline.hpp"

namespace lagtrap::server {

// At most about 20 MiB, whatever the recording contains.
[[nodiscard]] std::string machine_json(const analysis::Recording& recording,
                                       const trace::Delay& delay,
                                       const analysis::MachineWindow& window);

}  // namespace lagtrap::server
