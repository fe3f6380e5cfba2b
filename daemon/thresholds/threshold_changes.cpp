#include "daemon/thresholds/threshold_changes.hpp"

#include <utility>

namespace lagtrap::daemon {

std::vector<ThresholdChange> threshold_changes(const ThresholdDecisions& decisions,
                                               const EventThresholds& in_force) {
    const auto longest_ns = static_cast<std::uint64_t>(settings::max_threshold.count());
    std::vector<ThresholdChange> changes;
    for (const auto& [event, decision] : decisions) {
        const std::uint64_t before_ns = in_force.of_ns(event);
        if (decision.threshold_ns == before_ns) continue;
        changes.push_back(
            {event, std::chrono::nanoseconds(static_cast<std::int64_t>(decision.threshold_ns)),
             before_ns == longest_ns});
    }
    return changes;
}

HeldEvents::Held HeldEvents::look(const ThresholdDecisions& decisions,
                                  const std::vector<settings::Event>& events,
                                  std::uint64_t now_ns) {
    Held held;
    std::set<std::string> names;
    for (const auto& [event, decision] : decisions) {
        if (!decision.closed_until_ns || *decision.closed_until_ns <= now_ns) continue;
        const std::string& name = events[event].name;
        names.insert(name);
        held.left_ns[name] = *decision.closed_until_ns - now_ns;
        if (!held_.contains(name)) held.news.push_back(name);
    }
    held.has_changed = std::exchange(held_, names) != names;
    return held;
}

}  // namespace lagtrap::daemon
