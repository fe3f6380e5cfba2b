// The machine around a delay as openapi.yaml has it; written in the parsing process.
#pragma once

#include <string>

#include "analysis/machine_timeline.hpp"

namespace lagtrap::server {

// At most some 20 MiB, whatever the recording holds.
[[nodiscard]] std::string machine_json(const analysis::Recording& recording, const trace::Delay& delay,
                                       const analysis::MachineWindow& window);

}  // namespace lagtrap::server
