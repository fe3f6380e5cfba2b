#include "daemon/events/unit_counts.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::daemon {

std::map<std::string, std::uint64_t> count_by_unit(
    const std::set<std::uint32_t>& pids, const std::map<std::uint32_t, std::string>& units) {
    std::map<std::string, std::uint64_t> counts;
    for (const std::uint32_t pid : pids) {
        const auto unit = units.find(pid);
        ++counts[unit == units.end() ? std::string() : unit->second];
    }
    while (counts.size() > counted_units_limit + 1) {
        const auto least =
            std::min_element(counts.begin(), counts.end(), [](const auto& one, const auto& other) {
                return std::pair(one.first == "other", one.second) <
                       std::pair(other.first == "other", other.second);
            });
        const std::uint64_t processes = least->second;
        counts.erase(least);
        counts["other"] += processes;
    }
    return counts;
}

}  // namespace lagtrap::daemon
