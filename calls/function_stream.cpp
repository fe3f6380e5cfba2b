#include "calls/function_stream.hpp"

#include <algorithm>

#include "calls/line_codec.hpp"
#include "calls/reported_rows.hpp"

namespace lagtrap::calls {

template <typename Io>
void columns(Io& io, Of<Io, HookCount>& one) {
    io(one.entry, one.exit, one.reason, one.functions, one.cost_ns);
}

template <typename Io>
void columns(Io& io, Of<Io, TracedCall>& one) {
    io(one.function, one.tid, one.begin_ns, one.end_ns, one.probes_ns, one.off_cpu_ns, one.left,
       one.thread);
    io.require(one.end_ns >= one.begin_ns, "a call that ends before it begins");
}

template <typename Io>
void columns(Io& io, Of<Io, FunctionTotals>& one) {
    io(one.function, one.calls, one.left, one.own_ns, one.longest_ns, one.path);
    if (io.continues(true)) io(one.unbegun);
}

template <typename Io>
void columns(Io& io, Of<Io, RuntimeEnd>& one) {
    io(one.language, one.hits, one.left_out, one.watched_ns, one.advice);
}

template <typename Io>
void fields(Io& io, Of<Io, FunctionsStarted>& one) {
    io("pid", one.pid);
    io("process", one.process);
    io("functions", one.functions);
    io("own_files", one.own_files);
    io("system_files", one.system_files);
    io("system_functions", one.system_functions);
    io("moved_in", one.moved_in);
    io("moved_out", one.moved_out);
    io("refused", one.refused);
    io("beyond_limit", one.beyond_limit);
    io("hooks", one.hooks);
    io("attached_by", one.attached_by);
    io("plan_ns", one.plan_ns);
    io("attach_ns", one.attach_ns);
    io("window_ns", one.window_ns);
    io("from_ns", one.from_ns);
}

template <typename Io>
void fields(Io& io, Of<Io, FunctionsEnded>& one) {
    io("reason", one.reason);
    io("length_ns", one.length_ns);
    io("sent", one.sent);
    io("not_sent", one.not_sent);
    io("too_deep", one.too_deep);
    io("bytes", one.bytes);
    io("least_ns", one.min_ns);
    io("detach_ns", one.detach_ns);
    io.added("unnamed", one.unnamed);
    io.added("runtimes", one.runtimes);
    io("totals", one.totals);
}

void count_reason(std::vector<ReasonCount>& counts, std::string_view reason) {
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const ReasonCount& one) { return one.reason == reason; });
    if (known != counts.end())
        ++known->count;
    else
        counts.push_back({std::string(reason), 1});
}

boost::json::object to_json(const FunctionsStarted& started) {
    return first_line_of("started_functions", started);
}
boost::json::object to_json(const std::vector<TracedCall>& calls) {
    return line_of("calls", calls);
}
boost::json::object to_json(const FunctionsEnded& ended) {
    return line_of("ended_functions", ended);
}

Result<FunctionsMessage> parse_functions_message(const std::string& line) {
    static constexpr LineErrors errors{
        "lagtrapd's answer has a line of unknown kind; do lagtrap and lagtrapd have the same "
        "version?",
        "lagtrapd's answer is malformed; do lagtrap and lagtrapd have the same version?"};
    return parse_line<FunctionsMessage>(line, errors, [](FieldReader& io, FunctionsMessage& one) {
        return io("started_functions", one.started) + io("calls", one.calls) +
               io("detached", one.detached) + io("more", one.more) +
               io("ended_functions", one.ended);
    });
}

}  // namespace lagtrap::calls
