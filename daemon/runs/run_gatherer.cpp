#include "daemon/runs/run_gatherer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

// Approximate sizes in a batch: texts are written once, numbers by their size.
constexpr std::uint64_t run_bytes = 80;
constexpr std::uint64_t stage_bytes = 14;
constexpr std::uint64_t times_bytes = 24;
constexpr std::uint64_t frame_bytes = 24;
// Below the limits of a batch, because naming adds inlined functions.
constexpr std::size_t stacks_limit = 5'000;
constexpr std::size_t frames_limit = 40'000;

std::uint32_t reason_of(std::uint32_t meaning) {
    if (meaning == LAGTRAP_END_FAILED) return trace::DirtyFailed;
    return meaning == LAGTRAP_END_CANCELLED ? std::uint32_t{trace::DirtyCancelled} : 0;
}

// Keys of markers among those of stacks, which are hashes.
constexpr std::uint32_t begin_marker = 0xfffe;
constexpr std::uint32_t end_marker = 0xffff;
constexpr std::uint64_t marker_number(std::uint32_t event, std::uint32_t place) {
    return 0xffff'0000'0000'0000ULL | std::uint64_t{event} << 16 | place;
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
    marker_places_ = std::move(places);
    weights_ = std::move(weights);
    limits_ = limits;
    last_of_event_.clear();  // event numbers have changed
    stacks_.clear();
    stack_numbers_.clear();
    modules_taken_.clear();
    std::vector<std::string> names;
    std::vector<std::string> programs;
    for (const settings::Event& event : events) {
        if (event.record != settings::RecordMode::Runs) continue;
        names.push_back(event.name);
        for (const std::string& path : {event.begin.binary, event.end.binary, event.scope.binary})
            if (!path.empty() &&
                std::find(programs.begin(), programs.end(), path) == programs.end())
                programs.push_back(path);
    }
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

std::optional<SolePlace> RunGatherer::sole_place(std::uint64_t marker) const {
    const auto event = static_cast<std::uint32_t>(marker >> 16);
    const auto place = static_cast<std::uint16_t>(marker);
    if (!marker_places_ || event >= events_.size() ||
        events_[event].stacks != settings::StackMode::None)
        return std::nullopt;
    if (place == begin_marker) return marker_places_->find(event, LAGTRAP_ROLE_BEGIN, 0);
    if (place == end_marker) return marker_places_->find(event, LAGTRAP_ROLE_END, 0);
    return marker_places_->find(event, LAGTRAP_ROLE_STAGE, place);
}

std::uint32_t RunGatherer::add_stack(std::uint64_t id, trace::RunStack stack) {
    frames_ += stack.size();
    bytes_ += stack.size() * frame_bytes;
    gathered_.batch.stacks.push_back(std::move(stack));
    const auto number = static_cast<std::uint32_t>(gathered_.batch.stacks.size());
    stack_numbers_.emplace(id, number);
    return number;
}

std::uint32_t RunGatherer::number_of(std::uint64_t stack_id, std::uint64_t marker) {
    if (stack_id == 0) {
        if (const auto known = stack_numbers_.find(marker); known != stack_numbers_.end())
            return known->second;
        const auto place = sole_place(marker);
        if (!place) return 0;
        const SolePlace& sole = *place;
        const bool same = std::any_of(
            gathered_.modules.begin(), gathered_.modules.end(), [&](const auto& module) {
                return module.path == sole.binary && module.build_id == sole.build_id;
            });
        if (!same) gathered_.modules.push_back({sole.binary, sole.build_id, 0, 0, 0, {}});
        return add_stack(marker,
                         {{sole.binary, hexadecimal(sole.build_id), sole.offset, {}, {}, 0}});
    }
    const auto known = stack_numbers_.find(stack_id);
    if (known != stack_numbers_.end()) return known->second;
    const std::vector<MarkerPlace>* places = stacks_.find(stack_id);
    if (!places || places->empty()) return 0;
    trace::RunStack stack;
    for (const MarkerPlace& place : *places) {
        trace::RunFrame frame;
        frame.offset = place.offset;
        if (place.module != trace::unknown_module) {
            const trace::RecordedModule& module = stacks_.module(place.module);
            frame.module = module.path;
            frame.build_id = hexadecimal(module.build_id);
            if (modules_taken_.emplace(place.module, true).second)
                gathered_.modules.push_back(module);
        }
        stack.push_back(std::move(frame));
    }
    return add_stack(stack_id, std::move(stack));
}

void RunGatherer::add_stages(const ReportedRun& reported, const settings::Event& event,
                             trace::RecordedRun& run) {
    const std::size_t count = std::min<std::size_t>(reported.run.stage_count, LAGTRAP_MAX_STAGES);
    std::vector<bool> seen(event.stages.size());
    for (std::size_t i = 0; i < count; ++i) {
        const lagtrap_stage_hit& hit = reported.run.stages[i];
        if (hit.stage >= event.stages.size()) continue;
        seen[hit.stage] = true;
        const std::string& name = event.stages[hit.stage].name;
        if (name == settings::cold_stage || name == settings::warm_stage) continue;
        const std::uint64_t at_ns =
            hit.at_ns > reported.run.begin_ns ? hit.at_ns - reported.run.begin_ns : 0;
        run.stages.push_back({name, std::min(at_ns, run.duration_ns), hit.tid,
                              number_of(reported.report.stage_stacks[i],
                                        marker_number(reported.run.event, hit.stage))});
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
        number_of(reported.report.begin_stack, marker_number(from.event, begin_marker));
    if (!aborted)
        run.end_stack = number_of(reported.report.end_stack, marker_number(from.event, end_marker));
    add_stages(reported, event, run);
    run.times = times;
    if (outcome != 0) run.dirty_reasons &= ~static_cast<std::uint32_t>(trace::DirtyMissingStage);
    gathered_.batch.runs_sampled_away += run.weight - 1;
    bytes_ += run_bytes + run.stages.size() * stage_bytes + (run.times ? times_bytes : 0);
    if (gathered_.batch.runs.empty()) first_ns_ = monotonic_ns();
    last_of_event_[from.event] = gathered_.batch.runs.size();
    gathered_.batch.runs.push_back(std::move(run));
}

std::uint64_t RunGatherer::weight_of(std::uint32_t event, std::uint64_t runs) const {
    return weights_ ? runs * weights_->of(event) : runs;
}

std::optional<std::uint64_t> RunGatherer::due_ns() const {
    if (gathered_.batch.runs.empty()) return std::nullopt;
    return first_ns_ + static_cast<std::uint64_t>(limits_.batch_interval.count());
}

std::uint64_t RunGatherer::runs() const {
    return gathered_.batch.runs.size() + gathered_.batch.runs_sampled_away +
           gathered_.batch.runs_lost;
}

bool RunGatherer::full() const {
    return bytes_ >= limits_.batch_size_bytes ||
           gathered_.batch.runs.size() >= trace::run_batch_runs_limit ||
           gathered_.batch.stacks.size() >= stacks_limit || frames_ >= frames_limit;
}

bool RunGatherer::add_weight(std::uint32_t event, std::uint64_t runs) {
    const auto last = last_of_event_.find(event);
    if (last == last_of_event_.end()) return false;
    trace::RecordedRun& run = gathered_.batch.runs[last->second];
    runs = weight_of(event, runs);
    if (runs > UINT32_MAX - run.weight) return false;
    run.weight += static_cast<std::uint32_t>(runs);
    gathered_.batch.runs_sampled_away += runs;
    return true;
}

GatheredBatch RunGatherer::close(const std::string& session_hint) {
    GatheredBatch closed = std::exchange(gathered_, {});
    closed.batch.batch_id = random_uuid();
    closed.batch.host = machine_.host;
    closed.batch.boot_id = machine_.boot_id;
    closed.batch.session_hint = session_hint;
    closed.batch.version = LAGTRAP_VERSION;
    closed.batch.made_realtime_ns = ClockSnapshot::take().realtime_ns;
    bytes_ = 0;
    frames_ = 0;
    stack_numbers_.clear();
    modules_taken_.clear();
    last_of_event_.clear();
    return closed;
}

bool RunGatherer::forget_stacks_if_full() {
    if (!stacks_.full()) return false;
    stacks_.clear();
    stack_numbers_.clear();
    modules_taken_.clear();
    return true;
}

}  // namespace lagtrap::daemon
