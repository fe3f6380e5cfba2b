#include "calls/function_stream.hpp"

#include <boost/json.hpp>

#include "calls/json_values.hpp"
#include "core/text.hpp"

namespace lagtrap::calls {
namespace {

namespace json = boost::json;

std::uint32_t small_at(const json::array& row, std::size_t place) {
    return row.at(place).to_number<std::uint32_t>();
}

json::array counts_json(const std::vector<ReasonCount>& counts) {
    json::array rows;
    for (const ReasonCount& one : counts) rows.push_back(json::array{one.reason, one.count});
    return rows;
}

std::vector<ReasonCount> counts_of(const json::value& rows) {
    std::vector<ReasonCount> counts;
    for (const json::value& one : rows.as_array())
        counts.push_back({text_of(one.as_array().at(0)), number_at(one.as_array(), 1)});
    return counts;
}

FunctionsStarted functions_started_of(const json::object& object) {
    FunctionsStarted started;
    started.pid = object.at("pid").to_number<std::uint32_t>();
    started.process = text_of(object.at("process"));
    started.functions = functions_of_rows(object.at("functions").as_array());
    for (const json::value& one : object.at("own_files").as_array())
        started.own_files.push_back(text_of(one));
    started.system_files = counts_of(object.at("system_files"));
    started.system_functions = counts_of(object.at("system_functions"));
    started.moved_in = number_in(object, "moved_in");
    started.moved_out = number_in(object, "moved_out");
    started.refused = counts_of(object.at("refused"));
    started.beyond_limit = number_in(object, "beyond_limit");
    for (const json::value& one : object.at("hooks").as_array()) {
        const json::array& row = one.as_array();
        started.hooks.push_back({text_of(row.at(0)), text_of(row.at(1)), text_of(row.at(2)),
                                 number_at(row, 3), number_at(row, 4)});
    }
    started.attached_by = text_of(object.at("attached_by"));
    started.plan_ns = number_in(object, "plan_ns");
    started.attach_ns = number_in(object, "attach_ns");
    started.window_ns = number_in(object, "window_ns");
    started.from_ns = number_in(object, "from_ns");
    return started;
}

std::vector<TracedCall> calls_of(const json::array& rows) {
    std::vector<TracedCall> calls;
    for (const json::value& one : rows) {
        const json::array& row = one.as_array();
        TracedCall call;
        call.function = small_at(row, 0);
        call.tid = small_at(row, 1);
        call.begin_ns = number_at(row, 2);
        call.end_ns = number_at(row, 3);
        call.probes_ns = number_at(row, 4);
        call.off_cpu_ns = number_at(row, 5);
        call.left = number_at(row, 6) != 0;
        call.thread = text_of(row.at(7));
        if (call.end_ns < call.begin_ns)
            throw std::out_of_range("a call that ends before it begins");
        calls.push_back(std::move(call));
    }
    return calls;
}

// Older recordings have no runtimes.
void take_runtimes(const json::object& object, FunctionsEnded& ended) {
    if (object.contains("unnamed")) ended.unnamed = number_in(object, "unnamed");
    const json::value* const runtimes = object.if_contains("runtimes");
    if (runtimes == nullptr) return;
    for (const json::value& one : runtimes->as_array()) {
        const json::array& row = one.as_array();
        ended.runtimes.push_back({text_of(row.at(0)), number_at(row, 1), counts_of(row.at(2)),
                                  number_at(row, 3), text_of(row.at(4))});
    }
}

FunctionsEnded functions_ended_of(const json::object& object) {
    FunctionsEnded ended;
    ended.reason = text_of(object.at("reason"));
    ended.length_ns = number_in(object, "length_ns");
    ended.sent = number_in(object, "sent");
    ended.not_sent = number_in(object, "not_sent");
    ended.too_deep = number_in(object, "too_deep");
    ended.bytes = number_in(object, "bytes");
    ended.min_ns = number_in(object, "least_ns");
    ended.detach_ns = number_in(object, "detach_ns");
    take_runtimes(object, ended);
    for (const json::value& one : object.at("totals").as_array()) {
        const json::array& row = one.as_array();
        FunctionTotals totals{small_at(row, 0),
                              number_at(row, 1),
                              number_at(row, 2),
                              number_at(row, 3),
                              number_at(row, 4),
                              {},
                              row.size() > 6 ? number_at(row, 6) : 0};
        for (const json::value& caller : row.at(5).as_array())
            totals.path.push_back(caller.to_number<std::uint32_t>());
        ended.totals.push_back(std::move(totals));
    }
    return ended;
}

}  // namespace

json::object to_json(const FunctionsStarted& started) {
    json::array own_files, hooks;
    for (const std::string& file : started.own_files) own_files.emplace_back(file);
    for (const HookCount& one : started.hooks)
        hooks.push_back(json::array{one.entry, one.exit, one.reason, one.functions, one.cost_ns});
    return {{"ok", true},
            {"started_functions",
             {{"pid", started.pid},
              {"process", started.process},
              {"functions", rows_of_functions(started.functions)},
              {"own_files", std::move(own_files)},
              {"system_files", counts_json(started.system_files)},
              {"system_functions", counts_json(started.system_functions)},
              {"moved_in", started.moved_in},
              {"moved_out", started.moved_out},
              {"refused", counts_json(started.refused)},
              {"beyond_limit", started.beyond_limit},
              {"hooks", std::move(hooks)},
              {"attached_by", started.attached_by},
              {"plan_ns", started.plan_ns},
              {"attach_ns", started.attach_ns},
              {"window_ns", started.window_ns},
              {"from_ns", started.from_ns}}}};
}

json::object to_json(const std::vector<TracedCall>& calls) {
    json::array rows;
    rows.reserve(calls.size());
    for (const TracedCall& call : calls)
        rows.push_back(json::array{call.function, call.tid, call.begin_ns, call.end_ns,
                                   call.probes_ns, call.off_cpu_ns, call.left ? 1 : 0,
                                   call.thread});
    return {{"calls", std::move(rows)}};
}

json::object to_json(const FunctionsEnded& ended) {
    json::array totals;
    for (const FunctionTotals& one : ended.totals) {
        json::array path;
        for (const std::uint32_t caller : one.path) path.emplace_back(caller);
        totals.push_back(json::array{one.function, one.calls, one.left, one.own_ns, one.longest_ns,
                                     std::move(path), one.unbegun});
    }
    json::array runtimes;
    for (const RuntimeEnd& one : ended.runtimes)
        runtimes.push_back(json::array{one.language, one.hits, counts_json(one.left_out),
                                       one.watched_ns, one.advice});
    return {{"ended_functions",
             {{"reason", ended.reason},
              {"length_ns", ended.length_ns},
              {"sent", ended.sent},
              {"not_sent", ended.not_sent},
              {"too_deep", ended.too_deep},
              {"bytes", ended.bytes},
              {"least_ns", ended.min_ns},
              {"detach_ns", ended.detach_ns},
              {"unnamed", ended.unnamed},
              {"runtimes", std::move(runtimes)},
              {"totals", std::move(totals)}}}};
}

Result<FunctionsMessage> parse_functions_message(const std::string& line) {
    const auto wrong = [](const char* why) {
        return make_error(ErrorKind::Invalid,
                          std::string("lagtrapd's answer ") + why +
                              "; do lagtrap and lagtrapd have the same version?");
    };
    try {
        const json::object object = json::parse(line).as_object();
        if (const auto* ok = object.if_contains("ok"); ok != nullptr && !ok->as_bool())
            return make_error(ErrorKind::Invalid, text_of(object.at("error")));
        FunctionsMessage message;
        if (const auto* started = object.if_contains("started_functions"))
            message.started = functions_started_of(started->as_object());
        if (const auto* calls = object.if_contains("calls"))
            message.calls = calls_of(calls->as_array());
        if (const auto* out = object.if_contains("taken_out"))
            message.taken_out = taken_out_of_rows(out->as_array());
        if (const auto* more = object.if_contains("more"))
            message.more = functions_of_rows(more->as_array());
        if (const auto* ended = object.if_contains("ended_functions"))
            message.ended = functions_ended_of(ended->as_object());
        if (!message.started && !message.calls && !message.taken_out && !message.more &&
            !message.ended)
            return wrong("has a line of unknown kind");
        return message;
    } catch (const std::exception&) {
        return wrong("is malformed");
    }
}

}  // namespace lagtrap::calls
