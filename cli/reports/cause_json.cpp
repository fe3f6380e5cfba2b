#include "cli/reports/cause_json.hpp"

#include <boost/json.hpp>

#include "analysis/request_edge.hpp"
#include "cli/console/ratio.hpp"

namespace lagtrap::cli {

namespace {

using analysis::CallFocus;
using analysis::CallLine;
using analysis::CallPlace;
using analysis::CpuHolder;
using analysis::CpuWaits;
using analysis::RequestContext;
using analysis::ThreadDoing;
using analysis::ThreadName;
using analysis::ThreadTime;
using analysis::WaitEnd;
using boost::json::array;
using boost::json::object;

constexpr std::size_t part_limit = 50;

object thread_json(const ThreadName& who) {
    return {{"pid", who.pid},
            {"tid", who.tid},
            {"process", who.process},
            {"thread", who.thread},
            {"unit", who.unit}};
}

object place_json(const CallPlace& place) {
    return {{"function", place.function}, {"module", place.module},
            {"source", place.source},     {"line", place.line},
            {"called", place.called},     {"called_module", place.called_module}};
}

object focus_json(const CallFocus& focus) {
    array parts;
    for (const CallLine& part : focus.parts) {
        object place = place_json(part.place);
        place["time_ns"] = part.total_ns();
        parts.push_back(std::move(place));
    }
    object json = place_json(focus.place);
    json["caller"] = focus.caller;
    json["time_ns"] = focus.time_ns;
    json["parts"] = std::move(parts);
    return json;
}

const char* end_word(const ThreadDoing& doing) {
    if (doing.interruption != analysis::Interruption::None) return "thread";
    if (doing.outlasts) return doing.timed_out ? "timeout" : "not yet";
    switch (doing.end) {
        case WaitEnd::Thread: return "thread";
        case WaitEnd::Timeout: return "timeout";
        case WaitEnd::Interrupt: return "interrupt";
        case WaitEnd::NotYet: return "not yet";
        case WaitEnd::Unknown: break;
    }
    return "unknown";
}

object cpu_json(const CpuWaits& waits) {
    array holders;
    for (const CpuHolder& holder : waits.holders) {
        object json{
            {"pid", holder.pid},         {"tid", holder.tid},
            {"process", holder.process}, {"thread", holder.thread},
            {"unit", holder.unit},       {"threads", holder.threads},
            {"time_ns", holder.time_ns}, {"function", holder.function},
            {"caller", holder.caller},   {"real_time_priority", holder.real_time_priority()}};
        if (holder.request) json["request"] = request_json(holder.request->request);
        holders.push_back(std::move(json));
    }
    return {{"cpus", boost::json::value_from(waits.cpus)},
            {"idle_ns", waits.idle_ns},
            {"elsewhere_ns", waits.elsewhere_ns},
            {"unknown_ns", waits.unknown_ns},
            {"holders", std::move(holders)}};
}

object file_json(const analysis::FileWaits& files) {
    object json{{"path", files.path},
                {"time_ns", files.time_ns},
                {"files", files.files},
                {"disk", files.disk},
                {"queue_depth", files.queue_depth}};
    if (files.holder_pid != 0)
        json["lock_holder"] = object{{"pid", files.holder_pid}, {"process", files.holder}};
    return json;
}

object doing_json(const ThreadDoing& doing, std::uint64_t whole_ns) {
    object json{{"kind", to_text(doing.kind)},
                {"time_ns", doing.time_ns},
                {"share", ratio(doing.time_ns, whole_ns)},
                {"count", doing.count},
                {"reason", doing.reason},
                {"place", focus_json(doing.focus)}};
    if (!doing.kernel.empty()) json["kernel"] = doing.kernel;
    if (doing.kind == analysis::TimeKind::Runnable) json["cpu"] = cpu_json(doing.cpu);
    if (doing.kind != analysis::TimeKind::Blocked) return json;
    array wakers;
    for (const ThreadTime& waker : doing.wakers) {
        object who = thread_json(waker.who);
        who["time_ns"] = waker.time_ns;
        if (doing.likely) who["likely"] = true;
        wakers.push_back(std::move(who));
    }
    if (!doing.files.path.empty() || !doing.files.disk.empty())
        json["file"] = file_json(doing.files);
    json["waited"] = words_of_wait(doing.wait, doing.reason);
    json["ended_by"] = end_word(doing);
    json["wakers"] = std::move(wakers);
    json["waker_count"] = doing.waker_count;
    json["turns"] = doing.turns;
    return json;
}

array edges_json(const analysis::DelayCauses& causes) {
    array edges;
    for (const analysis::RequestEdge& edge : edges_of(causes)) {
        if (edges.size() == part_limit) break;
        object json = thread_json(edge.who);
        json["request"] = request_json(edge.culprit);
        json["how"] = to_text(edge.how);
        json["lost_ns"] = edge.lost_ns;
        json["place"] = edge.place;
        edges.push_back(std::move(json));
    }
    return edges;
}

}  // namespace

object request_json(const RequestContext& request) {
    array attributes;
    for (const analysis::RequestAttribute& one : request.attributes)
        attributes.push_back(object{{"name", one.name}, {"value", one.value}});
    return {{"event", request.event},
            {"run", request.run_id},
            {"key", request.key},
            {"trace_id", request.trace_id},
            {"span_id", request.span_id},
            {"route", request.route},
            {"attributes", std::move(attributes)}};
}

object causes_json(const analysis::DelayCauses& causes) {
    array parts;
    for (const analysis::DelayCause& cause : causes.causes) {
        if (parts.size() == part_limit) break;
        object part = doing_json(cause.doing, causes.wall_ns);
        array chain;
        for (const analysis::CauseLink& link : cause.chain) {
            object json = thread_json(link.who);
            json["whole_ns"] = link.whole_ns;
            if (link.likely) json["likely"] = true;
            if (link.started.tid != 0) {
                json["started"] = thread_json(link.started);
                json["started_after_ns"] = link.started_after_ns;
            }
            if (link.request) json["request"] = request_json(link.request->request);
            array doings;
            for (const ThreadDoing& doing : link.doings)
                doings.push_back(doing_json(doing, link.whole_ns));
            json["doings"] = std::move(doings);
            chain.push_back(std::move(json));
        }
        part["chain"] = std::move(chain);
        parts.push_back(std::move(part));
    }
    object json{{"sentences", boost::json::value_from(cause_sentences(causes))},
                {"parts", std::move(parts)}};
    if (array edges = edges_json(causes); !edges.empty()) json["held_up_by"] = std::move(edges);
    return json;
}

array calls_json(const std::vector<CallLine>& calls, std::uint64_t whole_ns) {
    array list;
    for (const CallLine& line : calls) {
        object json = place_json(line.place);
        json["functions"] = boost::json::value_from(line.functions);
        json["depth"] = line.depth;
        json["share"] = ratio(line.total_ns(), whole_ns);
        json["on_cpu_ns"] = line.on_cpu_ns;
        json["blocked_ns"] = line.blocked_ns;
        json["waiting_ns"] = line.waiting_ns;
        json["own_ns"] = line.own_ns;
        json["called_ns"] = line.called_ns;
        json["nameless_ns"] = line.nameless_ns;
        json["reason"] = line.reason;
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace lagtrap::cli
