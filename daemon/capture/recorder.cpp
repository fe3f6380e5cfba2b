#include "daemon/capture/recorder.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/capture/rundown.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "trace/logs/log.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// How long a CPU that comes back during a recording goes without samples.
constexpr auto cpu_interval = std::chrono::milliseconds(100);

// Of copies of stacks, in memory.
constexpr std::uint64_t early_copies_bytes = 8 << 20;

}  // namespace

// One capture, from begin_early() or start() to stop().
struct Recorder::Capture {
    Listener* listener = nullptr;
    std::optional<trace::LogWriter> user_log, kernel_log, rundown_log;
    RecordBuffer held;          // while there are no logs
    RecordBuffer early_events;  // of these, what the rundown is to know
    bool is_full = false;
    Unwinder* unwinder = nullptr;
    Link wakeup_link;
    UniqueFd run_time_statistics;
    Status first_failure = success();

    std::optional<Rundown> rundown;
    std::optional<AwaitedRun> first_run;
    trace::SessionTrigger trigger;

    lagtrap_capture_counters counters_before{};
    std::uint64_t bpf_run_time_before_ns = 0;
    std::uint64_t own_cpu_before_ns = 0;
    std::uint64_t runs_lost_before = 0;
    std::uint64_t events_lost_before = 0;
    std::uint64_t started_ns = 0;
    Clock::time_point next_flush = Clock::now() + flush_interval;
    Clock::time_point next_look_at_cpus = Clock::now() + cpu_interval;
    std::vector<std::string> gaps;  // a sentence each

    void write(const lagtrap_record* record);
    void write(const RecordBuffer& records) {
        records.for_each([this](const lagtrap_record* record) { write(record); });
    }
    void hold(const lagtrap_record* record);
    [[nodiscard]] bool has_logs() const { return rundown_log.has_value(); }
    [[nodiscard]] bool is_of_earlier_capture(const lagtrap_run& run) const;
    Status open_logs(const std::filesystem::path& directory, const trace::Session& session);
    void take_events();
    Status flush();
    [[nodiscard]] std::uint64_t runs_lost() const;
};

// A run whose deadline was reported is told of when it ends, which may be after its capture.
bool Recorder::Capture::is_of_earlier_capture(const lagtrap_run& run) const {
    return run.end_ns < started_ns && run.begin_ns != trigger.begin_ns;
}

void Recorder::Capture::hold(const lagtrap_record* record) {
    is_full = is_full || held.size_bytes() + early_events.size_bytes() + record->size_bytes > early_limit_bytes;
    if (!is_full) held.append(record, record->size_bytes, {});
}

void Recorder::Capture::write(const lagtrap_record* record) {
    if (!has_logs()) return hold(record);
    if (record->type == LAGTRAP_RECORD_RUN && is_of_earlier_capture(*reinterpret_cast<const lagtrap_run*>(record)))
        return;
    if (first_run) first_run->take(record);
    std::optional<trace::LogWriter>* log = &kernel_log;
    if (record->type == LAGTRAP_RECORD_RUN || record->type == LAGTRAP_RECORD_RUN_SO_FAR ||
        record->type == LAGTRAP_RECORD_STACK_COPY || record->type == LAGTRAP_RECORD_TRACE_TEXT)
        log = &user_log;
    if (record->type == LAGTRAP_RECORD_STACK &&
        reinterpret_cast<const lagtrap_stack*>(record)->kind == LAGTRAP_STACK_USER)
        log = &user_log;
    if (record->type >= LAGTRAP_RECORD_THREAD && record->type <= LAGTRAP_RECORD_NAME) log = &rundown_log;
    if (auto appended = (*log)->append(record); !appended && first_failure) first_failure = appended;
}

Status Recorder::Capture::open_logs(const std::filesystem::path& directory, const trace::Session& session) {
    const auto open_log = [&](std::optional<trace::LogWriter>& log, trace::LogKind kind) -> Status {
        TRY_ASSIGN(trace::LogWriter writer, trace::LogWriter::create(directory, kind, session.id, session.clocks));
        log.emplace(std::move(writer));
        return success();
    };
    TRY(open_log(user_log, trace::LogKind::User));
    TRY(open_log(kernel_log, trace::LogKind::Kernel));
    return open_log(rundown_log, trace::LogKind::Rundown);
}

Status Recorder::Capture::flush() {
    TRY(user_log->flush());
    TRY(kernel_log->flush());
    return rundown_log->flush();
}

void Recorder::Capture::take_events() {
    const RecordBuffer events = unwinder->take_events();
    write(events);
    if (!rundown) return early_events.append(events);
    rundown->add(events);
    write(rundown->take_records());
}

std::uint64_t Recorder::Capture::runs_lost() const {
    std::uint64_t lost = 0;
    for (const auto& [name, counters] : listener->all_counters()) lost += counters.records_lost;
    return lost;
}

Recorder::Recorder(const settings::Settings& settings, Unwinder& unwinder)
    : settings_(settings), unwinder_(unwinder), programs_(settings, unwinder) {}

Recorder::~Recorder() {
    if (capture_) drop_early();
}

Result<std::unique_ptr<Recorder>> Recorder::create(const settings::Settings& settings, Unwinder& unwinder,
                                                   const TimedThreads& threads, ContainerNames* names) {
    std::unique_ptr<Recorder> self(new Recorder(settings, unwinder));
    self->container_names_ = names;
    // Nothing is kept before the answer that <confirm> asks for.
    if (settings.confirm) self->settings_.history = {std::chrono::nanoseconds::zero(), {}, 0};
    TRY(self->programs_.load(threads));
    return self;
}

Status Recorder::switch_on(Listener& listener, Listener::Recorded recorded, std::uint32_t first_pid) {
    capture_ = std::make_unique<Capture>();
    capture_->listener = &listener;
    capture_->unwinder = &unwinder_;
    capture_->counters_before = programs_.counters();
    capture_->runs_lost_before = capture_->runs_lost();
    capture_->events_lost_before = unwinder_.events_lost();
    programs_.give_to([capture = capture_.get()](const lagtrap_record* record) { capture->write(record); });
    const std::uint64_t copies_bytes = settings_.recording.stack_copies_bytes;
    const bool is_early = recorded == Listener::Recorded::Early;
    programs_.on(is_early ? std::min(copies_bytes, early_copies_bytes) : copies_bytes, first_pid);
    listener.record_runs(recorded);
    unwinder_.begin_capture();
    // What came since the last look is recorded from now on: nothing of it is missing.
    follow_cpus();
    capture_->gaps.clear();
    capture_->started_ns = monotonic_ns();
    return programs_.attach(listener.recorded_runs_fd());
}

void Recorder::switch_off() {
    programs_.off();
    capture_->listener->record_runs(Listener::Recorded::No);
    capture_->wakeup_link.reset();
}

Status Recorder::get_ready(const Listener& listener) {
    const bool keeps = settings_.history.length.count() != 0;
    if (!keeps && settings_.history.early_share_ppm == 0) return success();
    TRY(programs_.attach(listener.recorded_runs_fd()));
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
    return {true, programs_.history().size_bytes(), programs_.history().cut(), programs_.counters().history_lost};
}

Status Recorder::begin_early(Listener& listener, std::uint32_t pid) {
    if (capture_) return make_error(ErrorKind::Busy, "a recording is running");
    if (auto on = switch_on(listener, Listener::Recorded::Early, pid); !on) {
        drop_early();
        return on;
    }
    for (const lagtrap_run_so_far& run : listener.runs_so_far()) capture_->hold(&run.header);
    list_threads(programs_.thread_lister(), pid);
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

bool Recorder::early_is_full() const { return capture_ && capture_->is_full; }

void Recorder::describe_history(trace::Session& session) const {
    if (!programs_.keeps_history()) return;
    session.history_length_ns = programs_.history().length_ns(session.started_ns);
    session.history_interval_ns = static_cast<std::uint64_t>(settings_.history.sample_interval.count());
}

void Recorder::write_history() {
    if (!programs_.keeps_history()) return;
    HistoryWindow& history = programs_.history();
    history.for_each(capture_->started_ns, [this](const lagtrap_record* record) { capture_->write(record); });
    history.clear();
}

Status Recorder::start(const std::filesystem::path& directory, trace::Session& session, Listener& listener) {
    const bool is_early = capture_ != nullptr;
    const std::uint32_t first_pid = session.trigger.pid;
    const Status on = is_early ? success() : switch_on(listener, Listener::Recorded::Yes, first_pid);
    if (is_early) programs_.allow_copies(settings_.recording.stack_copies_bytes, first_pid);
    listener.record_runs(Listener::Recorded::Yes);
    session.started_ns = capture_->started_ns;
    capture_->trigger = session.trigger;
    if (session.trigger.event < listener.events().size())
        capture_->first_run.emplace(session.trigger, listener.events()[session.trigger.event]);
    TRY(on);

    capture_->run_time_statistics.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    capture_->bpf_run_time_before_ns = programs_.run_time().all_ns;
    capture_->own_cpu_before_ns = daemon_cpu_ns();
    (void)programs_.consume();
    describe_history(session);
    // First of all files: what has logs can be merged.
    TRY(trace::write_session(directory, session));
    TRY(capture_->open_logs(directory, session));
    write_history();
    capture_->write(std::exchange(capture_->held, RecordBuffer()));
    if (!is_early)
        for (const lagtrap_run_so_far& run : listener.runs_so_far()) TRY(capture_->user_log->append(&run.header));
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
        capture_->gaps.push_back("samples and process changes of CPU " + std::to_string(came[i]) +
                                 ", which was switched off and on" +
                                 (sampled[i] ? ", until they were recorded again" : ", until the end"));
    cpus_that_came_.insert(cpus_that_came_.end(), came.begin(), came.end());
}

Status Recorder::drain() {
    if (!capture_) return success();
    TRY(programs_.watch_quotas(capture_->wakeup_link));
    if (Clock::now() >= capture_->next_look_at_cpus) {
        capture_->next_look_at_cpus = Clock::now() + cpu_interval;
        follow_cpus();
    }
    TRY(programs_.consume());
    capture_->take_events();
    if (capture_->has_logs() && capture_->first_failure && Clock::now() >= capture_->next_flush) {
        capture_->next_flush = Clock::now() + flush_interval;
        TRY(capture_->flush());
    }
    return capture_->first_failure;
}

RecordingUse Recorder::use() const {
    const RecorderPrograms::RunTime run_time = programs_.run_time();
    const std::uint64_t others_ns = run_time.all_ns - run_time.samples_ns - run_time.switches_ns;
    return {monotonic_ns(), run_time.samples_ns, run_time.switches_ns, others_ns + daemon_cpu_ns()};
}

void Recorder::sample_every(std::chrono::nanoseconds interval) { programs_.set_sample_interval(interval); }

void Recorder::drop_user_stacks_of_switches() { programs_.drop_user_stacks_of_switches(); }

std::uint64_t Recorder::written_bytes() const {
    std::uint64_t bytes = capture_->rundown ? capture_->rundown->copied_bytes() : 0;
    for (const auto* log : {&capture_->user_log, &capture_->kernel_log, &capture_->rundown_log})
        if (*log) bytes += (*log)->size_bytes();
    return bytes;
}

AwaitedRun::State Recorder::first_run_recorded() const {
    return capture_ && capture_->first_run ? capture_->first_run->state() : AwaitedRun::State::Gone;
}

AwaitedRun::State Recorder::first_run() {
    if (!capture_ || !capture_->first_run) return AwaitedRun::State::Gone;
    AwaitedRun& run = *capture_->first_run;
    if (run.state() != AwaitedRun::State::GoesOn) return run.state();
    const trace::SessionTrigger& trigger = capture_->trigger;
    if (capture_->listener->is_open(trigger.event, trigger.tid, trigger.begin_ns)) return run.state();
    (void)programs_.consume();
    run.miss();
    return run.state();
}

Status Recorder::add_run(const lagtrap_run& run) {
    // One that ended in an early recording is in it.
    if (run.end_ns >= capture_->started_ns) return success();
    lagtrap_run record = run;
    record.header.type = LAGTRAP_RECORD_RUN;
    TRY(capture_->user_log->append(&record.header));
    return capture_->user_log->flush();
}

Status Recorder::stop(trace::Session& session) {
    if (!capture_) return make_error(ErrorKind::Invalid, "no recording is running");
    switch_off();
    session.ended_ns = monotonic_ns();
    const auto capture = std::move(capture_);
    if (!unwinder_.end_capture()) capture->gaps.push_back("the code that processes had when it began");
    if (!capture->user_log || !capture->rundown) {
        programs_.give_to(nullptr);
        return make_error(ErrorKind::System, "the capture had not begun");
    }
    capture->take_events();
    capture->rundown->finish();
    capture->write(capture->rundown->take_records());
    session.containers = capture->rundown->containers();
    TRY(programs_.consume());
    programs_.give_to(nullptr);
    for (const lagtrap_trace_text& text : capture->listener->trace_texts()) capture->write(&text.header);
    for (const lagtrap_run& run : capture->listener->open_runs()) capture->write(&run.header);

    const lagtrap_capture_counters after = programs_.counters();
    const lagtrap_capture_counters& before = capture->counters_before;
    trace::SessionQuality& quality = session.quality;
    for (std::string& gap : capture->gaps) quality.shed.push_back(std::move(gap));
    quality.samples_taken = after.samples - before.samples;
    quality.samples_lost = after.samples_lost - before.samples_lost;
    quality.switches_lost = after.switches_lost - before.switches_lost;
    quality.wakings_lost = after.wakings_lost - before.wakings_lost;
    const lagtrap_copying copied = programs_.copied();
    quality.stack_copies = copied.copies;
    quality.stack_copies_left_out = copied.left_out + copied.lost;
    quality.stacks_lost = after.stacks_lost - before.stacks_lost;
    quality.runs_lost = capture->runs_lost() - capture->runs_lost_before;
    quality.task_changes_lost =
        (capture->unwinder->events_lost() - capture->events_lost_before) + (after.threads_lost - before.threads_lost);
    quality.code_files_lost = capture->rundown->counts().lost();
    quality.bpf_run_time_ns = programs_.run_time().all_ns - capture->bpf_run_time_before_ns;
    quality.daemon_cpu_ns = daemon_cpu_ns() - capture->own_cpu_before_ns;
    TRY(capture->flush());
    return capture->first_failure;
}

}  // namespace lagtrap::daemon
