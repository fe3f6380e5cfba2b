#include "daemon/events/earlier_totals.hpp"

#include <algorithm>

namespace lagtrap::daemon {

void EarlierTotals::take_out_open_runs(const std::map<std::uint32_t, RunTakeover::Counts>& moved,
                                       const std::vector<settings::Event>& events,
                                       const std::map<std::uint32_t, std::uint32_t>& numbers) {
    for (const auto& [event, counts] : moved) {
        EventCounters& counters = totals_[events[event].name].counters;
        counters.abandoned += counts.left;
        counters.delays -= std::min(counters.delays, counts.reported);
        if (const auto number = numbers.find(event); number != numbers.end())
            reported_before_[number->second] = counts.reported;
    }
}

EventTotals EarlierTotals::of(const std::string& event) const {
    const auto found = totals_.find(event);
    return found == totals_.end() ? EventTotals{} : found->second;
}

std::uint64_t EarlierTotals::reported_before(std::uint32_t event) const {
    const auto found = reported_before_.find(event);
    return found == reported_before_.end() ? 0 : found->second;
}

}  // namespace lagtrap::daemon
