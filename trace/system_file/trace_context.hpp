// The id of a distributed trace, as programs pass it along in a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::trace {

// Lower-case hexadecimal digits.
struct TraceContext {
    std::string trace_id;        // 32, not all 0; empty if unknown
    std::string parent_span_id;  // 16, not all 0; empty if the text has none
    bool operator==(const TraceContext&) const = default;
};

// Parses "4bf92f3577b34da6a3ce929d0e0e4736", in upper or lower case, or a traceparent of W3C Trace
// Context, in lower case: "00-TRACE-PARENT-FLAGS"; later versions may append fields. nullopt for
// anything else.
[[nodiscard]] std::optional<TraceContext> trace_context_of(std::string_view text);

}  // namespace lagtrap::trace
