// The trace of functions of a recording: functions.jsonl in the capture, as the daemon wrote it. Lines are those of
// calls/function_stream.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"

namespace lagtrap::trace {

struct RecordedFunctions {
    std::optional<calls::FunctionsStarted> started;  // nullopt: there is no trace of functions
    std::vector<calls::TracedCall> calls;            // of functions that are known
    std::vector<calls::TakenOut> taken_out;          // the same
    std::optional<calls::FunctionsEnded> ended;      // nullopt: it was cut short
    std::uint64_t left_out = 0;                      // calls beyond `calls_limit`
    std::string problem;                             // why there is none, or none from some line on
};

// Never fails: what cannot be read is the problem.
[[nodiscard]] RecordedFunctions read_recorded_functions(const std::filesystem::path& capture, std::size_t calls_limit);

}  // namespace lagtrap::trace
