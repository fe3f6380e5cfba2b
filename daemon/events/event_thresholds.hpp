// The thresholds in force, by event.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class EventThresholds {
  public:
    explicit EventThresholds(const std::vector<settings::Event>& events)
        : thresholds_ns_(events.size()) {
        for (std::uint32_t event = 0; event < events.size(); ++event)
            set(event, events[event].threshold);
    }

    void set(std::uint32_t event, std::chrono::nanoseconds threshold) {
        if (event < thresholds_ns_.size())
            thresholds_ns_[event].store(static_cast<std::uint64_t>(threshold.count()),
                                        std::memory_order_relaxed);
    }
    // 0 for unknown events.
    [[nodiscard]] std::uint64_t of_ns(std::uint32_t event) const {
        return event < thresholds_ns_.size() ? thresholds_ns_[event].load(std::memory_order_relaxed)
                                             : 0;
    }

  private:
    std::vector<std::atomic<std::uint64_t>> thresholds_ns_;
};

}  // namespace lagtrap::daemon
