// The recorder: everything that writes during a capture. Made when the daemon starts, asleep until a breach:
// its perf events are open and disabled, its programs loaded, its rings not mapped.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "daemon/awaited_run.hpp"
#include "daemon/listener.hpp"
#include "daemon/overhead_recording.hpp"
#include "daemon/unwinder.hpp"
#include "settings/settings.hpp"
#include "trace/session.hpp"

namespace lagtrap::daemon {

// Used by the collector's thread alone.
class Recorder {
  public:
    // Loads the programs and opens a disabled sampler on every CPU. `unwinder` must outlive the recorder. Errors: BPF or
    // perf events are refused.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> create(const settings::Recording& settings,
                                                                  Unwinder& unwinder);
    ~Recorder();

    // Switches recording on (first thing: the sampler), then opens the logs in `directory`, which exists.
    // Sets session.started_ns. `listener` must outlive the recording.
    [[nodiscard]] Status start(const std::filesystem::path& directory, trace::Session& session, Listener& listener);

    // Moves what the rings hold into the logs; to be called every `drain_interval`. An error ends the recording.
    [[nodiscard]] Status drain();
    static constexpr std::chrono::milliseconds drain_interval{20};
    // So much of a recording a daemon that is killed may lose.
    static constexpr std::chrono::seconds flush_interval{1};

    // Samples CPUs that came, or came back, since the last call; these it returns. Called by itself while it records.
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
    struct State;
    struct Capture;
    explicit Recorder(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
    std::unique_ptr<Capture> capture_;
};

}  // namespace lagtrap::daemon
