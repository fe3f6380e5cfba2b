// Rows that the answers of several commands contain.
#pragma once

#include "calls/call_stream.hpp"
#include "calls/function_stream.hpp"
#include "calls/line_codec.hpp"

namespace lagtrap::calls {

template <typename Io>
void columns(Io& io, Of<Io, Function>& one) {
    io(one.name, one.module, one.level, one.seen, one.cost.inside_ns, one.cost.around_ns,
       one.entry);
    if (io.continues(one.line != 0)) io(one.source, one.line);
}

template <typename Io>
void columns(Io& io, Of<Io, DetachedFunction>& one) {
    io(one.function, one.calls_per_second);
}

template <typename Io>
void columns(Io& io, Of<Io, ReasonCount>& one) {
    io(one.reason, one.count);
}

}  // namespace lagtrap::calls
