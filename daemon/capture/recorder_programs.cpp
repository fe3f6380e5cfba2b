#include "daemon/capture/recorder_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/perf_event.hpp"
#include "core/unique_fd.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/capture/recorder_rules.hpp"
#include "daemon/kernel/context_switches.hpp"
#include "daemon/kernel/iterator.hpp"
#include "daemon/kernel/optional_programs.hpp"
#include "daemon/kernel/preempt_count.hpp"
#include "daemon/kernel/shared_maps.hpp"
#include "recorder.skel.h"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Attaching the programs takes some milliseconds at the worst moment, so they stay attached for a
// while after a recording. Not forever, because they cost some nanoseconds at each switch and
// interrupt.
constexpr auto links_kept = std::chrono::minutes(10);

Result<UniqueFd> open_sampler(int cpu, std::chrono::nanoseconds interval) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = static_cast<std::uint64_t>(interval.count());
    attributes.disabled = 1;
    UniqueFd fd = open_perf_event(attributes, -1, cpu);
    if (!fd.valid()) return system_error("open the sampler of CPU " + std::to_string(cpu));
    return fd;
}

// Takes up to 30 ms on a busy machine, if the memory is fresh.
constexpr std::uint64_t part_bytes = 1 << 20;

}  // namespace

RecorderPrograms::RecorderPrograms(const settings::Settings& settings_, Unwinder& unwinder_)
    : settings_(settings_.recording),
      history_settings_(settings_.history),
      unwinder_(unwinder_),
      sample_interval_(settings_.recording.sample_interval) {}

RecorderPrograms::~RecorderPrograms() {
    samplers_.clear();
    links_.clear();
    tick_link_.reset();
    ring_buffer__free(rings_);
    ring_buffer__free(turns_);
    recorder_bpf__destroy(programs_);
}

lagtrap_recording* RecorderPrograms::recording_switch() const {
    return reinterpret_cast<lagtrap_recording*>(&programs_->bss->recording);
}

lagtrap_copying* RecorderPrograms::copying() const {
    return reinterpret_cast<lagtrap_copying*>(&programs_->bss->copying);
}

void RecorderPrograms::allow_copies(std::uint64_t bytes, std::uint32_t first_pid) {
    __atomic_store_n(&copying()->first_pid, first_pid, __ATOMIC_RELEASE);
    __atomic_store_n(&copying()->budget_bytes, bytes, __ATOMIC_RELEASE);
}

lagtrap_copying RecorderPrograms::copied() const { return *copying(); }

void RecorderPrograms::on(std::uint64_t copies_bytes, std::uint32_t first_pid) {
    lagtrap_recording* const recording = recording_switch();
    __atomic_store_n(&recording->capture, ++captures_, __ATOMIC_RELEASE);
    *copying() = {0, 0, 0, 0, 0, captures_, 0};
    allow_copies(copies_bytes, first_pid);
    __atomic_store_n(&recording->without_user_stacks_of_switches, 0, __ATOMIC_RELEASE);
    programs_->bss->quotas_seen = false;
    programs_->bss->open_files_until_ns = 0;
    if (sample_interval_ != settings_.sample_interval)
        set_sample_interval(settings_.sample_interval);
    __atomic_store_n(&recording->on, 1, __ATOMIC_RELEASE);
    enable_samplers(true);
}

void RecorderPrograms::off() {
    __atomic_store_n(&recording_switch()->on, 0, __ATOMIC_RELEASE);
    // The history needs no stack copies.
    __atomic_store_n(&copying()->budget_bytes, 0, __ATOMIC_RELEASE);
    enable_samplers(false);
    links_used_ = Clock::now();
}

bool RecorderPrograms::is_on() const {
    return __atomic_load_n(&recording_switch()->on, __ATOMIC_ACQUIRE) != 0;
}

void RecorderPrograms::drop_user_stacks_of_switches() {
    __atomic_store_n(&recording_switch()->without_user_stacks_of_switches, 1, __ATOMIC_RELEASE);
}

void RecorderPrograms::enable_samplers(bool on) const {
    for (const Sampler& sampler : samplers_)
        ::ioctl(sampler.fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void RecorderPrograms::set_sample_interval(std::chrono::nanoseconds interval) {
    sample_interval_ = interval;
    std::uint64_t period_ns = static_cast<std::uint64_t>(interval.count());
    for (const Sampler& sampler : samplers_) ::ioctl(sampler.fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

std::vector<bool> RecorderPrograms::renew_samplers(const std::vector<int>& cpus) {
    std::erase_if(samplers_, [&](const Sampler& sampler) {
        return std::find(cpus.begin(), cpus.end(), sampler.cpu) != cpus.end();
    });
    std::vector<bool> sampled;
    for (const int cpu : cpus) sampled.push_back(add_sampler(cpu).ok());
    if (is_on()) enable_samplers(true);
    return sampled;
}

Status RecorderPrograms::add_sampler(int cpu) {
    TRY_ASSIGN(UniqueFd event, open_sampler(cpu, sample_interval_));
    const int fd = event.release();
    Link link(bpf_program__attach_perf_event(programs_->progs.on_sample, fd));
    if (!link) return libbpf_error("attach the sampler of CPU " + std::to_string(cpu), -errno);
    // Attaching has enabled the event.
    ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    samplers_.push_back({cpu, fd, std::move(link)});
    return success();
}

Status RecorderPrograms::watch_quotas(Link& link) const {
    if (link || !settings_.scheduling || !programs_->bss->quotas_seen) return success();
    link.reset(bpf_program__attach_trace(programs_->progs.on_wakeup));
    if (!link) return libbpf_error("attach to sched_wakeup", -errno);
    return success();
}

lagtrap_capture_counters RecorderPrograms::counters() const {
    constexpr std::size_t fields = sizeof(lagtrap_capture_counters) / sizeof(std::uint64_t);
    lagtrap_capture_counters sum{};
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return sum;
    std::vector<lagtrap_capture_counters> per_cpu(static_cast<std::size_t>(cpus));
    const __u32 zero = 0;
    if (bpf_map__lookup_elem(programs_->maps.capture_counters, &zero, sizeof(zero), per_cpu.data(),
                             per_cpu.size() * sizeof(per_cpu[0]), 0) != 0)
        return sum;
    auto* const total = reinterpret_cast<__u64*>(&sum);
    for (const auto& one : per_cpu)
        for (std::size_t i = 0; i < fields; ++i)
            total[i] += reinterpret_cast<const __u64*>(&one)[i];
    return sum;
}

Status RecorderPrograms::load(const TimedThreads& threads) {
    keep_libbpf_messages();
    const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    programs_ = recorder_bpf__open();
    if (!programs_) return libbpf_error("open the recorder's BPF programs", -errno);
    bpf_map__set_max_entries(programs_->maps.records, ring_bytes_for(cpus));
    leave_out_missing(cause_programs());
    leave_out_missing(file_programs());
    leave_out_missing(std::array{programs_->progs.on_tick});
    programs_->rodata->preempt_count_after_run_queue = preempt_count_after_run_queue().value_or(0);
    const UnwindStore& store = unwinder_.store();
    TRY(share_maps({{programs_->maps.unwind_regions, store.regions_fd()},
                    {programs_->maps.unwind_tables, store.tables_fd()},
                    {programs_->maps.unwind_processes, store.processes_fd()},
                    {programs_->maps.timed_sets, threads.sets_fd()},
                    {programs_->maps.thread_times, threads.times_fd()}},
                   "share tables with the recorder"));
    if (const int failed = recorder_bpf__load(programs_); failed != 0)
        return libbpf_error("load the recorder's BPF programs", failed);
    (void)take_libbpf_messages();
    for (int cpu = 0; cpu < cpus; ++cpu) {
        const auto added = add_sampler(cpu);
        if (!added && added.error().system_errno == ENODEV) continue;  // this CPU is offline
        if (!added) return added.error();
    }
    return success();
}

Status RecorderPrograms::attach(int recorded_runs_fd) {
    links_used_ = Clock::now();
    if (links_.empty()) TRY(attach_programs());
    forget_disk_requests();
    return map_rings(recorded_runs_fd);
}

Status RecorderPrograms::attach_programs() {
    std::vector<bpf_program*> wanted{programs_->progs.on_fork, programs_->progs.on_exec};
    if (settings_.scheduling)
        wanted.insert(wanted.end(), {programs_->progs.on_switch, programs_->progs.on_waking});
    std::vector<Link> attached;
    for (bpf_program* program : wanted) {
        attached.emplace_back(bpf_program__attach_trace(program));
        if (!attached.back())
            return libbpf_error(std::string("attach ") + bpf_program__name(program), -errno);
    }
    for (const auto& others : {cause_programs(), file_programs()}) {
        if (!settings_.scheduling) break;
        TRY_ASSIGN(std::vector<Link> loaded, attach_loaded(others));
        std::move(loaded.begin(), loaded.end(), std::back_inserter(attached));
    }
    links_ = std::move(attached);
    return success();
}

Status RecorderPrograms::map_rings(int recorded_runs_fd) {
    if (rings_ != nullptr) return success();
    const auto on_record = [](void* self, void* data, std::size_t size) {
        auto* const programs = static_cast<RecorderPrograms*>(self);
        programs->take(static_cast<const lagtrap_record*>(data));
        programs->left_to_consume_bytes_ -=
            std::min<std::uint64_t>(size, programs->left_to_consume_bytes_);
        return programs->left_to_consume_bytes_ == 0 ? -EAGAIN : 0;
    };
    rings_ = ring_buffer__new(bpf_map__fd(programs_->maps.records), on_record, this, nullptr);
    if (!rings_) return libbpf_error("map the ring of records", -errno);
    if (const int failed = ring_buffer__add(rings_, recorded_runs_fd, on_record, this); failed != 0)
        return libbpf_error("map the ring of runs", failed);
    if (const int failed =
            ring_buffer__add(rings_, bpf_map__fd(programs_->maps.stack_copies), on_record, this);
        failed != 0)
        return libbpf_error("map the ring of stack copies", failed);
    return success();
}

void RecorderPrograms::detach_unused() {
    if (history_ || links_.empty() || Clock::now() - links_used_ < links_kept) return;
    links_.clear();
    ring_buffer__free(std::exchange(rings_, nullptr));
}

Status RecorderPrograms::begin_history() {
    if (loaded_fds(std::array{programs_->progs.on_tick}).empty())
        return make_error(ErrorKind::NotFound, "the kernel has no tracepoint hrtimer_expire_entry");
    if (!turns_)
        turns_ = ring_buffer__new(
            bpf_map__fd(programs_->maps.history_turns), [](void*, void*, std::size_t) { return 0; },
            nullptr, nullptr);
    if (!turns_) return libbpf_error("map the ring of calls for the history", -errno);
    tick_link_.reset(bpf_program__attach_trace(programs_->progs.on_tick));
    if (!tick_link_) return libbpf_error("attach to hrtimer_expire_entry", -errno);
    history_.emplace(history_settings_.length);
    lagtrap_recording* const recording = recording_switch();
    recording->history_interval_ns =
        static_cast<std::uint32_t>(history_settings_.sample_interval.count());
    __atomic_store_n(&recording->history, 1, __ATOMIC_RELEASE);
    return success();
}

void RecorderPrograms::end_history() {
    __atomic_store_n(&recording_switch()->history, 0, __ATOMIC_RELEASE);
    tick_link_.reset();
    history_.reset();
    links_used_ = Clock::now();
}

std::uint64_t RecorderPrograms::history_cost_ns() const {
    if (!history_) return 0;
    return history_cost_of(counters(), context_switches());
}

int RecorderPrograms::history_calls_fd() const {
    return history_ ? ring_buffer__epoll_fd(turns_) : -1;
}

void RecorderPrograms::take_history_call() {
    if (turns_) (void)ring_buffer__consume(turns_);
}

void RecorderPrograms::turn_history() {
    if (!history_ || is_on()) return;
    (void)consume();
    if (history_->turn(monotonic_ns()))
        __atomic_store_n(&recording_switch()->capture, ++captures_, __ATOMIC_RELEASE);
}

void RecorderPrograms::take(const lagtrap_record* record) {
    const RecordTarget target = target_of(record, take_ != nullptr, history_.has_value());
    if (target == RecordTarget::Recording) take_(record);
    if (target == RecordTarget::History) history_->take(record);
}

Result<bool> RecorderPrograms::consume_rings(std::uint64_t max_bytes) {
    if (rings_ == nullptr) return false;
    left_to_consume_bytes_ = max_bytes;
    const int failed = ring_buffer__consume(rings_);
    if (failed == -EAGAIN) return true;
    if (failed < 0) return libbpf_error("read the ring of records", failed);
    return false;
}

Status RecorderPrograms::consume() {
    if (auto consumed = consume_rings(std::numeric_limits<std::uint64_t>::max()); !consumed)
        return consumed.error();
    return success();
}

Status RecorderPrograms::consume_present() {
    if (rings_ == nullptr) return success();
    std::uint64_t present_bytes = 0;
    for (unsigned i = 0; const ring* const one = ring_buffer__ring(rings_, i); ++i)
        present_bytes += ring__avail_data_size(one);
    if (auto consumed = consume_rings(present_bytes); !consumed) return consumed.error();
    return success();
}

Result<bool> RecorderPrograms::consume_part() { return consume_rings(part_bytes); }

bpf_program* RecorderPrograms::thread_lister() const { return programs_->progs.on_thread; }

ContextMap RecorderPrograms::context_map() const {
    return {programs_->maps.context_places, programs_->progs.on_publishing_thread,
            &programs_->bss->contexts_published};
}

PythonMap RecorderPrograms::python_map() const {
    return {programs_->maps.python_processes, &programs_->bss->python_runs};
}

std::vector<bpf_program*> RecorderPrograms::cause_programs() const {
    const auto& all = programs_->progs;
    return {all.on_interrupt,   all.on_interrupt_end, all.on_softirq,      all.on_timer,
            all.on_timer_end,   all.on_wheel_timer,   all.on_local_packet, all.on_packet,
            all.on_packets_end, all.on_request_done};
}

void RecorderPrograms::look_at_open_files() const {
    const auto& seen = *programs_->bss;
    if (seen.ends_wanted_in == captures_ || seen.files_written_in == captures_)
        run_iterator(programs_->progs.on_open_file, 0);
}

void RecorderPrograms::forget_disk_requests() const {
    const bpf_map* const requests = programs_->maps.disk_requests;
    for (__u64 disk = 0; bpf_map__get_next_key(requests, nullptr, &disk, sizeof(disk)) == 0;)
        if (bpf_map__delete_elem(requests, &disk, sizeof(disk), 0) != 0) break;
}

std::vector<bpf_program*> RecorderPrograms::file_programs() const {
    const auto& all = programs_->progs;
    return {
        all.on_page_fault,        all.on_lock,       all.on_whole_file_lock, all.on_request_issued,
        all.on_request_completed, all.on_retransmit, all.on_reset,           all.on_socket_state,
        all.on_write_done,        all.on_writer_ends};
}

std::vector<int> RecorderPrograms::program_fds() const {
    std::vector<int> fds = loaded_fds(cause_programs());
    for (const int fd : loaded_fds(file_programs())) fds.push_back(fd);
    const auto& all = programs_->progs;
    for (const bpf_program* program :
         {all.on_sample, all.on_switch, all.on_waking, all.on_wakeup, all.on_fork, all.on_exec})
        fds.push_back(bpf_program__fd(program));
    return fds;
}

RecorderPrograms::RunTime RecorderPrograms::run_time() const {
    const auto of = [](const bpf_program* program) {
        return use_of_programs({bpf_program__fd(program)}).run_time_ns;
    };
    return {of(programs_->progs.on_sample), of(programs_->progs.on_switch),
            use_of_programs(program_fds()).run_time_ns};
}

}  // namespace lagtrap::daemon
