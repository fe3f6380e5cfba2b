#include "daemon/capture/context_map.hpp"

#include <bpf/libbpf.h>

#include <vector>

#include "daemon/kernel/iterator.hpp"

namespace lagtrap::daemon {

void ContextMap::set(std::uint32_t pid, const lagtrap_context_place& place) {
    if (bpf_map__update_elem(map_, &pid, sizeof(pid), &place, sizeof(place), BPF_ANY) == 0)
        *published_ = 1;
}

void ContextMap::keep_only(const std::set<std::uint32_t>& pids) {
    std::vector<std::uint32_t> left;
    std::uint32_t pid = 0;
    for (const std::uint32_t* last = nullptr;
         left.size() < LAGTRAP_PUBLISHING_PROCESSES &&
         bpf_map__get_next_key(map_, last, &pid, sizeof(pid)) == 0;
         last = &pid)
        if (!pids.contains(pid)) left.push_back(pid);
    for (const std::uint32_t gone : left) (void)bpf_map__delete_elem(map_, &gone, sizeof(gone), 0);
    if (pids.empty()) *published_ = 0;
}

void ContextMap::record_sleeping() { run_iterator(sleepers_, 0); }

}  // namespace lagtrap::daemon
