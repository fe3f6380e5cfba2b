#include "trace/system_file/trace_context.hpp"

#include <algorithm>

namespace lagtrap::trace {
namespace {

constexpr std::size_t trace_digits = 32, span_digits = 16;
// "VV-" + trace + "-" + span + "-FF"
constexpr std::size_t traceparent_size = 3 + trace_digits + 1 + span_digits + 3;

bool is_hexadecimal(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_id(std::string_view text) {
    return is_hexadecimal(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> trace_context_of(std::string_view text) {
    if (text.size() == trace_digits) {
        std::string id(text);
        std::transform(id.begin(), id.end(), id.begin(), [](char digit) {
            return digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + 32) : digit;
        });
        if (!is_id(id)) return std::nullopt;
        return TraceContext{std::move(id), {}};
    }
    if (text.size() < traceparent_size) return std::nullopt;
    const std::string_view version = text.substr(0, 2), trace = text.substr(3, trace_digits);
    const std::string_view span = text.substr(4 + trace_digits, span_digits);
    const std::string_view flags = text.substr(traceparent_size - 2, 2);
    const bool dashes =
        text[2] == '-' && text[3 + trace_digits] == '-' && text[traceparent_size - 3] == '-';
    if (!dashes || !is_hexadecimal(version) || version == "ff" || !is_id(trace) || !is_id(span) ||
        !is_hexadecimal(flags))
        return std::nullopt;
    if (text.size() > traceparent_size && (version == "00" || text[traceparent_size] != '-'))
        return std::nullopt;
    return TraceContext{std::string(trace), std::string(span)};
}

}  // namespace lagtrap::trace
