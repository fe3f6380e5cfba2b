#include "daemon/events/event_config_map.hpp"

#include <bpf/bpf.h>

namespace lagtrap::daemon {

Status EventConfigMap::change(std::uint32_t event,
                              const std::function<void(lagtrap_event_config&)>& edit) {
    const std::lock_guard lock(mutex_);
    lagtrap_event_config config{};
    if (bpf_map_lookup_elem(map_, &event, &config) != 0)
        return system_error("read the configuration of an event");
    edit(config);
    if (bpf_map_update_elem(map_, &event, &config, BPF_ANY) != 0)
        return system_error("change an event");
    return success();
}

Status EventConfigMap::change_flag(std::uint32_t event, std::uint32_t flag, bool wanted) {
    return change(event, [&](lagtrap_event_config& config) {
        config.flags = wanted ? config.flags | flag : config.flags & ~flag;
    });
}

bool EventConfigMap::has_flag(std::uint32_t event, std::uint32_t flag) const {
    lagtrap_event_config config{};
    return bpf_map_lookup_elem(map_, &event, &config) == 0 && (config.flags & flag) != 0;
}

}  // namespace lagtrap::daemon
