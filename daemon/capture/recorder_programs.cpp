#include "daemon/capture/recorder_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "core/clock.hpp"
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

}  // namespace

RecorderPrograms::RecorderPrograms(const settings::Settings& settings_, Unwinder& unwinder_)
    : settings_(settings_.recording),
      history_settings_(settings_.history),
      unwinder_(unwinder_),
      samplers_(settings_.recording.sample_interval) {}

RecorderPrograms::~RecorderPrograms() {
    samplers_.clear();
    links_.clear();
    tick_link_.reset();
    intake_.unmap();
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
    if (samplers_.interval() != settings_.sample_interval)
        samplers_.set_interval(settings_.sample_interval);
    __atomic_store_n(&recording->on, 1, __ATOMIC_RELEASE);
    samplers_.enable(true);
}

void RecorderPrograms::off() {
    __atomic_store_n(&recording_switch()->on, 0, __ATOMIC_RELEASE);
    // The history needs no stack copies.
    __atomic_store_n(&copying()->budget_bytes, 0, __ATOMIC_RELEASE);
    samplers_.enable(false);
    links_used_ = Clock::now();
}

bool RecorderPrograms::is_on() const {
    return __atomic_load_n(&recording_switch()->on, __ATOMIC_ACQUIRE) != 0;
}

void RecorderPrograms::drop_user_stacks_of_switches() {
    __atomic_store_n(&recording_switch()->without_user_stacks_of_switches, 1, __ATOMIC_RELEASE);
}

std::vector<bool> RecorderPrograms::renew_samplers(const std::vector<int>& cpus) {
    std::vector<bool> sampled = samplers_.renew(cpus, programs_->progs.on_sample);
    if (is_on()) samplers_.enable(true);
    return sampled;
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
        const auto added = samplers_.add(cpu, programs_->progs.on_sample);
        if (!added && added.error().system_errno == ENODEV) continue;  // this CPU is offline
        if (!added) return added.error();
    }
    return success();
}

Status RecorderPrograms::attach(int recorded_runs_fd) {
    links_used_ = Clock::now();
    if (links_.empty()) TRY(attach_programs());
    forget_disk_requests();
    return intake_.map(bpf_map__fd(programs_->maps.records), recorded_runs_fd,
                       bpf_map__fd(programs_->maps.stack_copies));
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

void RecorderPrograms::detach_unused() {
    if (keeps_history() || links_.empty() || Clock::now() - links_used_ < links_kept) return;
    links_.clear();
    intake_.unmap();
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
    intake_.keep_history(history_settings_.length);
    lagtrap_recording* const recording = recording_switch();
    recording->history_interval_ns =
        static_cast<std::uint32_t>(history_settings_.sample_interval.count());
    __atomic_store_n(&recording->history, 1, __ATOMIC_RELEASE);
    return success();
}

void RecorderPrograms::end_history() {
    __atomic_store_n(&recording_switch()->history, 0, __ATOMIC_RELEASE);
    tick_link_.reset();
    intake_.end_history();
    links_used_ = Clock::now();
}

std::uint64_t RecorderPrograms::history_cost_ns() const {
    if (!keeps_history()) return 0;
    return history_cost_of(counters(), context_switches());
}

int RecorderPrograms::history_calls_fd() const {
    return keeps_history() ? ring_buffer__epoll_fd(turns_) : -1;
}

void RecorderPrograms::take_history_call() {
    if (turns_) (void)ring_buffer__consume(turns_);
}

void RecorderPrograms::turn_history() {
    if (!keeps_history() || is_on()) return;
    (void)consume();
    if (history().turn(monotonic_ns()))
        __atomic_store_n(&recording_switch()->capture, ++captures_, __ATOMIC_RELEASE);
}

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
