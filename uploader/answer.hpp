// Parses the server's answers to uploads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::uploader {

// {"digest":"64 digits","bytes":1234,"stored":"new"} or "already".
struct Answer {
    std::string digest;
    std::uint64_t bytes = 0;
    bool already = false;
};

inline constexpr std::size_t answer_limit_bytes = 64 * 1024;

// Ignores unknown members. ErrorKind::Invalid for anything else, including truncated text.
[[nodiscard]] Result<Answer> parse_answer(std::string_view json);

// The "error" member of a refusal: printable, at most 200 characters; empty if missing.
[[nodiscard]] std::string error_of_answer(std::string_view json);

// Spans that a collector did not accept: partial_success of ExportTraceServiceResponse
// (opentelemetry-proto, collector/trace/v1).
struct RefusedSpans {
    std::uint64_t count = 0;
    std::string message;  // unchanged
};

// Parses a protobuf answer. A malformed one counts as accepting all spans.
[[nodiscard]] RefusedSpans refused_spans(std::string_view body);

}  // namespace lagtrap::uploader
