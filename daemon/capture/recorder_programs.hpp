// The kernel side of a recording: the recorder's BPF programs, their rings, and a sampler on every
// CPU. Loaded when the daemon starts. Use it only on the capture controller's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bpf/recorder.h"
#include "core/result.hpp"
#include "daemon/capture/context_map.hpp"
#include "daemon/capture/history_window.hpp"
#include "daemon/capture/python_map.hpp"
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
    using Take = std::function<void(const lagtrap_record*)>;

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
    void set_sample_interval(std::chrono::nanoseconds interval);

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

    // Sets the receiver of records; null drops them. History records go to the history instead.
    void give_to(Take take) { take_ = std::move(take); }
    // Reads the rings until they are empty. That may take long while much is recorded.
    [[nodiscard]] Status consume();
    // Reads what is in the rings now.
    [[nodiscard]] Status consume_present();
    // Reads a part of the rings, so that other work waits a few milliseconds at most. True if there
    // may be more.
    [[nodiscard]] Result<bool> consume_part();

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
    [[nodiscard]] bool keeps_history() const { return history_.has_value(); }
    [[nodiscard]] HistoryWindow& history() { return *history_; }
    [[nodiscard]] const HistoryWindow& history() const { return *history_; }

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
    struct Sampler {
        int cpu = 0;
        int fd = -1;  // owned by the link
        Link link;
    };

    [[nodiscard]] lagtrap_recording* recording_switch() const;
    [[nodiscard]] lagtrap_copying* copying() const;
    void enable_samplers(bool on) const;
    // The sampler is disabled until a capture begins.
    [[nodiscard]] Status add_sampler(int cpu);
    [[nodiscard]] Status attach_programs();
    [[nodiscard]] Status map_rings(int recorded_runs_fd);
    void take(const lagtrap_record* record);
    [[nodiscard]] Result<bool> consume_rings(std::uint64_t max_bytes);
    // Programs that record which interrupt, timer, packet or request woke a thread, and which file
    // a thread waits for.
    [[nodiscard]] std::vector<bpf_program*> cause_programs() const;
    [[nodiscard]] std::vector<bpf_program*> file_programs() const;
    void forget_disk_requests() const;

    settings::Recording settings_;
    settings::History history_settings_;
    Unwinder& unwinder_;
    std::optional<HistoryWindow> history_;  // set while a history is kept
    recorder_bpf* programs_ = nullptr;
    std::vector<Sampler> samplers_;
    std::chrono::nanoseconds sample_interval_{};
    std::uint32_t captures_ = 0;
    std::vector<Link> links_;  // of the recording programs
    Link tick_link_;
    ring_buffer* rings_ = nullptr;
    ring_buffer* turns_ = nullptr;
    std::chrono::steady_clock::time_point links_used_;
    Take take_;
    std::uint64_t left_to_consume_bytes_ = 0;
};

}  // namespace lagtrap::daemon
