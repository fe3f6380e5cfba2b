// The recorder: everything that writes during a capture. Made when the daemon starts, asleep until a breach, or until a run is
// unusually slow: its perf events are open and disabled, its programs loaded, its rings not mapped.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "daemon/budget/overhead_recording.hpp"
#include "daemon/capture/awaited_run.hpp"
#include "daemon/capture/recorder_programs.hpp"
#include "daemon/events/listener.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// Used by the collector's thread alone.
class Recorder {
  public:
    // Loads the programs and opens a disabled sampler on every CPU. `unwinder` must outlive the recorder. Errors: BPF or
    // perf events are refused.
    // `threads`: as the listener has them whose runs it will record. `names` (may be null) as Rundown has it.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> create(const settings::Settings& settings,
                                                                  Unwinder& unwinder, const TimedThreads& threads,
                                                                  ContainerNames* names);
    ~Recorder();

    // Begins to keep the machine's last seconds, and does what an early recording would take milliseconds for; as far as the
    // settings want either. A recording works without.
    [[nodiscard]] Status get_ready(const Listener& listener);
    // Forgets what was kept, and keeps nothing until get_ready() is called again.
    void end_history();
    [[nodiscard]] std::uint64_t history_cost_ns() const { return programs_.history_cost_ns(); }
    // To be called whenever `history_calls_fd` is readable; that is -1 while no history is kept, and gone with the recorder.
    void turn_history();
    [[nodiscard]] int history_calls_fd() const { return programs_.history_calls_fd(); }
    struct History {
        bool is_kept = false;
        std::size_t size_bytes = 0;
        std::uint64_t cut = 0;   // as HistoryWindow has it
        std::uint64_t lost = 0;  // records that found the ring full
    };
    [[nodiscard]] History history() const;
    [[nodiscard]] bool keeps_history() const;
    // Switches recording on, before there is a breach, into memory. drain() and the like are as in any recording. start() makes
    // it a part of the recording, drop_early() forgets it. What the threads of process `pid` wait for is looked at: it may be over
    // at the breach. `listener` must outlive it.
    [[nodiscard]] Status begin_early(Listener& listener, std::uint32_t pid);
    void drop_early();
    // It holds as much as it may, and nothing more is taken.
    [[nodiscard]] bool early_is_full() const;
    static constexpr std::size_t early_limit_bytes = 32 << 20;

    // Switches recording on (first thing: the sampler), then opens the logs in `directory`, which exists.
    // Sets session.started_ns: of a recording that has begun early, when it did. `listener` must outlive the recording.
    [[nodiscard]] Status start(const std::filesystem::path& directory, trace::Session& session, Listener& listener);

    // Moves what the rings hold into the logs, a part of it at a time. An error ends the recording.
    [[nodiscard]] Status drain();
    // How long after a drain() the next is due; 0: there may be more, and others shall have their turn before.
    [[nodiscard]] std::chrono::milliseconds until_next_drain() const;
    // So much of a recording a daemon that is killed may lose.
    static constexpr std::chrono::seconds flush_interval{1};

    // Samples CPUs that came, or came back, since the last call; these it returns. While it records it does so itself. Takes
    // programs out that no recording has needed for a while.
    std::vector<int> look_at_cpus();

    // Processor time of this recording until now.
    [[nodiscard]] RecordingUse use() const;
    // What the budget takes from this recording alone; the next has all again.
    void sample_every(std::chrono::nanoseconds interval);
    void drop_user_stacks_of_switches();

    [[nodiscard]] std::uint64_t written_bytes() const;
    // Whether the run that started this recording goes on, as far as drain() has read.
    [[nodiscard]] AwaitedRun::State first_run_recorded() const;
    // The same; one that the listener does not know any more is gone. Goes over all open runs.
    [[nodiscard]] AwaitedRun::State first_run();

    // Appends a run that is known from elsewhere (ended before recording began).
    [[nodiscard]] Status add_run(const lagtrap_run& run);

    // Switches off, drains the rest, adds the runs still open, closes the logs and fills session.quality and
    // ended_ns. An error if nothing was started.
    [[nodiscard]] Status stop(trace::Session& session);

  private:
    struct Capture;
    Recorder(const settings::Settings& settings, Unwinder& unwinder);
    void follow_cpus();
    void describe_history(trace::Session& session) const;
    void describe_quality(const Capture& capture, trace::SessionQuality& quality) const;
    void write_history();
    [[nodiscard]] Status switch_on(Listener& listener, BreachWatch::Recorded recorded, std::uint32_t first_pid);
    void switch_off();

    settings::Settings settings_;
    Unwinder& unwinder_;
    ContainerNames* container_names_ = nullptr;
    RecorderPrograms programs_;
    std::vector<int> cpus_that_came_;   // and that nobody was told of
    std::unique_ptr<Capture> capture_;  // while it records
};

}  // namespace lagtrap::daemon
