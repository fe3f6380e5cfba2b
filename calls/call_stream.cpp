#include "calls/call_stream.hpp"

#include <boost/json.hpp>

#include "calls/json_values.hpp"
#include "core/text.hpp"

namespace lagtrap::calls {
namespace {

namespace json = boost::json;

Error no_message(const char* why) {
    return make_error(ErrorKind::Invalid, std::string("lagtrapd's answer ") + why);
}

Started started_of(const json::object& object) {
    Started started;
    started.pid = object.at("pid").to_number<std::uint32_t>();
    started.process = text_of(object.at("process"));
    started.functions = functions_of_rows(object.at("functions").as_array());
    for (const json::value& one : object.at("refused").as_array())
        started.refused.push_back({text_of(one.as_array().at(0)), text_of(one.as_array().at(1))});
    started.refused_count = object.at("refused_count").to_number<std::uint64_t>();
    started.beyond_limit = object.at("beyond_limit").to_number<std::uint64_t>();
    started.indirect_calls = object.at("indirect_calls").to_number<std::uint64_t>();
    started.plan_ns = object.at("plan_ns").to_number<std::uint64_t>();
    started.attach_ns = object.at("attach_ns").to_number<std::uint64_t>();
    return started;
}

Tree tree_of(const json::object& object) {
    Tree tree;
    tree.tid = object.at("tid").to_number<std::uint32_t>();
    tree.thread = text_of(object.at("thread"));
    if (const auto* goroutine = object.if_contains("goroutine"))
        tree.goroutine = goroutine->to_number<std::uint64_t>();
    tree.began_realtime_ns = object.at("began_ns").to_number<std::uint64_t>();
    tree.began_monotonic_ns = object.at("began_monotonic_ns").to_number<std::uint64_t>();
    if (const auto* scale = object.if_contains("probe_scale"))
        tree.probe_scale = scale->to_number<double>();
    if (!(tree.probe_scale > 0)) throw std::out_of_range("probes that take no time");
    for (const json::value& one : object.at("calls").as_array()) {
        const json::array& row = one.as_array();
        Call call;
        call.function = static_cast<std::uint32_t>(number_at(row, 0));
        const auto parent = row.at(1).to_number<std::int64_t>();
        call.parent = parent < 0 ? no_parent : static_cast<std::uint32_t>(parent);
        call.begin_ns = number_at(row, 2);
        call.end_ns = number_at(row, 3);
        call.on_cpu_ns = number_at(row, 4);
        call.runnable_ns = number_at(row, 5);
        call.left_out = static_cast<std::uint32_t>(number_at(row, 6));
        call.left_out_cost_ns = number_at(row, 7);
        const std::uint64_t end = number_at(row, 8);
        if (end > static_cast<std::uint64_t>(CallEnd::ThreadEnd))
            throw std::out_of_range("an unknown end");
        call.end = static_cast<CallEnd>(end);
        tree.calls.push_back(call);
    }
    return tree;
}

Ended ended_of(const json::object& object) {
    Ended ended;
    ended.reason = text_of(object.at("reason"));
    ended.calls = object.at("calls").to_number<std::uint64_t>();
    ended.short_calls = object.at("short_calls").to_number<std::uint64_t>();
    ended.not_kept = object.at("not_kept").to_number<std::uint64_t>();
    ended.not_sent = object.at("not_sent").to_number<std::uint64_t>();
    ended.detach_ns = object.at("detach_ns").to_number<std::uint64_t>();
    return ended;
}

}  // namespace

json::array rows_of_functions(const std::vector<Function>& functions) {
    json::array rows;
    for (const Function& function : functions) {
        json::array row{function.name,         function.module,         function.level,
                        function.seen ? 1 : 0, function.cost.inside_ns, function.cost.around_ns,
                        function.entry};
        if (function.line != 0) row.insert(row.end(), {function.source, function.line});
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<Function> functions_of_rows(const json::array& rows) {
    std::vector<Function> functions;
    for (const json::value& one : rows) {
        const json::array& row = one.as_array();
        Function function;
        function.name = text_of(row.at(0));
        function.module = text_of(row.at(1));
        function.level = static_cast<std::uint32_t>(number_at(row, 2));
        function.seen = number_at(row, 3) != 0;
        function.cost = {number_at(row, 4), number_at(row, 5)};
        function.entry = number_at(row, 6);
        if (row.size() > 8) {
            function.source = text_of(row.at(7));
            function.line = static_cast<std::uint32_t>(number_at(row, 8));
        }
        functions.push_back(std::move(function));
    }
    return functions;
}

std::vector<TakenOut> taken_out_of_rows(const json::array& rows) {
    std::vector<TakenOut> functions;
    for (const json::value& one : rows)
        functions.push_back({static_cast<std::uint32_t>(number_at(one.as_array(), 0)),
                             number_at(one.as_array(), 1)});
    return functions;
}

json::object to_json(const Started& started) {
    json::array refused;
    for (const LeftOutFunction& function : started.refused)
        refused.push_back(json::array{function.name, function.reason});
    return {{"ok", true},
            {"started",
             {{"pid", started.pid},
              {"process", started.process},
              {"functions", rows_of_functions(started.functions)},
              {"refused", std::move(refused)},
              {"refused_count", started.refused_count},
              {"beyond_limit", started.beyond_limit},
              {"indirect_calls", started.indirect_calls},
              {"plan_ns", started.plan_ns},
              {"attach_ns", started.attach_ns}}}};
}

json::object to_json(const Tree& tree) {
    json::array rows;
    rows.reserve(tree.calls.size());
    for (const Call& call : tree.calls) {
        const std::int64_t parent = call.parent == no_parent ? -1 : std::int64_t{call.parent};
        rows.push_back(json::array{call.function, parent, call.begin_ns, call.end_ns,
                                   call.on_cpu_ns, call.runnable_ns, call.left_out,
                                   call.left_out_cost_ns, static_cast<unsigned>(call.end)});
    }
    json::object reported{{"tid", tree.tid},
                          {"thread", tree.thread},
                          {"began_ns", tree.began_realtime_ns},
                          {"began_monotonic_ns", tree.began_monotonic_ns},
                          {"calls", std::move(rows)}};
    if (tree.goroutine != 0) reported["goroutine"] = tree.goroutine;
    if (tree.probe_scale != 1) reported["probe_scale"] = tree.probe_scale;
    return {{"tree", std::move(reported)}};
}

json::object to_json(const std::vector<TakenOut>& functions) {
    json::array rows;
    for (const TakenOut& one : functions)
        rows.push_back(json::array{one.function, one.calls_per_second});
    return {{"taken_out", std::move(rows)}};
}

json::object to_json(const std::vector<Function>& more) {
    return {{"more", rows_of_functions(more)}};
}

json::object to_json(const Ended& ended) {
    return {{"ended",
             {{"reason", ended.reason},
              {"calls", ended.calls},
              {"short_calls", ended.short_calls},
              {"not_kept", ended.not_kept},
              {"not_sent", ended.not_sent},
              {"detach_ns", ended.detach_ns}}}};
}

Result<Message> parse_message(const std::string& line) {
    try {
        const json::object object = json::parse(line).as_object();
        if (const auto* ok = object.if_contains("ok"); ok != nullptr && !ok->as_bool())
            return make_error(ErrorKind::Invalid, text_of(object.at("error")));
        Message message;
        if (const auto* started = object.if_contains("started"))
            message.started = started_of(started->as_object());
        if (const auto* tree = object.if_contains("tree"))
            message.tree = tree_of(tree->as_object());
        if (const auto* out = object.if_contains("taken_out"))
            message.taken_out = taken_out_of_rows(out->as_array());
        if (const auto* more = object.if_contains("more"))
            message.more = functions_of_rows(more->as_array());
        if (const auto* ended = object.if_contains("ended"))
            message.ended = ended_of(ended->as_object());
        if (object.size() > 2) return no_message("has more than one message in a line");
        if (!message.started && !message.tree && !message.taken_out && !message.more &&
            !message.ended)
            return no_message(
                "has a line of unknown kind; do lagtrap and lagtrapd have the same version?");
        return message;
    } catch (const std::exception&) {
        return no_message("is malformed; do lagtrap and lagtrapd have the same version?");
    }
}

}  // namespace lagtrap::calls
