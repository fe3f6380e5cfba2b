// What records in the kernel: the collector's programs, their rings, and a sampler on every CPU. Loaded when the daemon
// starts; used by the collector's thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bpf/collector.h"
#include "core/result.hpp"
#include "daemon/capture/history_window.hpp"
#include "daemon/events/timed_threads.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"

struct bpf_program;
struct collector_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

class RecorderPrograms {
  public:
    using Take = std::function<void(const lagtrap_record*)>;

    // Loads the programs and opens a disabled sampler on every CPU. `unwinder` must outlive them; of `listener` the tables
    // are taken.
    RecorderPrograms(const settings::Settings& settings, Unwinder& unwinder);
    ~RecorderPrograms();
    RecorderPrograms(const RecorderPrograms&) = delete;
    RecorderPrograms& operator=(const RecorderPrograms&) = delete;
    [[nodiscard]] Status load(const TimedThreads& threads);

    // Records everything from now on, as a capture with a number of its own; until off(). Of stacks that cannot be walked at once
    // so much is copied, most of it of the process whose run it is for.
    void on(std::uint64_t copies_bytes, std::uint32_t first_pid);
    void allow_copies(std::uint64_t bytes, std::uint32_t first_pid);
    [[nodiscard]] lagtrap_copying copied() const;
    void off();
    [[nodiscard]] bool is_on() const;
    void drop_user_stacks_of_switches();
    void set_sample_interval(std::chrono::nanoseconds interval);

    // Attaches what is not attached, and maps the rings. Without, only the samplers record.
    [[nodiscard]] Status attach(int recorded_runs_fd);
    // Takes out what no recording has needed for a while.
    void detach_unused();
    // From the moment a control group with a CPU quota was seen, threads that wake in one are looked at.
    [[nodiscard]] Status watch_quotas(Link& link) const;
    // Samples these CPUs, which came; false for each that cannot be.
    [[nodiscard]] std::vector<bool> renew_samplers(const std::vector<int>& cpus);

    // Who takes what the rings hold; none: it is dropped. What belongs to the history goes there.
    void give_to(Take take) { take_ = std::move(take); }
    // All that the rings hold, and what comes meanwhile: while much is recorded that may go on for long.
    [[nodiscard]] Status consume();
    // What they hold now.
    [[nodiscard]] Status consume_present();
    // A part of it, so that what else is to be done waits a few milliseconds at most; whether there may be more.
    [[nodiscard]] Result<bool> consume_part();

    // Keeps the machine's last seconds, while nothing is recorded.
    [[nodiscard]] Status begin_history();
    void end_history();
    // What it took so far, as far as it can be told: by samples, waits, and the machine's context switches.
    [[nodiscard]] std::uint64_t history_cost_ns() const;
    // Readable at most once a second, and only if something was told of the history; until take_history_call(). Owned here; -1
    // while no history is kept.
    [[nodiscard]] int history_calls_fd() const;
    void take_history_call();
    // Takes what the rings hold of the history.
    void turn_history();
    [[nodiscard]] bool keeps_history() const { return history_.has_value(); }
    [[nodiscard]] HistoryWindow& history() { return *history_; }
    [[nodiscard]] const HistoryWindow& history() const { return *history_; }

    [[nodiscard]] lagtrap_capture_counters counters() const;
    // Goes over all threads.
    [[nodiscard]] bpf_program* thread_lister() const;
    // Not of the thread lister: it runs in the daemon's time, and what the kernel counts of it has the time in which it was preempted.
    [[nodiscard]] std::vector<int> program_fds() const;
    struct RunTime {
        std::uint64_t samples_ns = 0, switches_ns = 0, all_ns = 0;
    };
    [[nodiscard]] RunTime run_time() const;

  private:
    struct Sampler {
        int cpu = 0;
        int fd = -1;  // owned by its link
        Link link;
    };

    [[nodiscard]] lagtrap_recording* recording_switch() const;
    [[nodiscard]] lagtrap_copying* copying() const;
    void enable_samplers(bool on) const;
    // It sleeps until a capture.
    [[nodiscard]] Status add_sampler(int cpu);
    [[nodiscard]] Status attach_programs();
    [[nodiscard]] Status map_rings(int recorded_runs_fd);
    void take(const lagtrap_record* record);
    [[nodiscard]] Result<bool> consume_rings(std::uint64_t most_bytes);
    // What says which interrupt, timer, packet or request woke a thread, and for which file one waits.
    [[nodiscard]] std::vector<bpf_program*> cause_programs() const;
    [[nodiscard]] std::vector<bpf_program*> file_programs() const;
    void forget_disk_requests() const;

    settings::Recording settings_;
    settings::History history_settings_;
    Unwinder& unwinder_;
    std::optional<HistoryWindow> history_;  // while it is kept
    collector_bpf* programs_ = nullptr;
    std::vector<Sampler> samplers_;
    std::chrono::nanoseconds sample_interval_{};
    std::uint32_t captures_ = 0;
    std::vector<Link> links_;  // of the programs that record
    Link tick_link_;
    ring_buffer* rings_ = nullptr;
    ring_buffer* turns_ = nullptr;
    std::chrono::steady_clock::time_point links_used_;
    Take take_;
    std::uint64_t left_to_consume_bytes_ = 0;
};

}  // namespace lagtrap::daemon
