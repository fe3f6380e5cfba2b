// Where a delay happened: machine, program, what else had the CPUs, as JSON that the parsing process writes.
#pragma once

#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

// As "Surroundings" in openapi.yaml. Without a recording only what the system file says.
[[nodiscard]] boost::json::object surroundings_json(const trace::SystemFile& system,
                                                    const analysis::Recording* recording, const trace::Delay& delay);

}  // namespace lagtrap::server
