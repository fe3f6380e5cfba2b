// Reads a recording's call trace from calls.jsonl in the capture, which the daemon wrote during the
// recording. calls/call_stream.hpp defines the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calls/call_stream.hpp"
#include "core/result.hpp"

namespace lagtrap::trace {

struct RecordedCalls {
    std::uint32_t pid = 0;  // 0 if calls were not traced
    std::string process;
    std::vector<calls::Function> functions;
    std::vector<calls::Tree> trees;  // each accepted by calls::check()
    std::vector<calls::DetachedFunction> detached;
    std::uint64_t left_out = 0;  // trees not sent, or beyond `calls_limit`
    std::string problem;         // why calls are missing, entirely or from some line on
};

// Never fails; read errors are reported as the problem. Beyond `calls_limit` calls, only the first
// trees are kept.
[[nodiscard]] RecordedCalls read_recorded_calls(const std::filesystem::path& capture,
                                                std::size_t calls_limit);

}  // namespace lagtrap::trace
