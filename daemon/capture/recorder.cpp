#include "daemon/capture/recorder.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/capture/capture_logs.hpp"
#include "daemon/capture/recorder_rules.hpp"
#include "daemon/capture/recording_counts.hpp"
#include "daemon/capture/rundown.hpp"
#include "daemon/kernel/iterator.hpp"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto drain_interval = std::chrono::milliseconds(20);

// How often to check for CPUs that come online during a recording; they are not sampled until then.
constexpr auto cpu_interval = std::chrono::milliseconds(100);

// Limit for stack copies in memory.
constexpr std::uint64_t early_copies_bytes = 8 << 20;

}  // namespace

// One capture, from begin_early() or start() until stop().
struct Recorder::Capture {
    Capture(RecorderPrograms& programs, Unwinder& followed, EventMonitor& watched)
        : monitor(watched),
          unwinder(followed),
          counts_before(RecordingCounts::take(programs, followed, watched)) {}

    EventMonitor& monitor;
    Unwinder& unwinder;
    PublishedContexts* contexts = nullptr;
    CaptureLogs logs{early_limit_bytes};
    RecordBuffer early_events;  // for the rundown, until there is one
    std::optional<Rundown> rundown;
    std::optional<AwaitedRun> first_run;
    trace::SessionTrigger trigger;
    std::uint64_t started_ns = 0;

    Link wakeup_link;
    UniqueFd run_time_statistics;
    RecordingCounts counts_before;
    RecordingTimes times_before;
    Clock::time_point next_flush = Clock::now() + flush_interval;
    Clock::time_point next_look_at_cpus = Clock::now() + cpu_interval;
    bool has_more = false;          // the rings hold more than the last drain() read
    std::vector<std::string> gaps;  // one sentence each

    void write(const lagtrap_record* record);
    void write(const RecordBuffer& records) {
        records.for_each([this](const lagtrap_record* record) { write(record); });
    }
    void take_events();
};

void Recorder::Capture::write(const lagtrap_record* record) {
    if (logs.are_open()) {
        if (is_of_earlier_capture(record, started_ns, trigger.begin_ns)) return;
        if (first_run) first_run->take(record);
    }
    if (record->type == LAGTRAP_RECORD_CONTEXT && contexts != nullptr)
        return logs.write(contexts->wanted_part(*reinterpret_cast<const lagtrap_context*>(record)));
    logs.write(record);
}

void Recorder::Capture::take_events() {
    const RecordBuffer events = unwinder.take_events();
    write(events);
    if (rundown) {
        rundown->add(events);
        logs.write(rundown->take_records());
    } else {
        early_events.append(events);
        logs.note_held_beside(early_events.size_bytes());
    }
}

Recorder::Recorder(const settings::Settings& settings, Unwinder& unwinder)
    : settings_(settings), unwinder_(unwinder), programs_(settings, unwinder) {}

Recorder::~Recorder() {
    if (capture_) drop_early();
}

Result<std::unique_ptr<Recorder>> Recorder::create(const settings::Settings& settings,
                                                   Unwinder& unwinder, MappedFiles& mapped_files,
                                                   const TimedThreads& threads,
                                                   ContainerNames* names) {
    std::unique_ptr<Recorder> self(new Recorder(settings, unwinder));
    self->container_names_ = names;
    TRY(self->programs_.load(threads));
    ProcessInspector* const pool = process_inspector();
    self->python_map_.emplace(self->programs_.python_map());
    self->python_.emplace(*self->python_map_, mapped_files,
                          pool != nullptr ? *pool : self->direct_python_inspector_);
    if (!settings.context.read) return self;
    self->context_map_.emplace(self->programs_.context_map());
    self->contexts_.emplace(*self->context_map_,
                            pool != nullptr ? *pool : self->direct_context_inspector_,
                            settings.context.attributes);
    return self;
}

Status Recorder::switch_on(EventMonitor& monitor, BreachWatch::Recorded recorded,
                           std::uint32_t first_pid) {
    capture_ = std::make_unique<Capture>(programs_, unwinder_, monitor);
    capture_->contexts = contexts_ ? &*contexts_ : nullptr;
    programs_.give_to(
        [capture = capture_.get()](const lagtrap_record* record) { capture->write(record); });
    const std::uint64_t copies_bytes = settings_.recording.stack_copies_bytes;
    const bool is_early = recorded == BreachWatch::Recorded::Early;
    programs_.on(is_early ? std::min(copies_bytes, early_copies_bytes) : copies_bytes, first_pid);
    monitor.breaches().record_runs(recorded);
    unwinder_.begin_capture();
    // CPUs that came online since the last check are recorded from now on, so this recording has no
    // gap.
    follow_cpus();
    capture_->gaps.clear();
    capture_->started_ns = monotonic_ns();
    return programs_.attach(monitor.recorded_runs_fd());
}

void Recorder::switch_off() {
    programs_.off();
    capture_->monitor.breaches().record_runs(BreachWatch::Recorded::No);
    capture_->wakeup_link.reset();
}

void Recorder::look_for_contexts(std::uint32_t first_pid) {
    if (contexts_) contexts_->look(first_pid);
}

Status Recorder::get_ready(const EventMonitor& monitor) {
    look_for_contexts(0);
    const bool keeps = settings_.history.length.count() != 0;
    if (!keeps && settings_.history.early_share_ppm == 0) return success();
    TRY(programs_.attach(monitor.recorded_runs_fd()));
    return keeps ? programs_.begin_history() : success();
}

void Recorder::end_history() {
    if (programs_.keeps_history()) programs_.end_history();
}

void Recorder::turn_history() {
    programs_.take_history_call();
    if (!capture_) programs_.turn_history();
}

bool Recorder::keeps_history() const { return programs_.keeps_history(); }

Recorder::History Recorder::history() const {
    if (!programs_.keeps_history()) return {};
    return {true, programs_.history().size_bytes(), programs_.history().cut(),
            programs_.counters().history_lost};
}

Status Recorder::begin_early(EventMonitor& monitor, std::uint32_t pid) {
    if (capture_) return make_error(ErrorKind::Busy, "a recording is running");
    if (auto on = switch_on(monitor, BreachWatch::Recorded::Early, pid); !on) {
        drop_early();
        return on;
    }
    for (const lagtrap_run_so_far& run : monitor.breaches().runs_so_far())
        capture_->write(&run.header);
    look_for_contexts(pid);
    run_iterator(programs_.thread_lister(), pid);
    return success();
}

void Recorder::drop_early() {
    if (!capture_) return;
    switch_off();
    unwinder_.forget_capture();
    (void)programs_.consume();
    programs_.give_to(nullptr);
    capture_.reset();
}

bool Recorder::early_is_full() const { return capture_ && capture_->logs.is_full(); }

void Recorder::describe_history(trace::Session& session) const {
    if (!programs_.keeps_history()) return;
    session.history_length_ns = programs_.history().length_ns(session.started_ns);
    session.history_interval_ns =
        static_cast<std::uint64_t>(settings_.history.sample_interval.count());
}

void Recorder::write_history() {
    if (!programs_.keeps_history()) return;
    HistoryWindow& history = programs_.history();
    history.for_each(capture_->started_ns,
                     [this](const lagtrap_record* record) { capture_->write(record); });
    history.clear();
}

Status Recorder::start(const std::filesystem::path& directory, trace::Session& session,
                       EventMonitor& monitor) {
    const bool is_early = capture_ != nullptr;
    const std::uint32_t first_pid = session.trigger.pid;
    const Status on =
        is_early ? success() : switch_on(monitor, BreachWatch::Recorded::Yes, first_pid);
    if (is_early) programs_.allow_copies(settings_.recording.stack_copies_bytes, first_pid);
    monitor.breaches().record_runs(BreachWatch::Recorded::Yes);
    session.started_ns = capture_->started_ns;
    capture_->trigger = session.trigger;
    if (session.trigger.event < monitor.events().size())
        capture_->first_run.emplace(session.trigger, monitor.events()[session.trigger.event]);
    TRY(on);

    capture_->run_time_statistics.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    capture_->times_before = RecordingTimes::take(programs_);
    // events before the recording that are not in the history yet
    (void)programs_.consume_present();
    describe_history(session);
    // Write the session before the logs: the merge needs it.
    TRY(trace::write_session(directory, session));
    TRY(capture_->logs.open(directory, session));
    write_history();
    capture_->write(capture_->logs.take_held());
    if (!is_early)
        for (const lagtrap_run_so_far& run : monitor.breaches().runs_so_far())
            capture_->logs.write(&run.header);
    TRY(capture_->logs.failure());
    look_for_contexts(first_pid);
    capture_->rundown.emplace(programs_.thread_lister(), session.trigger.pid, directory,
                              settings_.recording.capture_size_limit_bytes, container_names_);
    capture_->rundown->add(std::exchange(capture_->early_events, RecordBuffer()));
    return success();
}

std::vector<int> Recorder::look_at_cpus() {
    follow_cpus();
    return std::exchange(cpus_that_came_, {});
}

void Recorder::follow_cpus() {
    if (!capture_) programs_.detach_unused();
    const std::vector<int> came = unwinder_.look_at_cpus();
    if (came.empty()) return;
    const std::vector<bool> sampled = programs_.renew_samplers(came);
    for (std::size_t i = 0; capture_ && i < came.size(); ++i)
        capture_->gaps.push_back(gap_of_cpu(came[i], sampled[i]));
    cpus_that_came_.insert(cpus_that_came_.end(), came.begin(), came.end());
}

Status Recorder::drain() {
    if (!capture_) return success();
    TRY(programs_.watch_quotas(capture_->wakeup_link));
    if (Clock::now() >= capture_->next_look_at_cpus) {
        capture_->next_look_at_cpus = Clock::now() + cpu_interval;
        follow_cpus();
    }
    TRY_ASSIGN(capture_->has_more, programs_.consume_part());
    capture_->take_events();
    if (contexts_) capture_->write(contexts_->take_keys());
    if (capture_->logs.are_open() && capture_->logs.failure() &&
        Clock::now() >= capture_->next_flush) {
        capture_->next_flush = Clock::now() + flush_interval;
        TRY(capture_->logs.flush());
    }
    return capture_->logs.failure();
}

std::chrono::milliseconds Recorder::until_next_drain() const {
    return capture_ && capture_->has_more ? std::chrono::milliseconds::zero() : drain_interval;
}

RecordingUse Recorder::use() const {
    const RecorderPrograms::RunTime run_time = programs_.run_time();
    const std::uint64_t others_ns = run_time.all_ns - run_time.samples_ns - run_time.switches_ns;
    return {monotonic_ns(), run_time.samples_ns, run_time.switches_ns, others_ns + daemon_cpu_ns()};
}

void Recorder::sample_every(std::chrono::nanoseconds interval) {
    programs_.set_sample_interval(interval);
}

void Recorder::drop_user_stacks_of_switches() { programs_.drop_user_stacks_of_switches(); }

std::uint64_t Recorder::written_bytes() const {
    return capture_->logs.size_bytes() +
           (capture_->rundown ? capture_->rundown->copied_bytes() : 0);
}

AwaitedRun::State Recorder::first_run_recorded() const {
    return capture_ && capture_->first_run ? capture_->first_run->state() : AwaitedRun::State::Gone;
}

AwaitedRun::State Recorder::first_run() {
    if (!capture_ || !capture_->first_run) return AwaitedRun::State::Gone;
    AwaitedRun& run = *capture_->first_run;
    if (run.state() != AwaitedRun::State::GoesOn) return run.state();
    const trace::SessionTrigger& trigger = capture_->trigger;
    if (capture_->monitor.breaches().is_open(trigger.event, trigger.tid, trigger.begin_ns))
        return run.state();
    (void)programs_.consume();
    run.miss();
    return run.state();
}

Status Recorder::add_run(const lagtrap_run& run) {
    // If it ended during an early recording, it is recorded already.
    if (run.end_ns >= capture_->started_ns) return success();
    lagtrap_run record = run;
    record.header.type = LAGTRAP_RECORD_RUN;
    capture_->logs.write(&record.header);
    TRY(capture_->logs.failure());
    return capture_->logs.flush();
}

Status Recorder::stop(trace::Session& session) {
    if (!capture_) return make_error(ErrorKind::Invalid, "no recording is running");
    switch_off();
    session.ended_ns = monotonic_ns();
    const auto capture = std::move(capture_);
    if (!unwinder_.end_capture()) capture->gaps.push_back("the code of processes at its start");
    if (!capture->logs.are_open() || !capture->rundown) {
        programs_.give_to(nullptr);
        return make_error(ErrorKind::System, "the capture had not started");
    }
    programs_.look_at_open_files();
    capture->take_events();
    if (contexts_) capture->write(contexts_->take_keys());
    capture->rundown->finish();
    capture->logs.write(capture->rundown->take_records());
    session.containers = capture->rundown->containers();
    TRY(programs_.consume());
    programs_.give_to(nullptr);
    // It was read when the recording began, but is stamped now, because a log is in time order.
    if (const auto& memory = capture->rundown->group_memory())
        capture->logs.write(record_of(*memory, monotonic_ns()));
    for (const lagtrap_trace_text& text : capture->monitor.breaches().trace_texts())
        capture->write(&text.header);
    const OpenRuns::Snapshot open = capture->monitor.breaches().open_runs();
    for (const lagtrap_run& run : open.runs) capture->write(&run.header);
    if (open.left_out > 0)
        capture->gaps.push_back(gap_of_open_runs(open.left_out, open.runs.size()));
    capture->monitor.breaches().forget_left_delays();

    describe_quality(*capture, session.quality);
    TRY(capture->logs.flush());
    return capture->logs.failure();
}

void Recorder::describe_quality(const Capture& capture, trace::SessionQuality& quality) const {
    RecordingCounts::take(programs_, unwinder_, capture.monitor)
        .report_since(capture.counts_before, quality);
    RecordingTimes::take(programs_).report_since(capture.times_before, quality);
    quality.omitted.insert(quality.omitted.end(), capture.gaps.begin(), capture.gaps.end());
    const lagtrap_copying copied = programs_.copied();
    quality.stack_copies = copied.copies;
    quality.stack_copies_left_out = copied.left_out + copied.lost;
    quality.code_files_lost = capture.rundown->counts().lost();
}

}  // namespace lagtrap::daemon
