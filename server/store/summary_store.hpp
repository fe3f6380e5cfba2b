// Sums up runs: counts, distributions, hours and days.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/sketch/sketch.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class SqlSession;

// Counts of runs that a filter selects. Weighted counts include the runs that the records stand
// for.
struct RunCounts {
    std::uint64_t records = 0;   // shown
    std::uint64_t hidden = 0;    // dirty records, whether or not with_dirty includes them
    std::uint64_t outliers = 0;  // records, whether or not without_outliers excludes them
    std::uint64_t runs = 0;      // weighted, shown
    std::uint64_t delays = 0;    // weighted, shown
};

struct HourCount {
    std::uint64_t hour_ns = 0;  // begin of the hour, UTC
    std::uint64_t runs = 0;     // weighted
    std::uint64_t delays = 0;
};

struct Summary {
    RunCounts counts;
    std::uint64_t longest_ns = 0;  // exact
    Sketch durations;              // of all shown, weighted
    Sketch delay_durations;        // of the delays among them
    std::vector<HourCount> hours;  // those with runs, in order
};

struct TrendPoint {
    std::uint64_t from_ns = 0;  // begin of the day, UTC
    std::string build;
    std::uint64_t runs = 0;  // weighted
    std::uint64_t delays = 0;
    Sketch durations;
};

// Shows only what is visible. The rules of Store apply. All functions need Filter::event.
class SummaryStore {
  public:
    SummaryStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // The functions below need Filter::event.
    [[nodiscard]] Result<Summary> summary(const Filter& filter) const;
    [[nodiscard]] Result<RunCounts> count_runs(const Filter& filter) const;
    // By day and build, in order of days.
    [[nodiscard]] Result<std::vector<TrendPoint>> trend(const Filter& filter) const;

  private:
    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
