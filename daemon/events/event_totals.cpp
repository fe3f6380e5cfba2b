#include "daemon/events/event_totals.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::daemon {

void add_open_runs(EventStatus& status, std::uint64_t reported_before) {
    EventCounters& counters = status.counters;
    counters.abandoned += status.open.abandoned;
    counters.left += status.open.left;
    counters.expired += status.open.expired;
    const std::uint64_t counted_before = counters.reported_delays + counters.withdrawn;
    const std::uint64_t reported = status.open.reported + reported_before;
    counters.delays += reported - std::min(reported, counted_before);
}

EventMonitor::EventHits hits_of(const EventCounters& counters, std::vector<ProbeKind> kinds) {
    SeenParties seen;
    seen.add(counters.seen);
    const std::uint64_t hits = counters.hits(), begins = counters.begins().hits;
    return {hits,
            begins,
            hits - std::min<std::uint64_t>(hits, begins + counters.ends().hits),
            counters.out_of_scope + counters.limited,
            seen,
            counters.stack_ns,
            counters.costs,
            std::move(kinds)};
}

}  // namespace lagtrap::daemon
