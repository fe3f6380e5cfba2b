// How the counters of an event and its open runs add up.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/events/event_monitor.hpp"

namespace lagtrap::daemon {

// Adds what happened to open runs (`status.open`) to the status's counters. A delay noticed while
// it was open counts from then on, and not again at its end. `reported_before`: those among runs
// that were taken over from earlier settings.
void add_open_runs(EventStatus& status, std::uint64_t reported_before);

[[nodiscard]] EventMonitor::EventHits hits_of(const EventCounters& counters,
                                              std::vector<ProbeKind> kinds);

}  // namespace lagtrap::daemon
