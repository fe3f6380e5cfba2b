// Formats causes and calls of a delay as JSON.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "analysis/delay_cause.hpp"

namespace lagtrap::cli {

// {"sentences": [...], "parts": [...]}: every cause, longest first, with the chain of threads. A
// thread with "likely": true may have had nothing to do with the wait. "held_up_by" has the
// requests that delayed this one, if there are any.
[[nodiscard]] boost::json::object causes_json(const analysis::DelayCauses& causes);

[[nodiscard]] boost::json::object request_json(const analysis::RequestContext& request);

// Lines of a tree, in its order; shares refer to `whole_ns`.
[[nodiscard]] boost::json::array calls_json(const std::vector<analysis::CallLine>& calls,
                                            std::uint64_t whole_ns);

}  // namespace lagtrap::cli
