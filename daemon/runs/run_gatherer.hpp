// Makes batches of the runs that the programs report: whose they are, what kind of start, what speaks against them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/listener.h"
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

// A run with what its programs told beside it.
using ReportedRun = OpenRuns::Aborted;

// One thread's.
class RunGatherer {
  public:
    struct Machine {
        std::string host;
        std::string boot_id;
        std::filesystem::path proc_root = "/proc";
        NameOfContainer name_of_container{};
    };
    explicit RunGatherer(Machine machine);

    // From now on records are of these events, whose markers stand at `places` (nullptr: nobody knows where). What was
    // gathered stays. `weights`: of events that are watched a part of the time (nullptr: none is).
    void use(const std::vector<settings::Event>& events, const settings::Runs& limits, std::uint64_t since_ns,
             std::shared_ptr<const MarkerPlaces> places = nullptr, std::shared_ptr<const RunWeights> weights = nullptr);

    // A record of reported_runs; of one that is cut short or of another kind nothing is taken. Runs that ended
    // before `ended_after_ns` are another's to tell.
    void take(const lagtrap_record* record, std::size_t bytes, std::uint64_t ended_after_ns = 0);
    // A run that never ended: its thread or process is gone.
    void take_aborted(const ReportedRun& aborted);

    [[nodiscard]] ClockJumps& clocks() { return clocks_; }
    // When the batch is to be closed by the age of its first run; nothing while it is empty.
    [[nodiscard]] std::optional<std::uint64_t> due_ns() const;
    [[nodiscard]] bool full() const;
    // Lets the last run of the event in this batch stand for `runs` more (and for as many that were not watched as they do); false where there is none.
    [[nodiscard]] bool add_weight(std::uint32_t event, std::uint64_t runs);
    // Runs of which nothing more is known.
    void add_lost(std::uint64_t runs) { gathered_.batch.runs_lost += runs; }
    // The runs that the batch tells of so far, be it by number alone.
    [[nodiscard]] std::uint64_t runs() const;
    // What was gathered; an empty batch is begun.
    [[nodiscard]] GatheredBatch close(const std::string& session_hint);

    // Whether the programs should tell all stacks anew; forgets them.
    [[nodiscard]] bool forget_stacks_if_full();
    // As MarkerStacks has it. From any thread.
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const { return stacks_.limited(); }

  private:
    void add(const ReportedRun& reported, const std::optional<trace::RunTimes>& times, bool aborted = false);
    void add_stages(const ReportedRun& reported, const settings::Event& event, trace::RecordedRun& run);
    [[nodiscard]] std::string thread_of(const lagtrap_run& run, const RunProcess& process) const;
    [[nodiscard]] trace::StartKind start_of(const ReportedRun& reported, const settings::Event& event,
                                            const RunProcess& process);
    // Of `runs` that were seen, with those in between that were not.
    [[nodiscard]] std::uint64_t weight_of(std::uint32_t event, std::uint64_t runs) const;
    // The stack's number in this batch, 0 where nothing is known of it. Without one (id 0) a marker that is in one place
    // alone has that as its only frame.
    [[nodiscard]] std::uint32_t number_of(std::uint64_t stack_id, std::uint64_t marker);
    std::uint32_t add_stack(std::uint64_t id, trace::RunStack stack);
    // Where the marker stands alone, of events without stacks.
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
    GatheredBatch gathered_;
    std::uint64_t bytes_ = 0;     // of the batch, about
    std::uint64_t first_ns_ = 0;  // when its first run was taken
    std::size_t frames_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> stack_numbers_;
    std::unordered_map<trace::ModuleId, bool> modules_taken_;
    std::unordered_map<std::uint32_t, std::size_t> last_of_event_;  // places in the batch
};

}  // namespace lagtrap::daemon
