// The kernel side of a recording: the recorder's BPF programs, their rings, and a sampler on every
// CPU. Loaded when the daemon starts. Use it only on the capture controller's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "bpf/recorder.h"
#include "core/result.hpp"
#include "daemon/capture/context_map.hpp"
#include "daemon/capture/cpu_samplers.hpp"
#include "daemon/capture/history_window.hpp"
#include "daemon/capture/python_map.hpp"
#include "daemon/capture/record_intake.hpp"
#include "daemon/events/timed_threads.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"

struct bpf_program;
struct recorder_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

class RecorderPrograms {
  public:
    // `unwinder` must outlive it; its tables are shared with the programs. load() loads the
    // programs and opens a disabled sampler on every CPU.
    RecorderPrograms(const settings::Settings& settings, Unwinder& unwinder);
    ~RecorderPrograms();
    RecorderPrograms(const RecorderPrograms&) = delete;
    RecorderPrograms& operator=(const RecorderPrograms&) = delete;
    [[nodiscard]] Status load(const TimedThreads& threads);

    // Starts recording a new capture, until off(). Stacks that cannot be walked at once are copied,
    // up to `copies_bytes`, mostly for process `first_pid`.
    void on(std::uint64_t copies_bytes, std::uint32_t first_pid);
    void allow_copies(std::uint64_t bytes, std::uint32_t first_pid);
    [[nodiscard]] lagtrap_copying copied() const;
    void off();
    [[nodiscard]] bool is_on() const;
    void drop_user_stacks_of_switches();
    void set_sample_interval(std::chrono::nanoseconds interval) {
        samplers_.set_interval(interval);
    }

    // Attaches the programs that are not attached yet, and maps the rings. Without it, only the
    // samplers record.
    [[nodiscard]] Status attach(int recorded_runs_fd);
    // Detaches programs that no recording has needed for a while.
    void detach_unused();
    // Once a control group with a CPU quota has been seen, attaches the program that follows
    // wakeups in such groups.
    [[nodiscard]] Status watch_quotas(Link& link) const;
    // Starts sampling CPUs that came online. The result is false for those that cannot be sampled.
    [[nodiscard]] std::vector<bool> renew_samplers(const std::vector<int>& cpus);

    // As in RecordIntake.
    void give_to(RecordIntake::Take take) { intake_.give_to(std::move(take)); }
    [[nodiscard]] Status consume() { return intake_.consume(); }
    [[nodiscard]] Status consume_present() { return intake_.consume_present(); }
    [[nodiscard]] Result<bool> consume_part() { return intake_.consume_part(); }

    // Starts keeping the last seconds in memory while nothing is recorded.
    [[nodiscard]] Status begin_history();
    void end_history();
    // Estimated cost of the history so far, from samples, waits, and the machine's context
    // switches.
    [[nodiscard]] std::uint64_t history_cost_ns() const;
    // Becomes readable at most once a second, if there are history records, until
    // take_history_call(). Owned by this object; -1 while no history is kept.
    [[nodiscard]] int history_calls_fd() const;
    void take_history_call();
    // Moves history records from the rings to the history.
    void turn_history();
    [[nodiscard]] bool keeps_history() const { return intake_.keeps_history(); }
    [[nodiscard]] HistoryWindow& history() { return intake_.history(); }
    [[nodiscard]] const HistoryWindow& history() const { return intake_.history(); }

    [[nodiscard]] lagtrap_capture_counters counters() const;
    // Records which processes have the other ends of sockets that threads waited for in this
    // capture, and which have written files open. Takes up to 50 ms, and nothing if there are no
    // such sockets and files.
    void look_at_open_files() const;
    // Iterates over all threads.
    [[nodiscard]] bpf_program* thread_lister() const;
    [[nodiscard]] ContextMap context_map() const;
    [[nodiscard]] PythonMap python_map() const;
    // Without the thread lister, because it runs in the daemon's own time and the kernel's count
    // includes time while it was preempted.
    [[nodiscard]] std::vector<int> program_fds() const;
    struct RunTime {
        std::uint64_t samples_ns = 0, switches_ns = 0, all_ns = 0;
    };
    [[nodiscard]] RunTime run_time() const;

  private:
    [[nodiscard]] lagtrap_recording* recording_switch() const;
    [[nodiscard]] lagtrap_copying* copying() const;
    [[nodiscard]] Status attach_programs();
    // Programs that record which interrupt, timer, packet or request woke a thread, and which file
    // a thread waits for.
    [[nodiscard]] std::vector<bpf_program*> cause_programs() const;
    [[nodiscard]] std::vector<bpf_program*> file_programs() const;
    void forget_disk_requests() const;

    settings::Recording settings_;
    settings::History history_settings_;
    Unwinder& unwinder_;
    recorder_bpf* programs_ = nullptr;
    CpuSamplers samplers_;
    std::uint32_t captures_ = 0;
    std::vector<Link> links_;  // of the recording programs
    Link tick_link_;
    RecordIntake intake_;
    ring_buffer* turns_ = nullptr;
    std::chrono::steady_clock::time_point links_used_;
};

}  // namespace lagtrap::daemon
