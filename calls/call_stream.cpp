#include "calls/call_stream.hpp"

#include "calls/line_codec.hpp"
#include "calls/reported_rows.hpp"

namespace lagtrap::calls {

template <typename Io>
void columns(Io& io, Of<Io, LeftOutFunction>& one) {
    io(one.name, one.reason);
}

template <typename Io>
void columns(Io& io, Of<Io, Call>& one) {
    std::int64_t parent = one.parent == no_parent ? -1 : std::int64_t{one.parent};
    io(one.function, parent, one.begin_ns, one.end_ns, one.on_cpu_ns, one.runnable_ns, one.left_out,
       one.left_out_cost_ns, one.end);
    if constexpr (Io::reads)
        one.parent = parent < 0 ? no_parent : static_cast<std::uint32_t>(parent);
    io.require(one.end <= CallEnd::ThreadEnd, "an unknown end");
}

template <typename Io>
void fields(Io& io, Of<Io, Started>& one) {
    io("pid", one.pid);
    io("process", one.process);
    io("functions", one.functions);
    io("refused", one.refused);
    io("refused_count", one.refused_count);
    io("beyond_limit", one.beyond_limit);
    io("indirect_calls", one.indirect_calls);
    io("plan_ns", one.plan_ns);
    io("attach_ns", one.attach_ns);
}

template <typename Io>
void fields(Io& io, Of<Io, Tree>& one) {
    io("tid", one.tid);
    io("thread", one.thread);
    io("began_ns", one.began_realtime_ns);
    io("began_monotonic_ns", one.began_monotonic_ns);
    io("calls", one.calls);
    io.unless(std::uint64_t{0}, "goroutine", one.goroutine);
    io.unless(1.0, "probe_scale", one.probe_scale);
    io.require(one.probe_scale > 0, "probes that take no time");
}

template <typename Io>
void fields(Io& io, Of<Io, Ended>& one) {
    io("reason", one.reason);
    io("calls", one.calls);
    io("short_calls", one.short_calls);
    io("not_kept", one.not_kept);
    io("not_sent", one.not_sent);
    io("detach_ns", one.detach_ns);
}

boost::json::object to_json(const Started& started) { return first_line_of("started", started); }
boost::json::object to_json(const Tree& tree) { return line_of("tree", tree); }
boost::json::object to_json(const std::vector<DetachedFunction>& functions) {
    return line_of("detached", functions);
}
boost::json::object to_json(const std::vector<Function>& more) { return line_of("more", more); }
boost::json::object to_json(const Ended& ended) { return line_of("ended", ended); }

Result<Message> parse_message(const std::string& line) {
    static constexpr LineErrors errors{
        "lagtrapd's answer has a line of unknown kind; do lagtrap and lagtrapd have the same "
        "version?",
        "lagtrapd's answer is malformed; do lagtrap and lagtrapd have the same version?",
        "lagtrapd's answer has more than one message in a line"};
    return parse_line<Message>(line, errors, [](FieldReader& io, Message& message) {
        return io("started", message.started) + io("tree", message.tree) +
               io("detached", message.detached) + io("more", message.more) +
               io("ended", message.ended);
    });
}

}  // namespace lagtrap::calls
