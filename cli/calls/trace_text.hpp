// Formats what traces of functions and objects have in common as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"
#include "cli/calls/calls_text.hpp"

namespace lagtrap::cli {

[[nodiscard]] std::uint64_t sum_of(const std::vector<calls::ReasonCount>& counts);

// Functions that cannot be probed, with reasons if `look.all`; empty if there are none.
[[nodiscard]] std::string refused_text(const std::vector<calls::ReasonCount>& refused,
                                       const CallsLook& look);
// Empty if none is over the limit.
[[nodiscard]] std::string beyond_limit_text(std::uint64_t functions);
// By what the probes are attached, and how long that took.
[[nodiscard]] std::string attached_text(const std::string& attached_by, std::uint64_t plan_ns,
                                        std::uint64_t attach_ns, const CallsLook& look);
// `reported` describes the calls that were sent. `depth` is the number of calls that are tracked.
struct TraceEnd {
    std::string reason, reported;
    std::uint64_t length_ns = 0, detach_ns = 0, not_sent = 0, too_deep = 0;
    unsigned depth = 0;
};
[[nodiscard]] std::string end_text(const TraceEnd& end);

}  // namespace lagtrap::cli
