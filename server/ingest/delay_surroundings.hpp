// The surroundings of a delay (machine, program, other use of the CPUs), as JSON written by the
// parsing process.
#pragma once

#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

// "Surroundings" of openapi.yaml. Without a recording, only what the system file contains.
[[nodiscard]] boost::json::object surroundings_json(const trace::SystemFile& system,
                                                    const analysis::Recording* recording,
                                                    const trace::Delay& delay);

}  // namespace lagtrap::server
