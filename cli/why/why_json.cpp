#include "cli/why/why_json.hpp"

#include <boost/json.hpp>

#include "analysis/delay_report.hpp"
#include "cli/reports/cause_json.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

json::object run_json(const analysis::ThreadRun& run, const WhyLook& look) {
    json::array stacks, others;
    for (const analysis::StackTime& stack : run.stacks)
        stacks.push_back(json::object{{"frames", json::value_from(stack.frames)},
                                      {"kernel_from", stack.kernel_from},
                                      {"time_ns", stack.total_ns()}});
    for (const auto& other : run.others)
        others.push_back(json::object{{"tid", other.tid}, {"thread", other.thread}});
    json::object object{{"pid", run.delay.begin_pid},
                        {"process", run.delay.process},
                        {"tid", run.delay.begin_tid},
                        {"thread", run.delay.thread},
                        {"ended", !run.delay.open},
                        {"waits_for_work", run.waits_for_work},
                        {"wall_ns", run.split.wall_ns},
                        {"on_cpu_ns", run.split.on_cpu_ns},
                        {"runnable_ns", run.split.runnable_ns},
                        {"blocked_ns", run.split.blocked_ns},
                        {"not_recorded_ns", run.split.not_recorded_ns},
                        {"causes", causes_json(run.causes)},
                        {"stacks", std::move(stacks)},
                        {"others", std::move(others)}};
    if (const auto before = look.stopped_before_ns.find(run.delay.begin_tid);
        run.split.blocked_ns == run.split.wall_ns && before != look.stopped_before_ns.end())
        object["blocked_before_recording_ns"] = before->second;
    if (const auto file = look.files.find(run.delay.begin_tid); file != look.files.end())
        object["file"] = file->second;
    return object;
}

json::object process_json(const analysis::Recording& recording, std::uint32_t pid) {
    const auto known = recording.processes.find(pid);
    return {{"pid", pid},
            {"process", recording.process_name(pid)},
            {"command_line",
             known != recording.processes.end() ? known->second.command_line : std::string()},
            {"unit", recording.unit_of(pid)}};
}

}  // namespace

json::object why_json(const analysis::Recording& recording, const WhyTarget& target,
                      const WhyLook& look) {
    const analysis::ProcessRuns process = analysis::runs_of_processes(recording, target.pids);
    json::array runs, lost, processes;
    for (const analysis::ThreadRun& run : process.runs) runs.push_back(run_json(run, look));
    const auto quality = analysis::report_quality(recording);
    for (const auto& loss : quality.lost)
        lost.push_back(json::object{{"what", loss.what}, {"count", loss.count}});
    for (const std::uint32_t pid : target.pids)
        if (recording.processes.contains(pid)) processes.push_back(process_json(recording, pid));
    json::object object = target.name.empty() ? process_json(recording, *target.pids.begin())
                                              : json::object{{"target", target.name}};
    object["processes"] = std::move(processes);
    object["length_ns"] = recording.end_ns - recording.begin_ns;
    object["threads"] = process.threads;
    object["threads_left_out"] = process.left_out;
    object["runs"] = std::move(runs);
    object["recording_cost"] = quality.own_cost;
    object["lost"] = std::move(lost);
    return object;
}

}  // namespace lagtrap::cli
