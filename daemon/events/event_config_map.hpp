// The map in which the event monitor's programs find the configuration of each event, by number.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "bpf/event_monitor.h"
#include "core/result.hpp"

namespace lagtrap::daemon {

// Changes take effect at once, for all markers of an event. Thread-safe.
class EventConfigMap {
  public:
    // The descriptor belongs to the programs, which must outlive this object.
    explicit EventConfigMap(int map) : map_(map) {}

    // `edit` may depend on the present configuration, which nobody else changes meanwhile.
    [[nodiscard]] Status change(std::uint32_t event,
                                const std::function<void(lagtrap_event_config&)>& edit);
    // `flag`: one or more of LAGTRAP_EVENT_...
    [[nodiscard]] Status change_flag(std::uint32_t event, std::uint32_t flag, bool wanted);
    // False if there is no such event.
    [[nodiscard]] bool has_flag(std::uint32_t event, std::uint32_t flag) const;

  private:
    const int map_;
    std::mutex mutex_;  // serializes changes
};

}  // namespace lagtrap::daemon
