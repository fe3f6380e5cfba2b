// The timeline of a delay in the form of openapi.yaml; written by the parsing process.
#pragma once

#include <string>

#include "analysis/delay_timeline.hpp"

namespace lagtrap::server {

[[nodiscard]] std::string timeline_json(const analysis::Recording& recording,
                                        const analysis::DelayTimeline& timeline);

}  // namespace lagtrap::server
