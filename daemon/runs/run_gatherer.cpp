#include "daemon/runs/run_gatherer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

std::uint32_t reason_of(std::uint32_t meaning) {
    if (meaning == LAGTRAP_END_FAILED) return trace::DirtyFailed;
    return meaning == LAGTRAP_END_CANCELLED ? std::uint32_t{trace::DirtyCancelled} : 0;
}

// nullopt if the programs did not measure the time, or the values do not fit the duration.
std::optional<trace::RunTimes> times_of(const lagtrap_slot& slot) {
    if (slot.times_generation == 0) return std::nullopt;
    const trace::RunTimes times{trace::time_parts(slot.parts), slot.handed_over_ns};
    const std::uint64_t duration_ns =
        slot.run.end_ns - std::min(slot.run.begin_ns, slot.run.end_ns);
    const std::uint64_t counted_ns = times.parts.total_ns();
    if (counted_ns > duration_ns || times.handed_over_ns > duration_ns - counted_ns)
        return std::nullopt;
    return times;
}

std::string text_of(const char (&name)[LAGTRAP_COMM_BYTES]) {
    return printable({name, ::strnlen(name, sizeof(name))});
}

}  // namespace

RunGatherer::RunGatherer(Machine machine)
    : machine_(std::move(machine)),
      processes_(machine_.proc_root, machine_.name_of_container),
      stacks_(machine_.proc_root) {
    clocks_.note(steady_snapshot());
}

void RunGatherer::use(const std::vector<settings::Event>& events, const settings::Runs& limits,
                      std::uint64_t since_ns, std::shared_ptr<const MarkerPlaces> places,
                      std::shared_ptr<const RunWeights> weights,
                      std::shared_ptr<const EventThresholds> thresholds) {
    events_ = events;
    thresholds_ = thresholds ? std::move(thresholds) : std::make_shared<EventThresholds>(events);
    weights_ = std::move(weights);
    limits_ = limits;
    batch_.forget_events();
    std::vector<bool> without_stacks;
    std::vector<std::string> names;
    std::vector<std::string> programs;
    for (const settings::Event& event : events) {
        without_stacks.push_back(event.stacks == settings::StackMode::None);
        if (event.record != settings::RecordMode::Runs) continue;
        names.push_back(event.name);
        for (const std::string& path : {event.begin.binary, event.end.binary, event.scope.binary})
            if (!path.empty() &&
                std::find(programs.begin(), programs.end(), path) == programs.end())
                programs.push_back(path);
    }
    stacks_.use(std::move(without_stacks), std::move(places));
    processes_.expect(std::move(programs));
    starts_.watch(names, since_ns);
}

void RunGatherer::take(const lagtrap_record* record, std::size_t bytes,
                       std::uint64_t ended_after_ns) {
    if (bytes < sizeof(lagtrap_record) || record->size_bytes > bytes) return;
    if (record->type == LAGTRAP_RECORD_STACK && bytes >= sizeof(lagtrap_stack)) {
        const auto& stack = *reinterpret_cast<const lagtrap_stack*>(record);
        if (bytes >= sizeof(lagtrap_stack) + stack.frame_count * sizeof(__u64)) stacks_.take(stack);
    } else if (record->type == LAGTRAP_REPORT_PROCESS && bytes >= sizeof(lagtrap_process_report)) {
        processes_.take(*reinterpret_cast<const lagtrap_process_report*>(record));
    } else if (record->type == LAGTRAP_REPORT_RUN &&
               bytes >= offsetof(lagtrap_slot, run) + offsetof(lagtrap_run, stages)) {
        lagtrap_slot slot{};
        std::memcpy(&slot, record, std::min(bytes, offsetof(lagtrap_slot, run) + sizeof(slot.run)));
        if (slot.run.end_ns >= ended_after_ns) add({slot.report, slot.run}, times_of(slot));
    }
}

void RunGatherer::take_aborted(const ReportedRun& aborted) {
    ReportedRun copy = aborted;
    copy.report.weight = 1;
    copy.run.comm[0] = 0;  // nobody wrote it
    copy.report.end_stack = 0;
    add(copy, std::nullopt, true);
}

void RunGatherer::add_stages(const ReportedRun& reported, const settings::Event& event,
                             trace::RecordedRun& run) {
    const std::size_t count = std::min<std::size_t>(reported.run.stage_count, LAGTRAP_MAX_STAGES);
    const std::uint32_t event_number = reported.run.event;
    std::vector<bool> seen(event.stages.size());
    for (std::size_t i = 0; i < count; ++i) {
        const lagtrap_stage_hit& hit = reported.run.stages[i];
        if (hit.stage >= event.stages.size()) continue;
        seen[hit.stage] = true;
        const std::string& name = event.stages[hit.stage].name;
        if (name == settings::cold_stage || name == settings::warm_stage) continue;
        const std::uint64_t at_ns =
            hit.at_ns > reported.run.begin_ns ? hit.at_ns - reported.run.begin_ns : 0;
        run.stages.push_back(
            {name, std::min(at_ns, run.duration_ns), hit.tid,
             stacks_.number_of(reported.report.stage_stacks[i],
                               {event_number, LAGTRAP_ROLE_STAGE, hit.stage}, batch_)});
    }
    // Several threads of a run may reach stages at the same time.
    std::stable_sort(run.stages.begin(), run.stages.end(),
                     [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
    run.without_stages = (reported.run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0;
    if (run.without_stages) return;
    for (std::size_t stage = 0; stage < seen.size(); ++stage)
        if (event.stages[stage].expected && !seen[stage] && reported.run.stages_lost == 0)
            run.dirty_reasons |= trace::DirtyMissingStage;
}

trace::StartKind RunGatherer::start_of(const ReportedRun& reported, const settings::Event& event,
                                       const RunProcess& process) {
    StartFacts facts;
    facts.process = reported.report.process;
    const ClockSnapshot clocks = ClockSnapshot::take();
    const std::uint64_t slept_ns = clocks.boottime_ns - clocks.monotonic_ns;
    if (process.started_boottime_ns > slept_ns)
        facts.process_started_ns = process.started_boottime_ns - slept_ns;
    facts.begin_ns = reported.run.begin_ns;
    facts.end_ns = reported.run.end_ns;
    facts.program = process.executable;
    facts.weight = reported.report.weight;
    const trace::StartKind by_rule = starts_.decide(event.name, event.cold, facts);
    trace::StartKind said = by_rule;
    for (std::size_t i = 0; i < std::min<std::size_t>(reported.run.stage_count, LAGTRAP_MAX_STAGES);
         ++i) {
        const std::uint16_t stage = reported.run.stages[i].stage;
        if (stage >= event.stages.size()) continue;
        if (event.stages[stage].name == settings::cold_stage) said = trace::StartKind::Cold;
        if (event.stages[stage].name == settings::warm_stage) said = trace::StartKind::Warm;
    }
    return said;
}

// The BPF programs leave the name to us if another thread ended the run.
std::string RunGatherer::thread_of(const lagtrap_run& run, const RunProcess& process) const {
    if (run.comm[0] != 0) return text_of(run.comm);
    if (run.begin_tid == run.begin_pid) return process.name;
    const auto path = machine_.proc_root / std::to_string(run.begin_pid) / "task" /
                      std::to_string(run.begin_tid) / "comm";
    const auto name = read_file(path, 64);
    return name && !name->empty() ? printable(std::string_view(*name).substr(0, name->size() - 1))
                                  : std::string();
}

void RunGatherer::add(const ReportedRun& reported, const std::optional<trace::RunTimes>& times,
                      bool aborted) {
    const lagtrap_run& from = reported.run;
    if (from.event >= events_.size()) return;
    const settings::Event& event = events_[from.event];
    const RunProcess& process =
        processes_.find(reported.report.process, from.begin_pid, reported.report.uid);
    trace::RecordedRun run;
    run.event = event.name;
    run.begin_realtime_ns = clocks_.to_realtime_ns(from.begin_ns);
    run.duration_ns = from.end_ns > from.begin_ns ? from.end_ns - from.begin_ns : 0;
    run.threshold_ns = thresholds_->of_ns(from.event);
    run.key = from.key;
    run.pid = from.begin_pid;
    run.begin_tid = from.begin_tid;
    run.end_tid = aborted ? from.begin_tid : from.end_tid;
    run.thread = thread_of(from, process);
    run.process = process.name;
    run.executable = process.executable;
    run.build_id = process.build_id;
    run.user = process.user;
    run.unit = process.unit;
    run.delay = run.duration_ns > run.threshold_ns;
    run.aborted = aborted;
    run.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        weight_of(from.event, std::max<std::uint32_t>(reported.report.weight, 1)), UINT32_MAX));
    run.start = start_of(reported, event, process);
    const std::uint32_t outcome =
        aborted ? std::uint32_t{trace::DirtyAborted} : reason_of(reported.report.meaning);
    run.dirty_reasons = clocks_.reasons(from.begin_ns, from.end_ns) | outcome;
    run.begin_stack =
        stacks_.number_of(reported.report.begin_stack, {from.event, LAGTRAP_ROLE_BEGIN, 0}, batch_);
    if (!aborted)
        run.end_stack =
            stacks_.number_of(reported.report.end_stack, {from.event, LAGTRAP_ROLE_END, 0}, batch_);
    add_stages(reported, event, run);
    run.times = times;
    if (outcome != 0) run.dirty_reasons &= ~static_cast<std::uint32_t>(trace::DirtyMissingStage);
    batch_.add(from.event, std::move(run), monotonic_ns());
}

std::uint64_t RunGatherer::weight_of(std::uint32_t event, std::uint64_t runs) const {
    return weights_ ? runs * weights_->of(event) : runs;
}

bool RunGatherer::add_weight(std::uint32_t event, std::uint64_t runs) {
    return batch_.add_weight(event, weight_of(event, runs));
}

GatheredBatch RunGatherer::close(const std::string& session_hint) {
    GatheredBatch closed = batch_.close();
    closed.batch.batch_id = random_uuid();
    closed.batch.host = machine_.host;
    closed.batch.boot_id = machine_.boot_id;
    closed.batch.session_hint = session_hint;
    closed.batch.version = LAGTRAP_VERSION;
    closed.batch.made_realtime_ns = ClockSnapshot::take().realtime_ns;
    stacks_.begin_batch();
    return closed;
}

}  // namespace lagtrap::daemon
