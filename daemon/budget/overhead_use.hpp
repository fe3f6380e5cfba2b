// What watching cost between two checks, from counters. Uses neither the kernel nor a clock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/budget/overhead_budget.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/probes/overhead_probes.hpp"

namespace lagtrap::daemon {

// How many recordings have begun so far, and whether one is running.
struct RecordingsBegun {
    std::uint64_t begun = 0;
    bool now = false;
};

// Counter readings at one check.
struct OverheadReadings {
    std::uint64_t at_ns = 0, own_cpu_ns = 0;
    RecordingsBegun recordings;
    std::uint64_t history_cost_ns = 0, times_cost_ns = 0;
    std::vector<EventMonitor::EventHits> hits;    // by event
    std::map<std::uint32_t, HitParties> parties;  // since the previous check
};

class OverheadUse {
  public:
    // Run time of an event's program per hit; a guess until it is measured.
    struct ProgramCost {
        std::uint64_t ns = 250;
        bool measured = false;
    };

    explicit OverheadUse(const ProbeCosts& probes) : probes_(probes) {}

    // Forgets what was measured, because there are other events.
    void restart(std::size_t events);
    [[nodiscard]] WatchUse between(const OverheadReadings& before, const OverheadReadings& now);

    [[nodiscard]] const ProbeCosts& probes() const { return probes_; }
    // Average over the events, weighted by hits, from the last time that there were enough hits.
    [[nodiscard]] const ProgramCost& usual() const { return usual_; }

  private:
    // Splits the cost between two checks among parties, as estimated from the sampled hits.
    void share_cost(EventUse& use, const EventMonitor::EventHits& before,
                    const EventMonitor::EventHits& now, const HitParties& parties,
                    std::uint64_t program_ns) const;

    ProbeCosts probes_;
    std::vector<ProgramCost> programs_;  // by event
    ProgramCost usual_;
};

}  // namespace lagtrap::daemon
