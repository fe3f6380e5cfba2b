// Replays stored hours of runs as if other settings had been in force: how many recordings would
// they have caused? Uses neither the kernel nor a clock.
//
// The history has only the number of runs by hour and duration. So delays are assumed to be spread
// evenly over their hour, and durations over their bucket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/thresholds/run_history.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct RehearsedEvent {
    std::string name;
    bool known = false;  // the history has runs with the event's identity
    // in the last hour; settings::max_threshold while it is learned
    std::uint64_t threshold_ns = 0;
    bool follows_runs = false;  // the threshold follows from the runs
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t recordings = 0;
};

struct Rehearsal {
    std::uint64_t first_hour = 0;  // since the epoch
    std::uint64_t hours = 0;       // from the first to the last hour with runs; 0 if there are none
    std::vector<RehearsedEvent> events;
    std::uint64_t recordings = 0;
};

// Thresholds that follow from runs are learned from the first stored hour on.
[[nodiscard]] Rehearsal rehearse(const settings::Settings& settings, const RunHistory& history);

}  // namespace lagtrap::daemon
