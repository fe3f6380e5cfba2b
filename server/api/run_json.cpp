#include "server/api/run_json.hpp"

#include <algorithm>

#include "analysis/before_recording.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t stages_limit = 256;
constexpr std::size_t frames_limit = 1024;

json::object stage_json(const std::string& name, std::uint64_t at_ns, std::uint64_t duration_ns) {
    return {
        {"name", name}, {"at_ns", json_number(at_ns)}, {"duration_ns", json_number(duration_ns)}};
}

// Includes the time before the first marker, which pictures draw as a stage.
json::array stages_json(const StoredRun& run) {
    json::array stages;
    if (run.stages.empty()) return stages;
    stages.push_back(stage_json("begin", 0, run.stages.front().at_ns));
    for (const StoredStage& stage : run.stages)
        if (stages.size() < stages_limit)
            stages.push_back(stage_json(stage.name, stage.at_ns, stage.duration_ns));
    return stages;
}

// Reasons have the same wording as in reports.
json::value times_json(const StoredRun& run) {
    if (!run.times) return nullptr;
    const trace::TimeParts& parts = run.times->parts;
    json::array blocked;
    for (std::uint32_t i = 0; i < parts.blocked_ns.size(); ++i)
        if (parts.blocked_ns[i] > 0)
            blocked.push_back({{"reason", analysis::reason_of_class(i)},
                               {"ns", json_number(parts.blocked_ns[i])}});
    const std::uint64_t known_ns = parts.total_ns() + run.times->handed_over_ns;
    return json::object{
        {"on_cpu_ns", json_number(parts.on_cpu_ns)},
        {"runnable_ns", json_number(parts.runnable_ns)},
        {"throttled_ns", json_number(parts.throttled_ns)},
        {"blocked_ns", json_number(parts.blocked_total_ns())},
        {"handed_over_ns", json_number(run.times->handed_over_ns)},
        {"unknown_ns", json_number(run.duration_ns - std::min(known_ns, run.duration_ns))},
        {"blocked", std::move(blocked)}};
}

json::value dirty_json(const std::optional<DirtyMark>& mark) {
    if (!mark) return nullptr;
    json::value by = nullptr;
    if (mark->rule == rule_by_hand) by = json::string(mark->by);
    return json::object{{"rule", mark->rule},
                        {"reason", mark->reason},
                        {"by", by},
                        {"at_ns", json_digits(mark->at_realtime_ns)}};
}

}  // namespace

const char* start_name(trace::StartKind start) {
    if (start == trace::StartKind::Cold) return "cold";
    return start == trace::StartKind::Warm ? "warm" : "unknown";
}

json::object run_json(const StoredRun& run) {
    json::value bundle = nullptr;
    json::value bundle_delay = nullptr;
    if (run.bundle) {
        bundle = json::string(*run.bundle);
        if (run.bundle_delay > 0) bundle_delay = run.bundle_delay;
    }
    return {{"id", json_digits(run.id)},
            {"event", run.event},
            {"begin_ns", json_digits(run.begin_realtime_ns)},
            {"duration_ns", json_number(run.duration_ns)},
            {"threshold_ns", json_number(run.threshold_ns)},
            {"host", run.host},
            {"user", run.user},
            {"build", run.build},
            {"process", run.process},
            {"unit", run.unit},
            {"executable", run.executable},
            {"pid", run.pid},
            {"tid", run.begin_tid},
            {"thread", run.thread},
            {"start", start_name(run.start)},
            {"delay", run.delay},
            {"weight", run.weight},
            {"bundle", std::move(bundle)},
            {"bundle_delay", std::move(bundle_delay)},
            {"dirty", dirty_json(run.dirty)},
            {"outlier", dirty_json(run.outlier)},
            {"stages", stages_json(run)},
            {"without_stages", run.without_stages},
            {"times", times_json(run)}};
}

json::array stack_json(const trace::RunStack& stack) {
    json::array frames;
    for (const trace::RunFrame& frame : stack) {
        if (frames.size() == frames_limit) break;
        frames.push_back({{"function", frame.function},
                          {"module", frame.module},
                          {"build_id", frame.build_id},
                          {"offset", json_digits(frame.offset)},
                          {"file", frame.file},
                          {"line", frame.line}});
    }
    return frames;
}

}  // namespace lagtrap::server
