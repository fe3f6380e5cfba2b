#include "daemon/events/event_counters.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lagtrap::daemon {

namespace {

void add_seen(lagtrap_seen_parties& to, const lagtrap_seen_parties& others) {
    if (others.more != 0) to.more = 1;
    for (const std::uint32_t mark : others.parties) {
        if (mark == 0 || std::ranges::find(to.parties, mark) != std::end(to.parties)) continue;
        const auto room = std::ranges::find(to.parties, 0U);
        if (room == std::end(to.parties))
            to.more = 1;
        else
            *room = mark;
    }
}

}  // namespace

void EventCounters::add(const EventCounters& other) {
    delays += other.delays;
    reported_delays += other.reported_delays;
    abandoned += other.abandoned;
    left += other.left;
    failed += other.failed;
    cancelled += other.cancelled;
    lost += other.lost;
    expired += other.expired;
    unended_late += other.unended_late;
    withdrawn += other.withdrawn;
    too_deep += other.too_deep;
    records_lost += other.records_lost;
    out_of_scope += other.out_of_scope;
    limited += other.limited;
    unrecorded += other.unrecorded;
    counted += other.counted;
    texts_lost += other.texts_lost;
    add_seen(seen, other.seen);
    timed_ns += other.timed_ns;
    on_cpu_ns += other.on_cpu_ns;
    runnable_ns += other.runnable_ns;
    handed_over_ns += other.handed_over_ns;
    untimed += other.untimed;
    for (std::size_t i = 0; i < delays_mostly.size(); ++i)
        delays_mostly[i] += other.delays_mostly[i];
    stack_ns += other.stack_ns;
    max_ns = std::max(max_ns, other.max_ns);
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] += other.costs[i];
    for (std::size_t i = 0; i < markers.size(); ++i) {
        markers[i].hits += other.markers[i].hits;
        markers[i].unmatched += other.markers[i].unmatched;
        markers[i].last_ns = std::max(markers[i].last_ns, other.markers[i].last_ns);
    }
}

std::uint64_t EventCounters::runs() const {
    return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::uint64_t EventCounters::hits() const {
    return std::accumulate(markers.begin(), markers.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& marker) { return sum + marker.hits; });
}

std::uint64_t EventCounters::unmatched_stages() const {
    return std::accumulate(
        markers.begin() + LAGTRAP_PLACE_STAGE, markers.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto& marker) { return sum + marker.unmatched; });
}

void RunCounters::add(const RunCounters& other) {
    reported += other.reported;
    sampled_away += other.sampled_away;
    ring_full += other.ring_full;
    stacks_lost += other.stacks_lost;
}

}  // namespace lagtrap::daemon
