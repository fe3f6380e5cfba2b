// Words for the request that a thread worked on.
#pragma once

#include <optional>
#include <string>

#include "analysis/request_context.hpp"

namespace lagtrap::analysis {

// ", in a run of "query" (key 17, trace 4f2ac1d9…) that took 2.31 s", to follow the name of a
// thread. Empty without a request.
[[nodiscard]] std::string request_words(const std::optional<RequestPart>& part);

// "POST /order (tenant=A)": what the program published; empty if it published neither route nor
// attributes.
[[nodiscard]] std::string published_words(const RequestContext& request);

}  // namespace lagtrap::analysis
