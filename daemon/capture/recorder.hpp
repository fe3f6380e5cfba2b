// The recorder writes everything during a capture. It is created when the daemon starts and idle
// until a breach or an unusually slow run: perf events open but disabled, programs loaded, rings
// not mapped.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "daemon/budget/overhead_recording.hpp"
#include "daemon/capture/awaited_run.hpp"
#include "daemon/capture/published_contexts.hpp"
#include "daemon/capture/python_processes.hpp"
#include "daemon/capture/recorder_programs.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// Use it only on the capture controller's thread.
class Recorder {
  public:
    // Loads the programs and opens a disabled sampler on every CPU. `unwinder` and `mapped_files`
    // must outlive the recorder. `threads` must be those of the event monitor whose runs it
    // records. `names` may be null; see Rundown. Errors: BPF or perf events are refused.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> create(
        const settings::Settings& settings, Unwinder& unwinder, MappedFiles& mapped_files,
        const TimedThreads& threads, ContainerNames* names);
    ~Recorder();

    // Starts keeping the history, and does in advance what would delay an early recording by
    // milliseconds, as far as the settings enable either. Recording also works without this call.
    [[nodiscard]] Status get_ready(const EventMonitor& monitor);
    // Discards the history and keeps none until get_ready() is called again.
    void end_history();
    [[nodiscard]] std::uint64_t history_cost_ns() const { return programs_.history_cost_ns(); }
    // Call it whenever `history_calls_fd` is readable. The descriptor is -1 while no history is
    // kept, and belongs to the recorder.
    void turn_history();
    [[nodiscard]] int history_calls_fd() const { return programs_.history_calls_fd(); }
    struct History {
        bool is_kept = false;
        std::size_t size_bytes = 0;
        std::uint64_t cut = 0;   // see HistoryWindow
        std::uint64_t lost = 0;  // records dropped because the ring was full
    };
    [[nodiscard]] History history() const;
    [[nodiscard]] bool keeps_history() const;
    // Starts recording into memory, before there is a breach. drain() etc. work as in any
    // recording. start() makes it part of a recording, drop_early() discards it. Records at once
    // what the threads of process `pid` wait for, because that wait may be over at the breach.
    // `monitor` must outlive it.
    [[nodiscard]] Status begin_early(EventMonitor& monitor, std::uint32_t pid);
    void drop_early();
    // True if the limit is reached; later records are dropped.
    [[nodiscard]] bool early_is_full() const;
    static constexpr std::size_t early_limit_bytes = 32 << 20;

    // Starts recording, samplers first, then opens the logs in `directory`, which must exist. Sets
    // session.started_ns, which is the start of the early recording if there is one. `monitor`
    // must outlive the recording.
    [[nodiscard]] Status start(const std::filesystem::path& directory, trace::Session& session,
                               EventMonitor& monitor);

    // Moves a part of the data in the rings to the logs. An error ends the recording.
    [[nodiscard]] Status drain();
    // Time until the next drain() is due. 0 if there may be more data; let other work run in
    // between.
    [[nodiscard]] std::chrono::milliseconds until_next_drain() const;
    // How much of a recording can be lost if the daemon is killed.
    static constexpr std::chrono::seconds flush_interval{1};

    // Starts sampling CPUs that came online since the last call and returns them. A running
    // recording does this by itself. Detaches programs that no recording has needed for a while.
    std::vector<int> look_at_cpus();

    // CPU time used by this recording so far.
    [[nodiscard]] RecordingUse use() const;
    // Reduce this recording only; the next one is complete again.
    void sample_every(std::chrono::nanoseconds interval);
    void drop_user_stacks_of_switches();

    [[nodiscard]] std::uint64_t written_bytes() const;
    // State of the run that triggered this recording, according to the records that drain() has
    // read.
    [[nodiscard]] AwaitedRun::State first_run_recorded() const;
    // Like first_run_recorded(), but a run that the event monitor does not know any more counts as
    // gone. Searches all open runs.
    [[nodiscard]] AwaitedRun::State first_run();

    // Adds a run that ended before recording began.
    [[nodiscard]] Status add_run(const lagtrap_run& run);

    // Stops recording, drains the rest, adds the open runs, closes the logs, and sets
    // session.quality and ended_ns. An error if nothing was started.
    [[nodiscard]] Status stop(trace::Session& session);

  private:
    struct Capture;
    Recorder(const settings::Settings& settings, Unwinder& unwinder);
    void look_for_contexts(std::uint32_t first_pid);
    void follow_cpus();
    void describe_history(trace::Session& session) const;
    void describe_quality(const Capture& capture, trace::SessionQuality& quality) const;
    void write_history();
    [[nodiscard]] Status switch_on(EventMonitor& monitor, BreachWatch::Recorded recorded,
                                   std::uint32_t first_pid);
    void switch_off();

    settings::Settings settings_;
    Unwinder& unwinder_;
    ContainerNames* container_names_ = nullptr;
    RecorderPrograms programs_;
    // if this process has no pool: one for each of the following two
    DirectInspector direct_context_inspector_, direct_python_inspector_;
    std::optional<ContextMap> context_map_;
    std::optional<PublishedContexts> contexts_;  // if they are wanted
    std::optional<PythonMap> python_map_;
    std::optional<PythonProcesses> python_;
    std::vector<int> cpus_that_came_;   // not yet returned by look_at_cpus()
    std::unique_ptr<Capture> capture_;  // while it records
};

}  // namespace lagtrap::daemon
