#include "daemon/processes/process_units.hpp"

namespace lagtrap::daemon {

void ProcessUnits::follow(const std::set<std::uint32_t>& pids) {
    std::erase_if(units_, [&pids](const auto& known) { return !pids.contains(known.first); });
    std::size_t asked = 0;
    for (const std::uint32_t pid : pids) {
        if (units_.contains(pid)) continue;
        if (++asked > asked_limit) return;
        units_.emplace(pid, ask_(pid));
    }
}

}  // namespace lagtrap::daemon
