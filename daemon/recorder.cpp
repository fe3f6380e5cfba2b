#include "daemon/recorder.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/collector.h"
#include "collector.skel.h"
#include "core/clock.hpp"
#include "core/unique_fd.hpp"
#include "daemon/libbpf_support.hpp"
#include "daemon/optional_programs.hpp"
#include "daemon/own_use.hpp"
#include "daemon/preempt_count.hpp"
#include "daemon/rundown.hpp"
#include "trace/log.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// How long a CPU that comes back during a recording goes without samples.
constexpr auto cpu_interval = std::chrono::milliseconds(100);

// 4 MiB of ring per CPU hold 8 s of samples and 65,000 switches; the total stays within what a small machine bears.
std::uint32_t ring_bytes_for(long cpus) {
    std::uint64_t bytes = 8ULL << 20;
    while (bytes < static_cast<std::uint64_t>(cpus) * (4ULL << 20) && bytes < (64ULL << 20)) bytes *= 2;
    return static_cast<std::uint32_t>(bytes);
}

Result<UniqueFd> open_sampler(int cpu, std::chrono::nanoseconds interval) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = static_cast<std::uint64_t>(interval.count());
    attributes.disabled = 1;
    UniqueFd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd.valid()) return system_error("open the sampler of CPU " + std::to_string(cpu));
    return fd;
}

}  // namespace

struct Recorder::State {
    settings::Recording settings;
    Unwinder* unwinder = nullptr;
    collector_bpf* programs = nullptr;
    struct Sampler {
        int cpu = 0;
        int fd = -1;  // owned by its link
        Link link;
    };
    std::vector<Sampler> samplers;
    std::chrono::nanoseconds sample_interval{};
    std::uint32_t captures = 0;
    bool thinned = false;  // the samplers' interval is not the settings' one

    ~State() {
        samplers.clear();
        collector_bpf__destroy(programs);
    }

    [[nodiscard]] lagtrap_recording* recording_switch() const {
        return reinterpret_cast<lagtrap_recording*>(&programs->bss->recording);
    }
    void enable_samplers(bool on) const {
        for (const Sampler& sampler : samplers)
            ::ioctl(sampler.fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    }
    void set_sample_interval(std::chrono::nanoseconds interval) {
        sample_interval = interval;
        std::uint64_t period_ns = static_cast<std::uint64_t>(interval.count());
        for (const Sampler& sampler : samplers) ::ioctl(sampler.fd, PERF_EVENT_IOC_PERIOD, &period_ns);
    }
    // It sleeps until a capture.
    [[nodiscard]] Status add_sampler(int cpu);
    [[nodiscard]] Status load(long cpus);
    // From the moment a control group with a CPU quota was seen, threads that wake in one are looked at.
    [[nodiscard]] Status watch_quotas(Link& link) const;
    [[nodiscard]] lagtrap_capture_counters counters() const;
    // What says which interrupt, timer, packet or request woke a thread.
    [[nodiscard]] std::vector<bpf_program*> cause_programs() const {
        const auto& all = programs->progs;
        return {all.on_interrupt,   all.on_interrupt_end, all.on_softirq, all.on_timer,       all.on_timer_end,
                all.on_wheel_timer, all.on_local_packet,  all.on_packet,  all.on_packets_end, all.on_request_done};
    }
    // What says for which file a thread waits.
    [[nodiscard]] std::vector<bpf_program*> file_programs() const {
        const auto& all = programs->progs;
        return {all.on_page_fault, all.on_lock, all.on_whole_file_lock, all.on_request_issued,
                all.on_request_completed};
    }
    // Not on_thread: it runs in the daemon's time, and what the kernel counts of it has the time in which it was preempted.
    [[nodiscard]] std::vector<int> program_fds() const {
        std::vector<int> fds = loaded_fds(cause_programs());
        for (const int fd : loaded_fds(file_programs())) fds.push_back(fd);
        const auto& all = programs->progs;
        for (const bpf_program* program :
             {all.on_sample, all.on_switch, all.on_waking, all.on_wakeup, all.on_fork, all.on_exec})
            fds.push_back(bpf_program__fd(program));
        return fds;
    }
};

Status Recorder::State::add_sampler(int cpu) {
    TRY_ASSIGN(UniqueFd event, open_sampler(cpu, sample_interval));
    const int fd = event.release();
    Link link(bpf_program__attach_perf_event(programs->progs.on_sample, fd));
    if (!link) return libbpf_error("attach the sampler of CPU " + std::to_string(cpu), -errno);
    // Attaching enables the event.
    ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    samplers.push_back({cpu, fd, std::move(link)});
    return success();
}

Status Recorder::State::watch_quotas(Link& link) const {
    if (link || !settings.scheduling || !programs->bss->quotas_seen) return success();
    link.reset(bpf_program__attach_trace(programs->progs.on_wakeup));
    if (!link) return libbpf_error("attach to sched_wakeup", -errno);
    return success();
}

lagtrap_capture_counters Recorder::State::counters() const {
    constexpr std::size_t fields = sizeof(lagtrap_capture_counters) / sizeof(std::uint64_t);
    lagtrap_capture_counters sum{};
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return sum;
    std::vector<lagtrap_capture_counters> per_cpu(static_cast<std::size_t>(cpus));
    const __u32 zero = 0;
    if (bpf_map__lookup_elem(programs->maps.capture_counters, &zero, sizeof(zero), per_cpu.data(),
                             per_cpu.size() * sizeof(per_cpu[0]), 0) != 0)
        return sum;
    auto* const total = reinterpret_cast<__u64*>(&sum);
    for (const auto& one : per_cpu)
        for (std::size_t i = 0; i < fields; ++i) total[i] += reinterpret_cast<const __u64*>(&one)[i];
    return sum;
}

// One capture, from start() to stop().
struct Recorder::Capture {
    Listener* listener = nullptr;
    std::optional<trace::LogWriter> user_log, kernel_log, rundown_log;
    Unwinder* unwinder = nullptr;
    ring_buffer* rings = nullptr;
    Link switch_link, waking_link, wakeup_link, fork_link, exec_link;
    std::vector<Link> cause_links;
    std::vector<Link> file_links;
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

    ~Capture() {
        rundown.reset();
        ring_buffer__free(rings);
    }

    void write(const lagtrap_record* record);
    void write(const RecordBuffer& records) {
        records.for_each([this](const lagtrap_record* record) { write(record); });
    }
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

void Recorder::Capture::write(const lagtrap_record* record) {
    if (record->type == LAGTRAP_RECORD_RUN && is_of_earlier_capture(*reinterpret_cast<const lagtrap_run*>(record)))
        return;
    if (first_run) first_run->take(record);
    std::optional<trace::LogWriter>* log = &kernel_log;
    if (record->type == LAGTRAP_RECORD_RUN) log = &user_log;
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
    rundown->add(events);
    write(rundown->take_records());
}

std::uint64_t Recorder::Capture::runs_lost() const {
    std::uint64_t lost = 0;
    for (const auto& [name, counters] : listener->all_counters()) lost += counters.records_lost;
    return lost;
}

Recorder::Recorder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Recorder::~Recorder() {
    if (!capture_) return;
    state_->enable_samplers(false);
    __atomic_store_n(&state_->recording_switch()->on, 0, __ATOMIC_RELEASE);
    capture_->listener->record_runs(false);
    (void)state_->unwinder->end_capture();
}

Status Recorder::State::load(long cpus) {
    programs = collector_bpf__open();
    if (!programs) return libbpf_error("open the recorder's BPF programs", -errno);
    bpf_map__set_max_entries(programs->maps.records, ring_bytes_for(cpus));
    leave_out_missing(cause_programs());
    leave_out_missing(file_programs());
    programs->rodata->preempt_count_after_run_queue = preempt_count_after_run_queue().value_or(0);
    const UnwindStore& store = unwinder->store();
    for (const auto& [map, fd] : {std::pair(programs->maps.unwind_regions, store.regions_fd()),
                                  std::pair(programs->maps.unwind_tables, store.tables_fd()),
                                  std::pair(programs->maps.unwind_processes, store.processes_fd())})
        if (const int failed = bpf_map__reuse_fd(map, fd); failed != 0)
            return libbpf_error("give the recorder the unwind tables", failed);
    if (const int failed = collector_bpf__load(programs); failed != 0)
        return libbpf_error("load the recorder's BPF programs", failed);
    (void)take_libbpf_messages();
    return success();
}

Result<std::unique_ptr<Recorder>> Recorder::create(const settings::Recording& settings, Unwinder& unwinder) {
    keep_libbpf_messages();
    auto state = std::make_unique<State>();
    state->settings = settings;
    state->unwinder = &unwinder;
    const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    TRY(state->load(cpus));
    state->sample_interval = settings.sample_interval;
    for (int cpu = 0; cpu < cpus; ++cpu) {
        const auto added = state->add_sampler(cpu);
        if (!added && added.error().system_errno == ENODEV) continue;  // this CPU is offline
        if (!added) return added.error();
    }
    return std::unique_ptr<Recorder>(new Recorder(std::move(state)));
}

Status Recorder::start(const std::filesystem::path& directory, trace::Session& session, Listener& listener) {
    auto capture = std::make_unique<Capture>();
    capture->listener = &listener;
    lagtrap_recording* const recording = state_->recording_switch();
    __atomic_store_n(&recording->capture, ++state_->captures, __ATOMIC_RELEASE);
    __atomic_store_n(&recording->without_user_stacks_of_switches, 0, __ATOMIC_RELEASE);
    state_->programs->bss->quotas_seen = false;
    if (std::exchange(state_->thinned, false)) state_->set_sample_interval(state_->settings.sample_interval);
    __atomic_store_n(&recording->on, 1, __ATOMIC_RELEASE);
    state_->enable_samplers(true);
    listener.record_runs(true);
    state_->unwinder->begin_capture();
    // What came since the last look is recorded from now on: nothing of it is missing.
    (void)look_at_cpus();
    session.started_ns = monotonic_ns();
    capture->started_ns = session.started_ns;
    capture->trigger = session.trigger;
    if (session.trigger.event < listener.events().size())
        capture->first_run.emplace(session.trigger, listener.events()[session.trigger.event]);
    capture_ = std::move(capture);

    capture_->run_time_statistics.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    capture_->bpf_run_time_before_ns = use_of_programs(state_->program_fds()).run_time_ns;
    capture_->own_cpu_before_ns = daemon_cpu_ns();
    capture_->counters_before = state_->counters();
    capture_->runs_lost_before = capture_->runs_lost();
    capture_->unwinder = state_->unwinder;
    capture_->events_lost_before = capture_->unwinder->events_lost();
    capture_->fork_link.reset(bpf_program__attach_trace(state_->programs->progs.on_fork));
    capture_->exec_link.reset(bpf_program__attach_trace(state_->programs->progs.on_exec));
    if (!capture_->fork_link || !capture_->exec_link) return libbpf_error("attach to fork and exec", -errno);
    if (state_->settings.scheduling) {
        capture_->switch_link.reset(bpf_program__attach_trace(state_->programs->progs.on_switch));
        if (!capture_->switch_link) return libbpf_error("attach to sched_switch", -errno);
        capture_->waking_link.reset(bpf_program__attach_trace(state_->programs->progs.on_waking));
        if (!capture_->waking_link) return libbpf_error("attach to sched_waking", -errno);
        TRY_ASSIGN(capture_->cause_links, attach_loaded(state_->cause_programs()));
        TRY_ASSIGN(capture_->file_links, attach_loaded(state_->file_programs()));
    }
    // First of all files: what has logs can be merged.
    TRY(trace::write_session(directory, session));
    TRY(capture_->open_logs(directory, session));
    const auto on_record = [](void* self, void* data, std::size_t) {
        static_cast<Capture*>(self)->write(static_cast<const lagtrap_record*>(data));
        return 0;
    };
    capture_->rings = ring_buffer__new(bpf_map__fd(state_->programs->maps.records), on_record, capture_.get(), nullptr);
    if (!capture_->rings) return libbpf_error("map the ring of records", -errno);
    if (const int failed = ring_buffer__add(capture_->rings, listener.recorded_runs_fd(), on_record, capture_.get());
        failed != 0)
        return libbpf_error("map the ring of runs", failed);
    capture_->rundown.emplace(state_->programs->progs.on_thread, session.trigger.pid, directory,
                              state_->settings.capture_size_limit_bytes);
    return success();
}

std::vector<int> Recorder::look_at_cpus() {
    std::vector<int> came = state_->unwinder->look_at_cpus();
    if (came.empty()) return came;
    std::erase_if(state_->samplers, [&](const State::Sampler& sampler) {
        return std::find(came.begin(), came.end(), sampler.cpu) != came.end();
    });
    for (const int cpu : came) {
        const bool sampled = state_->add_sampler(cpu).ok();
        if (!capture_) continue;
        capture_->gaps.push_back("samples and process changes of CPU " + std::to_string(cpu) +
                                 ", which was switched off and on" +
                                 (sampled ? ", until they were recorded again" : ", until the end"));
    }
    if (__atomic_load_n(&state_->recording_switch()->on, __ATOMIC_ACQUIRE) != 0) state_->enable_samplers(true);
    return came;
}

Status Recorder::drain() {
    if (!capture_->rundown) return success();
    TRY(state_->watch_quotas(capture_->wakeup_link));
    if (Clock::now() >= capture_->next_look_at_cpus) {
        capture_->next_look_at_cpus = Clock::now() + cpu_interval;
        (void)look_at_cpus();
    }
    if (const int failed = ring_buffer__consume(capture_->rings); failed < 0)
        return libbpf_error("read the ring of records", failed);
    capture_->take_events();
    if (capture_->first_failure && Clock::now() >= capture_->next_flush) {
        capture_->next_flush = Clock::now() + flush_interval;
        TRY(capture_->flush());
    }
    return capture_->first_failure;
}

RecordingUse Recorder::use() const {
    const auto run_time = [](const bpf_program* program) {
        return use_of_programs({bpf_program__fd(program)}).run_time_ns;
    };
    const auto& programs = state_->programs->progs;
    const std::uint64_t samples_ns = run_time(programs.on_sample);
    const std::uint64_t switches_ns = run_time(programs.on_switch);
    const std::uint64_t all_ns = use_of_programs(state_->program_fds()).run_time_ns;
    return {monotonic_ns(), samples_ns, switches_ns, all_ns - samples_ns - switches_ns + daemon_cpu_ns()};
}

void Recorder::sample_every(std::chrono::nanoseconds interval) {
    state_->thinned = true;
    state_->set_sample_interval(interval);
}

void Recorder::drop_user_stacks_of_switches() {
    __atomic_store_n(&state_->recording_switch()->without_user_stacks_of_switches, 1, __ATOMIC_RELEASE);
}

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
    if (!capture_ || !capture_->first_run || !capture_->rings) return AwaitedRun::State::Gone;
    AwaitedRun& run = *capture_->first_run;
    if (run.state() != AwaitedRun::State::GoesOn) return run.state();
    const trace::SessionTrigger& trigger = capture_->trigger;
    if (capture_->listener->is_open(trigger.event, trigger.tid, trigger.begin_ns)) return run.state();
    ring_buffer__consume(capture_->rings);
    run.miss();
    return run.state();
}

Status Recorder::add_run(const lagtrap_run& run) {
    lagtrap_run record = run;
    record.header.type = LAGTRAP_RECORD_RUN;
    TRY(capture_->user_log->append(&record.header));
    return capture_->user_log->flush();
}

Status Recorder::stop(trace::Session& session) {
    if (!capture_) return make_error(ErrorKind::Invalid, "no recording is running");
    const auto capture = std::move(capture_);
    __atomic_store_n(&state_->recording_switch()->on, 0, __ATOMIC_RELEASE);
    state_->enable_samplers(false);
    capture->listener->record_runs(false);
    session.ended_ns = monotonic_ns();
    if (!state_->unwinder->end_capture()) capture->gaps.push_back("the code that processes had when it began");
    capture->switch_link.reset();
    capture->waking_link.reset();
    capture->wakeup_link.reset();
    capture->cause_links.clear();
    capture->file_links.clear();
    capture->fork_link.reset();
    capture->exec_link.reset();
    if (!capture->user_log || !capture->rundown) return make_error(ErrorKind::System, "the capture had not begun");
    capture->take_events();
    capture->rundown->finish();
    capture->write(capture->rundown->take_records());
    ring_buffer__consume(capture->rings);
    for (const lagtrap_run& run : capture->listener->open_runs()) capture->write(&run.header);

    const lagtrap_capture_counters after = state_->counters();
    const lagtrap_capture_counters& before = capture->counters_before;
    trace::SessionQuality& quality = session.quality;
    for (std::string& gap : capture->gaps) quality.shed.push_back(std::move(gap));
    quality.samples_taken = after.samples - before.samples;
    quality.samples_lost = after.samples_lost - before.samples_lost;
    quality.switches_lost = after.switches_lost - before.switches_lost;
    quality.wakings_lost = after.wakings_lost - before.wakings_lost;
    quality.stacks_lost = after.stacks_lost - before.stacks_lost;
    quality.runs_lost = capture->runs_lost() - capture->runs_lost_before;
    quality.task_changes_lost =
        (capture->unwinder->events_lost() - capture->events_lost_before) + (after.threads_lost - before.threads_lost);
    quality.code_files_lost = capture->rundown->counts().lost();
    quality.bpf_run_time_ns = use_of_programs(state_->program_fds()).run_time_ns - capture->bpf_run_time_before_ns;
    quality.daemon_cpu_ns = daemon_cpu_ns() - capture->own_cpu_before_ns;
    TRY(capture->flush());
    return capture->first_failure;
}

}  // namespace lagtrap::daemon
