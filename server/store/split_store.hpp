// Splits runs by host, build and unit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/sketch/sketch.hpp"
#include "server/store/activity.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class SqlSession;

enum class SplitBy { Host, Build, Unit };
struct SplitPoint {
    std::uint64_t runs = 0, delays = 0;  // weighted
    Sketch durations;

    void add(const SplitPoint& other);
};

// Runs of one host, build or unit.
struct SplitPart {
    std::string name;  // empty: unknown
    SplitPoint whole;
    // by begin of the unit of time, nanoseconds since 1970
    std::map<std::uint64_t, SplitPoint> points;

    void add(const SplitPart& other);  // keeps its own name
};

struct SplitRuns {
    std::vector<SplitPart> parts;  // most delays first, then most runs
    std::uint64_t runs_read = 0;   // records, the newest; split() stops at its limit
    std::uint64_t from_ns = 0;     // begin of the oldest run read; 0 if there is none
};

// Runs of one host, build and unit, weighted. Without recorded runs: delays in bundles.
struct RunGroup {
    std::string host, build, unit;
    SplitPoint runs;
};

struct RunGroups {
    std::vector<RunGroup> groups;
    std::uint64_t runs_read = 0;  // records, the newest; run_groups() stops at its limit
    std::uint64_t from_ns = 0;    // begin of the oldest run read; 0 if there is none
};

// Shows only what is visible. The rules of Store apply. Both functions need Filter::event.
class SplitStore {
  public:
    SplitStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // The newest `run_limit` runs, split by host, build or unit, and by hour or day.
    [[nodiscard]] Result<SplitRuns> split(const Filter& filter, SplitBy by, ActivityUnit unit,
                                          std::uint32_t run_limit) const;
    // The newest `run_limit` runs, or delays in bundles, by host, build and unit.
    [[nodiscard]] Result<RunGroups> run_groups(const Filter& filter, bool of_delays,
                                               std::uint32_t run_limit) const;

  private:
    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
