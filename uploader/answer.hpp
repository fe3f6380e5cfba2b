// What the server says after it has taken a bundle.
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

// Further members are ignored. ErrorKind::Invalid for anything else, cut-off text among it.
[[nodiscard]] Result<Answer> parse_answer(std::string_view json);

// The "error" member of a refusal: printable, at most 200 characters; empty if there is none.
[[nodiscard]] std::string error_of_answer(std::string_view json);

// What a collector says of spans that it does not take: partial_success of ExportTraceServiceResponse
// (opentelemetry-proto, collector/trace/v1).
struct RefusedSpans {
    std::uint64_t count = 0;
    std::string message;  // as it came
};

// Of an answer in protobuf; one that is not counts as taking all.
[[nodiscard]] RefusedSpans refused_spans(std::string_view body);

}  // namespace lagtrap::uploader
