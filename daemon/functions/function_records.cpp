#include "daemon/functions/function_records.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text.hpp"

namespace lagtrap::daemon {

std::optional<calls::TracedCall> traced_call_of(const void* record, std::size_t bytes,
                                                std::uint32_t functions) {
    lagtrap_traced_call read{};
    if (bytes < sizeof read) return std::nullopt;
    std::memcpy(&read, record, sizeof read);
    if (read.function >= functions) return std::nullopt;
    calls::TracedCall call;
    call.function = read.function;
    call.tid = read.tid;
    call.begin_ns = read.begin_ns;
    call.end_ns = std::max<std::uint64_t>(read.begin_ns, read.end_ns);
    const std::uint64_t whole_ns = call.end_ns - call.begin_ns;
    call.probes_ns = std::min<std::uint64_t>(read.probes_ns, whole_ns);
    call.off_cpu_ns = std::min<std::uint64_t>(read.off_cpu_ns, whole_ns);
    call.left = read.end == LAGTRAP_TRACED_LEFT;
    call.thread = printable(std::string_view(read.comm, ::strnlen(read.comm, sizeof read.comm)));
    return call;
}

std::optional<calls::FunctionTotals> totals_of(const lagtrap_traced_function& function,
                                               std::uint32_t number, std::uint32_t functions) {
    if (function.calls == 0 && function.unbegun == 0) return std::nullopt;
    calls::FunctionTotals totals{number,          function.calls,      function.left,
                                 function.own_ns, function.longest_ns, {},
                                 function.unbegun};
    const std::uint32_t length =
        std::min<std::uint32_t>(function.path_length, LAGTRAP_LONGEST_PATH);
    for (std::uint32_t place = 0; place < length; ++place)
        if (function.path[place] < functions) totals.path.push_back(function.path[place]);
    return totals;
}

std::optional<calls::FunctionTotals> FreshTotals::take(calls::FunctionTotals now) {
    if (now.function >= taken_.size()) return std::nullopt;
    const calls::FunctionTotals before = std::exchange(taken_[now.function], now);
    if (now.calls <= before.calls && now.unbegun <= before.unbegun) return std::nullopt;
    const bool timed = now.unbegun == 0;
    now.calls -= before.calls;
    now.left -= before.left;
    now.own_ns = timed ? now.own_ns - before.own_ns : 0;
    now.unbegun -= before.unbegun;
    if (!timed) now.longest_ns = 0;
    if (!timed) now.path.clear();
    return now;
}

}  // namespace lagtrap::daemon
