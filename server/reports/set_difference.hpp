// Two sets of any number of runs against each other, b - a, each figure with an interval of 95 %. Runs count as independent,
// though those of an hour are alike: true intervals are no narrower than these. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/reports/time_shift.hpp"
#include "server/sketch/sketch.hpp"

namespace lagtrap::server::reports {

struct Bounds {
    double low = 0, high = 0;
};

struct FigureDifference {
    double a = 0, b = 0;
    std::optional<Bounds> bounds;  // of b - a; nothing where runs are too few to tell

    // Whether the difference is no chance.
    [[nodiscard]] bool evidence() const { return bounds && (bounds->low > 0 || bounds->high < 0); }
};

// A quantile of durations, `share` between 0 and 1, in nanoseconds. `a_records` and `b_records`: how many records the sketches are of,
// which may be fewer than the runs that these stand for. Needs five records on either side of the quantile.
[[nodiscard]] FigureDifference quantile_difference(const Sketch& a, std::uint64_t a_records, const Sketch& b,
                                                   std::uint64_t b_records, double share);

struct Counted {
    std::uint64_t runs = 0, some = 0;  // of these
    std::uint64_t records = 0;
};
// A share of runs; needs five records of each.
[[nodiscard]] FigureDifference share_difference(const Counted& a, const Counted& b);

struct PartDifference {
    std::string state, reason;  // as PartShift has them
    FigureDifference mean_ns;
};
// Where the time of a run goes on average, the greatest difference first. Bounds need shift_runs_needed runs of each.
[[nodiscard]] std::vector<PartDifference> part_differences(std::span<const TimedDuration> a,
                                                           std::span<const TimedDuration> b);

}  // namespace lagtrap::server::reports
