// Differences b - a of two sets with any number of runs, each figure with a 95 % interval. Treats
// runs as independent although runs of the same hour are similar, so true intervals are at least
// this wide. Pure functions; any thread.
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
    std::optional<Bounds> bounds;  // of b - a; nullopt if there are too few runs

    // Whether the difference is significant.
    [[nodiscard]] bool evidence() const { return bounds && (bounds->low > 0 || bounds->high < 0); }
};

// Difference of a quantile of durations in nanoseconds; `share` is between 0 and 1. `a_records` and
// `b_records` are the numbers of records in the sketches, which may be fewer than the runs they
// stand for. Needs five records on either side of the quantile.
[[nodiscard]] FigureDifference quantile_difference(const Sketch& a, std::uint64_t a_records,
                                                   const Sketch& b, std::uint64_t b_records,
                                                   double share);

struct Counted {
    std::uint64_t runs = 0, some = 0;  // of these
    std::uint64_t records = 0;
};
// Difference of a share of runs; needs five records on each side.
[[nodiscard]] FigureDifference share_difference(const Counted& a, const Counted& b);

struct PartDifference {
    std::string state, reason;  // as in PartShift
    FigureDifference mean_ns;
};
// Differences of the mean time by state and reason, largest first. Bounds need shift_runs_needed
// runs on each side.
[[nodiscard]] std::vector<PartDifference> part_differences(std::span<const TimedDuration> a,
                                                           std::span<const TimedDuration> b);

}  // namespace lagtrap::server::reports
