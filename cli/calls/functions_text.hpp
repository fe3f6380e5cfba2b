// A trace of functions as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"
#include "cli/calls/calls_text.hpp"

namespace lagtrap::cli {

// How functions were sorted, and how they are watched.
[[nodiscard]] std::string functions_started_text(const calls::FunctionsStarted& started, const CallsLook& look);
// The functions with the most own time, at most `top`, the calls that took longest with the path to each, and what was lost.
[[nodiscard]] std::string functions_ended_text(const calls::FunctionsEnded& ended,
                                               const std::vector<calls::Function>& functions, std::size_t top,
                                               const CallsLook& look);

}  // namespace lagtrap::cli
