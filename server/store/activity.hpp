// An event's runs and delays by unit of time (hour or day).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/sketch/sketch.hpp"
#include "server/store/filter.hpp"

namespace lagtrap::server {

enum class ActivityUnit { Hour, Day };  // UTC

struct ActivityQuestion {
    Filter filter;  // from_ns and to_ns are set and are boundaries of units
    ActivityUnit unit = ActivityUnit::Hour;
    std::uint64_t hosts_from_ns = 0;  // hosts and builds are counted from here on
    // EventActivity::hours and begins are about the time from here on; 0: they stay empty. With a
    // host, user, process or unit in the filter, hours do not begin before the filter, because all
    // these runs are read, and begins stay empty.
    std::uint64_t hourly_from_ns = 0;
    std::string search;  // part of the event's name, ignoring ASCII case
};

struct BuildActivity {
    std::string build;
    std::uint64_t runs = 0;  // weighted, without hidden ones
    std::uint64_t delays = 0;
};

// The runs that began in one unit, weighted and without hidden ones. For an event without recorded
// runs, its delays in bundles.
struct UnitActivity {
    std::uint64_t from_ns = 0;
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    Sketch durations;
    std::vector<BuildActivity> builds;  // in no order
};

// When a build of an event first ran.
struct FirstRun {
    std::string build;
    std::uint64_t at_ns = 0;
};

struct EventActivity {
    std::string event;
    bool runs_recorded = false;       // false: everything is about delays in bundles
    std::uint64_t last_ns = 0;        // begin of the last run or delay
    std::vector<UnitActivity> units;  // those with runs, in order
    // as units, but hours, from ActivityQuestion::hourly_from_ns on
    std::vector<UnitActivity> hours;
    // of builds that first ran since then; empty for a sight of part of the event
    std::vector<FirstRun> begins;
    std::uint64_t hosts = 0;  // with runs, or with delays if runs are not recorded
    // with delays in bundles, among the newest activity_delays_limit of them
    std::uint64_t delayed_hosts = 0;
    bool delays_cut = false;  // there were more delays in bundles
};

inline constexpr std::uint32_t activity_delays_limit = 20'000;

}  // namespace lagtrap::server
