// What changes with new decisions about thresholds. Uses no clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/events/event_thresholds.hpp"
#include "daemon/thresholds/threshold_policy.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

using ThresholdDecisions = std::map<std::uint32_t, ThresholdDecision>;  // by number of the event

struct ThresholdChange {
    std::uint32_t event = 0;
    std::chrono::nanoseconds threshold{};
    bool is_first = false;  // the event had none until now
};
[[nodiscard]] std::vector<ThresholdChange> threshold_changes(const ThresholdDecisions& decisions,
                                                             const EventThresholds& in_force);

// Events that used their recordings of the day start none.
class HeldEvents {
  public:
    struct Held {
        std::map<std::string, std::uint64_t> left_ns;  // by event: how long it starts none
        std::vector<std::string> news;                 // those that started some until now
        bool has_changed = false;                      // other events than the last time
    };
    // `now_ns` is the wall-clock time.
    [[nodiscard]] Held look(const ThresholdDecisions& decisions,
                            const std::vector<settings::Event>& events, std::uint64_t now_ns);

  private:
    std::set<std::string> held_;
};

}  // namespace lagtrap::daemon
