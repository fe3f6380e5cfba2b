// Checks regularly what watching costs and carries out the budget's decisions: disables stacks and
// events of the event monitor and enables them again after a pause. Use it on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/budget/overhead_budget.hpp"
#include "daemon/budget/overhead_use.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct OverheadStatus {
    std::uint64_t used_ppm = 0;  // of one CPU, at the last check
    std::uint64_t share_ppm = 0;
    std::uint64_t recording_share_ppm = 0;
    std::uint64_t looks = 0;
    bool exhausted = false;  // over the share, with nothing left to disable
    // how often something was disabled since the settings came into force
    std::uint64_t disabled_count = 0;
    std::uint64_t program_ns = 0;  // run time of one marker program
    bool program_measured = false;
    ProbeCosts probes;
};

// What the capture controller has used so far.
struct RecordingCosts {
    RecordingsBegun recordings;
    // total since the history is on; it may restart from 0
    std::uint64_t history_ns = 0;
};

class OverheadWatch {
  public:
    // Measures the cost of probes first (measure_probe_costs()).
    explicit OverheadWatch(Log log);

    // Starts with everything armed. `monitor` must live until the next use() or stop().
    void use(const settings::Budget& budget, EventMonitor& monitor, const RecordingCosts& costs);
    void stop() { monitor_ = nullptr; }
    // Checks the cost and acts. Call it every interval(). Returns whether to keep the history from
    // now on; nullopt: as before.
    [[nodiscard]] std::optional<bool> look(const RecordingCosts& costs);
    [[nodiscard]] std::chrono::nanoseconds interval() const { return budget_.budget().interval; }

    [[nodiscard]] OverheadStatus status() const;
    // Time until a disabled event or its stacks are enabled again; 0 if nothing is disabled.
    [[nodiscard]] std::chrono::nanoseconds again_in(std::uint32_t event) const;
    [[nodiscard]] std::chrono::nanoseconds stages_again_in(std::uint32_t event) const;
    // CLOCK_MONOTONIC; 0 if the stages are enabled.
    [[nodiscard]] std::uint64_t stages_since_ns(std::uint32_t event) const {
        return budget_.stages_since_ns(event);
    }
    [[nodiscard]] bool counts_all(std::uint32_t event) const { return budget_.counts_all(event); }
    // Parties whose hits of the event are only counted, and why.
    [[nodiscard]] std::vector<OverheadBudget::Limit> limits(std::uint32_t event) const {
        return budget_.limits(event);
    }
    [[nodiscard]] std::uint64_t watched_ppm(std::uint32_t event) const {
        return budget_.watched_ppm(event);
    }
    [[nodiscard]] OverheadBudget::DisabledAt disabled_at(std::uint32_t event) const {
        return budget_.disabled_at(event);
    }
    // Time until the history and the time breakdown of runs are enabled again; 0 if they are
    // enabled.
    [[nodiscard]] std::chrono::nanoseconds history_again_in() const;
    [[nodiscard]] std::chrono::nanoseconds times_again_in() const;
    // One sentence for each part that is disabled now.
    [[nodiscard]] std::vector<std::string> disabled_now() const;

  private:
    [[nodiscard]] OverheadReadings count(const RecordingCosts& costs);
    void take(const BudgetStep& step);
    [[nodiscard]] Status carry_out(const BudgetStep& step, std::uint64_t watched_ppm);
    // Time until what the step disabled is enabled again.
    [[nodiscard]] std::chrono::nanoseconds again_in(const BudgetStep& step) const;

    Log log_;
    OverheadUse use_;
    OverheadBudget budget_;
    EventMonitor* monitor_ = nullptr;
    OverheadReadings before_;
    std::optional<bool> keep_history_;  // decided by this look()
};

}  // namespace lagtrap::daemon
