// Finds when the level of a series changed permanently. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/reports/level_stretch.hpp"

namespace lagtrap::server::reports {

struct ChangePoint {
    std::size_t place = 0;         // index of the first unit after the change
    double before = 0, after = 0;  // levels between this change and its neighbours
    double p_value = 1;
};

// A unit at which something happened that may have caused a change, such as a new build.
struct LikelyPlace {
    std::size_t unit = 0;
    // Whether something else than the level says that there is a change. Then the level has only to
    // agree, and regular cycles do not matter.
    bool confirmed = false;
};

struct ChangeOptions {
    LevelKind kind = LevelKind::Value;
    // Units of regular cycles, shortest first, such as 24 and 168 hours. The shortest is removed
    // from the series if there are four cycles or more. Otherwise, and for all others, a change is
    // ignored if more than half of it also happened one cycle earlier.
    std::vector<std::size_t> cycles;
    double highest_p = 3e-5;  // low, because the place of a change is searched
    // A change there needs less evidence, because its place is not searched. A change whose place
    // is uncertain is moved there.
    std::vector<LikelyPlace> likely;
    double highest_likely_p = 5e-4, highest_confirmed_p = 0.05;
    // after / before - 1; for values, which are logarithms, its logarithm
    double min_change = 0.05;
};

// Oldest first. Each side of a change has at least three known units. Splits the series at the
// largest distance between the means of both sides (binary segmentation), in whole and within
// windows. Then removes splits, weakest first, until tests confirm all of them and all are large
// enough, as Hunter does (Fleming and others, ICPE 2023). Two tests must agree: Welch's, because
// one side may vary more than the other, and one with the common variance of both sides, increased
// as neighbouring units are correlated, because the place is searched.
[[nodiscard]] std::vector<ChangePoint> find_change_points(std::span<const LevelUnit> units,
                                                          const ChangeOptions& options = {});

}  // namespace lagtrap::server::reports
