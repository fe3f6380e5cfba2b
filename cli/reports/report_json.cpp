#include "cli/reports/report_json.hpp"

#include <boost/json.hpp>

#include "analysis/meanwhile.hpp"
#include "analysis/open_delay.hpp"
#include "analysis/wake_cause.hpp"
#include "cli/console/ratio.hpp"
#include "cli/reports/cause_json.hpp"
#include "cli/reports/report_before.hpp"
#include "cli/reports/report_calls.hpp"
#include "cli/reports/report_traced.hpp"
#include "core/clock.hpp"
#include "trace/merge/recorded_objects.hpp"

namespace lagtrap::cli {

namespace {

using analysis::BlockedTime;
using analysis::DelayReport;
using analysis::FunctionTime;
using analysis::Recording;
using analysis::StackTime;
using analysis::StageReport;
using analysis::TimeSplit;
using analysis::WakerReport;
using boost::json::array;
using boost::json::object;

constexpr std::size_t delay_limit = 1000;
constexpr std::size_t stack_limit = 20;

object split_json(const TimeSplit& split) {
    array blocked;
    for (const BlockedTime& time : split.blocked) {
        blocked.push_back(
            object{{"reason", time.reason}, {"total_ns", time.total_ns}, {"count", time.count}});
    }
    return {{"wall_ns", split.wall_ns},
            {"on_cpu_ns", split.on_cpu_ns},
            {"runnable_ns", split.runnable_ns},
            {"throttled_ns", split.throttled_ns},
            {"blocked_ns", split.blocked_ns},
            {"not_recorded_ns", split.not_recorded_ns},
            {"outside_recording_ns", split.outside_ns},
            {"without_stacks",
             {{"on_cpu_ns", split.counted.on_cpu_ns},
              {"runnable_ns", split.counted.runnable_ns},
              {"blocked_ns", split.counted.blocked_ns}}},
            {"between_threads_ns", split.between_threads_ns},
            {"in_goroutine_ns", split.in_goroutine_ns},
            {"from_samples", split.from_samples},
            {"blocked", std::move(blocked)}};
}

array functions_json(const std::vector<FunctionTime>& functions, std::uint64_t whole_ns,
                     std::uint64_t wall_ns) {
    array list;
    for (const FunctionTime& function : functions) {
        list.push_back(object{{"name", function.name},
                              {"module", function.module},
                              {"source", function.source},
                              {"line", function.line},
                              {"share", ratio(function.total_ns(), whole_ns)},
                              {"share_of_delay", ratio(function.total_ns(), wall_ns)},
                              {"on_cpu_ns", function.on_cpu_ns},
                              {"blocked_ns", function.blocked_ns},
                              {"waiting_ns", function.waiting_ns},
                              {"self_on_cpu_ns", function.self_on_cpu_ns},
                              {"reason", function.reason}});
    }
    return list;
}

array stacks_json(const std::vector<StackTime>& stacks, std::uint64_t whole_ns) {
    array list;
    for (const StackTime& stack : stacks) {
        if (list.size() == stack_limit) break;
        array frames;
        for (const std::string& frame : stack.frames) frames.push_back(boost::json::string(frame));
        list.push_back(object{{"frames", std::move(frames)},
                              {"kernel_from", stack.kernel_from},
                              {"share", ratio(stack.total_ns(), whole_ns)},
                              {"on_cpu_ns", stack.on_cpu_ns},
                              {"blocked_ns", stack.blocked_ns},
                              {"waiting_ns", stack.waiting_ns},
                              {"reason", stack.reason}});
    }
    return list;
}

array stages_json(const std::vector<StageReport>& stages) {
    array list;
    for (const StageReport& stage : stages) {
        list.push_back(object{{"name", stage.name},
                              {"offset_ns", stage.offset_ns},
                              {"duration_ns", stage.duration_ns},
                              {"tid", stage.tid},
                              {"split", split_json(stage.split)}});
    }
    return list;
}

array wakers_json(const DelayReport& report) {
    array list;
    for (const WakerReport& waker : report.wakers) {
        list.push_back(object{
            {"interrupt", waker.interrupt},
            {"cause", analysis::name_of(waker.cause)},
            {"device", waker.device},
            {"shortest_ns", waker.shortest_ns},
            {"longest_ns", waker.longest_ns},
            {"pid", waker.pid},
            {"tid", waker.tid},
            {"process", waker.process},
            {"thread", waker.thread},
            {"reason", waker.reason},
            {"blocked_ns", waker.blocked_ns},
            {"share", report.share_of_known(waker.blocked_ns)},
            {"count", waker.count},
            {"split", split_json(waker.split)},
            {"calls", calls_json(waker.calls, waker.blocked_ns)},
            {"functions", functions_json(waker.functions, waker.blocked_ns, waker.blocked_ns)}});
    }
    return list;
}

array meanwhile_json(const Recording& recording, const trace::Delay& delay) {
    array list;
    for (const auto& beginning : analysis::meanwhile_of(recording, delay).beginnings) {
        object json{{"offset_ns", beginning.offset_ns},
                    {"pid", beginning.pid},
                    {"process", beginning.process},
                    {"unit", recording.unit_of(beginning.pid)}};
        if (beginning.delay_number > 0) {
            json["delay"] = beginning.delay_number;
        } else {
            json["command_line"] = beginning.command_line;
        }
        list.push_back(std::move(json));
    }
    return list;
}

std::string command_line_of(const Recording& recording, std::uint32_t pid) {
    const auto process = recording.processes.find(pid);
    return process != recording.processes.end() ? process->second.command_line : std::string();
}

object delay_json(const Recording& recording, const trace::Delay& delay, std::size_t number) {
    const DelayReport report = analysis::report_delay(recording, delay);
    const std::uint64_t whole_ns = report.split.recorded_ns();
    object json{{"number", number},
                {"run", delay.run_id},
                {"event", delay.event},
                {"threshold_ns", delay.threshold_ns},
                {"begin_boottime_ns", delay.begin_ns},
                {"duration_ns", delay.duration_ns},
                {"open", delay.open},
                {"open_note", analysis::open_delay_note(recording, delay)},
                {"first", delay.first},
                {"queued_ns", delay.queued_ns},
                {"key", delay.key},
                {"in_go", delay.in_go},
                {"goroutine", delay.goroutine},
                {"begin_pid", delay.begin_pid},
                {"begin_tid", delay.begin_tid},
                {"end_pid", delay.end_pid},
                {"end_tid", delay.end_tid},
                {"process", delay.process},
                {"thread", delay.thread},
                {"program", delay.program},
                {"program_build_id", delay.program_build_id},
                {"program_version", delay.program_version},
                {"command_line", command_line_of(recording, delay.begin_pid)},
                {"control_group", delay.control_group},
                {"unit", delay.unit},
                {"user", delay.user},
                {"trace_id", delay.trace.trace_id},
                {"parent_span_id", delay.trace.parent_span_id},
                {"no_trace_id", delay.no_trace},
                {"before", before_json(recording, delay)},
                {"began_around", meanwhile_json(recording, delay)},
                {"run_calls", run_calls_json(recording, delay)},
                {"traced_functions", traced_functions_json(recording, delay)},
                {"objects", trace::objects_json(recording.system, delay.begin_pid, SIZE_MAX / 8)},
                {"samples", report.samples},
                {"split", split_json(report.split)},
                {"stages", stages_json(report.stages)},
                {"without_stages", delay.without_stages},
                {"cause", causes_json(report.causes)},
                {"calls", calls_json(report.calls, whole_ns)},
                {"innermost", calls_json(report.innermost, whole_ns)},
                {"functions", functions_json(report.functions, whole_ns, report.split.wall_ns)},
                {"kernel_functions",
                 functions_json(report.kernel_functions, whole_ns, report.split.wall_ns)},
                {"stacks", stacks_json(report.stacks, whole_ns)},
                {"wakers", wakers_json(report)}};
    const analysis::RequestContext& request = report.causes.request;
    if (!request.span_id.empty()) json["request"] = request_json(request);
    return json;
}

object machine_json(const Recording& recording) {
    const analysis::MachineReport machine = analysis::report_machine(recording);
    array processes;
    for (const auto& process : machine.processes) {
        processes.push_back(object{{"pid", process.pid},
                                   {"name", process.name},
                                   {"unit", recording.unit_of(process.pid)},
                                   {"cpu_ns", process.cpu_ns},
                                   {"share", machine.share(process.cpu_ns)}});
    }
    return {{"length_ns", machine.length_ns},
            {"cpu_count", machine.cpu_count},
            {"busy_ns", machine.busy_ns},
            {"busy_share", machine.share(machine.busy_ns)},
            {"processes", std::move(processes)}};
}

object quality_json(const Recording& recording) {
    const analysis::QualityReport quality = analysis::report_quality(recording);
    object lost;
    for (const auto& loss : quality.lost) lost[loss.what] = loss.count;
    array stops;
    for (const auto& stop : quality.stops)
        stops.push_back(
            object{{"module", stop.module}, {"reason", stop.reason}, {"share", stop.share}});
    const auto share_or_null = [](const std::optional<double>& share) {
        return share ? boost::json::value(*share) : boost::json::value(nullptr);
    };
    const trace::NamingQuality& naming = quality.naming;
    object names{{"modules", naming.modules},
                 {"modules_gone", naming.modules_gone},
                 {"modules_damaged", naming.modules_damaged},
                 {"modules_left_out", naming.modules_left_out},
                 {"places_left_out", naming.places_left_out},
                 {"lines_left_out", naming.lines_left_out}};
    return {{"samples", quality.samples},
            {"lost", std::move(lost)},
            {"partial", quality.partial},
            {"truncated_by_size", quality.truncated_by_size},
            {"omitted", boost::json::value_from(quality.omitted)},
            {"stacks_complete", quality.stacks_complete},
            {"on_cpu_stacks_complete", share_or_null(quality.on_cpu_complete)},
            {"off_cpu_stacks_complete", share_or_null(quality.off_cpu_complete)},
            {"delayed_stacks_complete", share_or_null(quality.delayed_complete)},
            {"delayed_stacks", quality.delayed_stacks},
            {"complete_by_frame_pointers", quality.by_frame_pointers},
            {"complete_late", quality.late},
            {"stops", std::move(stops)},
            {"other_stops", quality.other_stops},
            {"frames_named", quality.frames_named},
            {"frames_located", quality.frames_located},
            {"names", std::move(names)},
            {"own_cost", quality.own_cost}};
}

}  // namespace

object report_json(const Recording& recording, std::optional<std::size_t> only) {
    const trace::SystemFile& system = recording.system;
    array delays;
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < system.delays.size(); ++i) {
        if (only && i + 1 != *only) continue;
        if (delays.size() < delay_limit) {
            delays.push_back(delay_json(recording, system.delays[i], i + 1));
        } else {
            ++left_out;
        }
    }
    object runs;
    for (const auto& [event, counts] : system.runs) {
        runs[event] = object{{"runs", counts.runs}, {"delays", counts.delays}};
    }
    return {{"session", system.session_id},
            {"lagtrap_version", system.lagtrap_version},
            {"host", system.host},
            {"os", system.os_name},
            {"kernel", system.kernel_release},
            {"started", format_utc(system.started_realtime_ns)},
            {"started_realtime_ns", system.started_realtime_ns},
            {"started_boottime_ns", system.started_boottime_ns},
            {"trigger_reason", system.trigger_reason},
            {"trigger_event", system.trigger_event},
            {"trace_length_ns", system.trace_length_ns},
            {"trace_length_limit_ns", system.trace_length_limit_ns},
            {"end", trace::recording_end_name(system.end)},
            {"runs", std::move(runs)},
            {"delays", std::move(delays)},
            {"delays_left_out", left_out},
            {"machine", machine_json(recording)},
            {"quality", quality_json(recording)}};
}

}  // namespace lagtrap::cli
