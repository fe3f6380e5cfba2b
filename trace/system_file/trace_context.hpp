// The id of a distributed trace, as a program passes it on in a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::trace {

// Lower-case hexadecimal digits.
struct TraceContext {
    std::string trace_id;        // 32, not all 0; empty: none is known
    std::string parent_span_id;  // 16, not all 0; empty: the text says none
    bool operator==(const TraceContext&) const = default;
};

// Of "4bf92f3577b34da6a3ce929d0e0e4736", in any case, or of a traceparent of the W3C's Trace Context, whose digits are in lower
// case: "00-TRACE-PARENT-FLAGS", of later versions perhaps with more behind. Anything else is nothing.
[[nodiscard]] std::optional<TraceContext> trace_context_of(std::string_view text);

}  // namespace lagtrap::trace
