// Reads a recording's function trace from functions.jsonl in the capture, which the daemon wrote.
// calls/function_stream.hpp defines the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"

namespace lagtrap::trace {

struct RecordedFunctions {
    std::optional<calls::FunctionsStarted> started;  // nullopt if functions were not traced
    std::vector<calls::TracedCall> calls;            // only of known functions
    std::vector<calls::DetachedFunction> detached;   // only of known functions
    std::optional<calls::FunctionsEnded> ended;      // nullopt if the trace was cut short
    std::uint64_t left_out = 0;                      // calls beyond `calls_limit`
    // why calls are missing, entirely or from some line on
    std::string problem;
};

// Never fails; read errors are reported as the problem.
[[nodiscard]] RecordedFunctions read_recorded_functions(const std::filesystem::path& capture,
                                                        std::size_t calls_limit);

}  // namespace lagtrap::trace
