#include "daemon/capture/context_looks.hpp"

#include <algorithm>

namespace lagtrap::daemon {

std::vector<std::uint32_t> ContextLooks::due(const std::set<std::uint32_t>& running,
                                             std::uint32_t first_pid, std::uint64_t now_ns) {
    std::erase_if(without_, [&](const auto& one) { return !running.contains(one.first); });
    std::vector<std::uint32_t> pids;
    if (running.contains(first_pid)) pids.push_back(first_pid);
    for (const std::uint32_t pid : running) {
        const auto look = without_.find(pid);
        const bool is_due = look == without_.end() || now_ns >= look->second.next_ns;
        if (is_due && pid != first_pid) pids.push_back(pid);
    }
    return pids;
}

void ContextLooks::note(std::uint32_t pid, bool publishes, std::uint64_t now_ns) {
    if (publishes) {
        without_.erase(pid);
        return;
    }
    Look& look = without_[pid];
    look.pause_ns = std::clamp(look.pause_ns * 2, first_pause_ns, longest_pause_ns);
    look.next_ns = now_ns + look.pause_ns;
}

}  // namespace lagtrap::daemon
