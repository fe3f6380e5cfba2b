// Formats a function trace as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"
#include "cli/calls/calls_text.hpp"

namespace lagtrap::cli {

// How functions were classified, and how they are watched.
[[nodiscard]] std::string functions_started_text(const calls::FunctionsStarted& started,
                                                 const CallsLook& look);
// The functions with most own time (at most `top`), the longest calls with the path to each, and
// what was lost.
[[nodiscard]] std::string functions_ended_text(const calls::FunctionsEnded& ended,
                                               const std::vector<calls::Function>& functions,
                                               std::size_t top, const CallsLook& look);

}  // namespace lagtrap::cli
