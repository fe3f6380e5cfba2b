// Makes batches from the runs that the programs report: adds process and user, the kind of start,
// and reasons why a run is dirty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/event_thresholds.hpp"
#include "daemon/events/marker_places.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/events/run_weights.hpp"
#include "daemon/runs/clock_jumps.hpp"
#include "daemon/runs/gathered_batch.hpp"
#include "daemon/runs/marker_stacks.hpp"
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
    [[nodiscard]] std::optional<std::uint64_t> due_ns() const;
    [[nodiscard]] bool full() const;
    // Lets the last run of the event in this batch represent `runs` more, multiplied by the event's
    // weight. False if there is no such run.
    [[nodiscard]] bool add_weight(std::uint32_t event, std::uint64_t runs);
    // Counts runs without any details.
    void add_lost(std::uint64_t runs) { gathered_.batch.runs_lost += runs; }
    // Number of runs in the batch so far, including those that are only counted.
    [[nodiscard]] std::uint64_t runs() const;
    // Returns the collected batch and begins an empty one.
    [[nodiscard]] GatheredBatch close(const std::string& session_hint);

    // True if the programs should send all stacks again; all are dropped then.
    [[nodiscard]] bool forget_stacks_if_full();
    // See MarkerStacks. Thread-safe.
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const {
        return stacks_.limited();
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
    // The stack's number in this batch; 0 if it is unknown. For id 0, the only frame is the marker,
    // if that has a single address.
    [[nodiscard]] std::uint32_t number_of(std::uint64_t stack_id, std::uint64_t marker);
    std::uint32_t add_stack(std::uint64_t id, trace::RunStack stack);
    // The marker's address if it has only one, for events without stacks.
    [[nodiscard]] std::optional<SolePlace> sole_place(std::uint64_t marker) const;

    Machine machine_;
    std::vector<settings::Event> events_;
    settings::Runs limits_;
    ClockJumps clocks_;
    StartKinds starts_;
    RunProcesses processes_;
    MarkerStacks stacks_;
    std::shared_ptr<const MarkerPlaces> marker_places_;
    std::shared_ptr<const RunWeights> weights_;
    std::shared_ptr<const EventThresholds> thresholds_;
    GatheredBatch gathered_;
    std::uint64_t bytes_ = 0;     // approximate size of the batch
    std::uint64_t first_ns_ = 0;  // when its first run arrived
    std::size_t frames_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> stack_numbers_;
    std::unordered_map<trace::ModuleId, bool> modules_taken_;
    std::unordered_map<std::uint32_t, std::size_t> last_of_event_;  // index in the batch
};

}  // namespace lagtrap::daemon
