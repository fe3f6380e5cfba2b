// Makes batches from the runs that the programs report: adds process and user, the kind of start,
// and reasons why a run is dirty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/event_thresholds.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/events/run_weights.hpp"
#include "daemon/runs/batch_stacks.hpp"
#include "daemon/runs/clock_jumps.hpp"
#include "daemon/runs/open_batch.hpp"
#include "daemon/runs/run_processes.hpp"
#include "daemon/runs/start_kinds.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A run, with the additional report of its programs.
using ReportedRun = OpenRuns::Aborted;

// Use it on one thread.
class RunGatherer {
  public:
    struct Machine {
        std::string host;
        std::string boot_id;
        std::filesystem::path proc_root = "/proc";
        NameOfContainer name_of_container{};
    };
    explicit RunGatherer(Machine machine);

    // From now on, records belong to these events, whose markers are at `places` (nullptr if
    // unknown). Collected runs are kept. `weights` applies to events that are watched part of the
    // time (nullptr if none is). nullptr for `thresholds`: those of the events.
    void use(const std::vector<settings::Event>& events, const settings::Runs& limits,
             std::uint64_t since_ns, std::shared_ptr<const MarkerPlaces> places = nullptr,
             std::shared_ptr<const RunWeights> weights = nullptr,
             std::shared_ptr<const EventThresholds> thresholds = nullptr);

    // Takes a record of reported_runs. Ignores truncated records and other kinds. Ignores runs that
    // ended before `ended_after_ns`, because the previous source reports them.
    void take(const lagtrap_record* record, std::size_t bytes, std::uint64_t ended_after_ns = 0);
    // Takes a run that will never end because its thread or process is gone.
    void take_aborted(const ReportedRun& aborted);

    [[nodiscard]] ClockJumps& clocks() { return clocks_; }
    // When the batch must be closed because of the age of its first run; nullopt while it is empty.
    [[nodiscard]] std::optional<std::uint64_t> due_ns() const { return batch_.due_ns(limits_); }
    [[nodiscard]] bool full() const { return batch_.full(limits_); }
    // Lets the last run of the event in this batch represent `runs` more, multiplied by the event's
    // weight. False if there is no such run.
    [[nodiscard]] bool add_weight(std::uint32_t event, std::uint64_t runs);
    // Counts runs without any details.
    void add_lost(std::uint64_t runs) { batch_.lose(runs); }
    // Number of runs in the batch so far, including those that are only counted.
    [[nodiscard]] std::uint64_t runs() const { return batch_.runs(); }
    // Returns the collected batch and begins an empty one.
    [[nodiscard]] GatheredBatch close(const std::string& session_hint);

    // True if the programs should send all stacks again; all are dropped then.
    [[nodiscard]] bool forget_stacks_if_full() { return stacks_.forget_if_full(); }
    // See MarkerStacks. Thread-safe.
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const {
        return stacks_.limited_looks();
    }

  private:
    void add(const ReportedRun& reported, const std::optional<trace::RunTimes>& times,
             bool aborted = false);
    void add_stages(const ReportedRun& reported, const settings::Event& event,
                    trace::RecordedRun& run);
    [[nodiscard]] std::string thread_of(const lagtrap_run& run, const RunProcess& process) const;
    [[nodiscard]] trace::StartKind start_of(const ReportedRun& reported,
                                            const settings::Event& event,
                                            const RunProcess& process);
    // `runs` recorded ones and those that were not watched in between.
    [[nodiscard]] std::uint64_t weight_of(std::uint32_t event, std::uint64_t runs) const;

    Machine machine_;
    std::vector<settings::Event> events_;
    settings::Runs limits_;
    ClockJumps clocks_;
    StartKinds starts_;
    RunProcesses processes_;
    BatchStacks stacks_;
    std::shared_ptr<const RunWeights> weights_;
    std::shared_ptr<const EventThresholds> thresholds_;
    OpenBatch batch_;
};

}  // namespace lagtrap::daemon
