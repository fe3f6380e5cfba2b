// What is reported about begins and ends of events that do not match: each finding once.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "daemon/events/event_monitor.hpp"
#include "daemon/events/pairing.hpp"

namespace lagtrap::daemon {

class PairingReports {
  public:
    // Sentences for findings that were not there before.
    [[nodiscard]] std::vector<std::string> take(const std::vector<EventStatus>& events) {
        std::vector<std::string> fresh;
        for (const EventStatus& event : events)
            for (const PairingFinding& finding : event.pairing)
                if (reported_.emplace(event.name, finding.kind).second)
                    fresh.push_back(fmt::format("event {}: {}; see \"lagtrap explain {}\"",
                                                event.name, finding.sentence, event.name));
        return fresh;
    }
    // Other settings are in force.
    void clear() { reported_.clear(); }

  private:
    std::set<std::pair<std::string, PairingFinding::Kind>> reported_;
};

}  // namespace lagtrap::daemon
