// Totals of events under earlier settings, from which those under new settings continue.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/events/event_counters.hpp"
#include "daemon/events/run_takeover.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Totals that continue when the settings are replaced.
struct EventTotals {
    EventCounters counters;
    RunCounters runs;
};

// Not thread-safe. Uses no kernel.
class EarlierTotals {
  public:
    // There are no earlier settings.
    EarlierTotals() = default;
    // By the names of events. They include the open runs.
    explicit EarlierTotals(std::map<std::string, EventTotals> totals)
        : totals_(std::move(totals)) {}

    // Takes out what open runs will count again where they continue: delays noticed while open are
    // in the totals already, and are counted again when they end. `moved`: by the numbers of
    // events in `events`, the earlier settings'. `numbers`: from those to the new ones.
    void take_out_open_runs(const std::map<std::uint32_t, RunTakeover::Counts>& moved,
                            const std::vector<settings::Event>& events,
                            const std::map<std::uint32_t, std::uint32_t>& numbers);

    // Zeros if the earlier settings had no event of this name.
    [[nodiscard]] EventTotals of(const std::string& event) const;
    // Delays that were reported before, among the open runs that continue; by the new number.
    [[nodiscard]] std::uint64_t reported_before(std::uint32_t event) const;

  private:
    std::map<std::string, EventTotals> totals_;
    std::map<std::uint32_t, std::uint64_t> reported_before_;
};

}  // namespace lagtrap::daemon
