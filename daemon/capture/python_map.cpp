#include "daemon/capture/python_map.hpp"

#include <bpf/libbpf.h>

namespace lagtrap::daemon {

// The flag stays set: without entries, it costs one lookup for each stack.
void PythonMap::set(std::uint32_t pid, const lagtrap_python& place) {
    if (bpf_map__update_elem(map_, &pid, sizeof(pid), &place, sizeof(place), BPF_ANY) == 0)
        *runs_ = 1;
}

void PythonMap::forget(std::uint32_t pid) {
    (void)bpf_map__delete_elem(map_, &pid, sizeof(pid), 0);
}

std::vector<std::uint32_t> PythonMap::processes() const {
    std::vector<std::uint32_t> pids;
    std::uint32_t pid = 0;
    for (const std::uint32_t* last = nullptr;
         pids.size() < LAGTRAP_PYTHON_PROCESSES &&
         bpf_map__get_next_key(map_, last, &pid, sizeof(pid)) == 0;
         last = &pid)
        pids.push_back(pid);
    return pids;
}

}  // namespace lagtrap::daemon
