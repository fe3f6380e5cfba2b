// The trace of calls of a recording: calls.jsonl in the capture, as the daemon wrote it while the recording lasted. Lines are
// those of calls/call_stream.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calls/call_stream.hpp"
#include "core/result.hpp"

namespace lagtrap::trace {

struct RecordedCalls {
    std::uint32_t pid = 0;  // 0: there is no trace of calls
    std::string process;
    std::vector<calls::Function> functions;
    std::vector<calls::Tree> trees;  // each of which calls::check() accepts
    std::vector<calls::TakenOut> taken_out;
    std::uint64_t left_out = 0;  // trees: not sent, or beyond `calls_limit`
    std::string problem;         // why there is none, or none from some line on
};

// Never fails: what cannot be read is the problem. Of more calls than `calls_limit` the trees that come first are kept.
[[nodiscard]] RecordedCalls read_recorded_calls(const std::filesystem::path& capture, std::size_t calls_limit);

}  // namespace lagtrap::trace
