// One event in the answer to "status".
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <boost/json/object.hpp>

#include "core/clock.hpp"
#include "daemon/budget/overhead_budget.hpp"
#include "daemon/events/event_monitor.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What other parts of the daemon know about an event.
struct EventSurroundings {
    std::uint64_t watched_ppm = 1'000'000;  // how much of the time it is watched
    // until disabled parts are enabled again; 0 if nothing is disabled
    std::chrono::nanoseconds again_in{};
    std::chrono::nanoseconds stages_again_in{};
    std::uint64_t stages_since_ns = 0;  // CLOCK_MONOTONIC; 0 if they are watched
    bool counts_all = true;             // begins are counted completely while it is not watched
    OverheadBudget::DisabledAt disabled_at;
    std::vector<OverheadBudget::Limit> limits;
    std::uint64_t recordings = 0;  // begun for it since the daemon started
    ClockSnapshot now;
};

[[nodiscard]] boost::json::object event_report(const settings::Event& event,
                                               const EventStatus& status,
                                               const EventSurroundings& surroundings);

}  // namespace lagtrap::daemon
