// Finds builds at which an event's durations changed permanently. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lagtrap::server::reports {

// The median of a build's clean runs of one event and start.
struct BuildMedian {
    std::string build;
    std::uint64_t median_ns = 0;
    std::uint64_t runs = 0;
};

struct ChangePoint {
    std::size_t place = 0;                      // index of the first build after the change
    std::string build;                          // that build
    std::uint64_t before_ns = 0, after_ns = 0;  // medians of the builds between this change and its neighbours
    double change = 0;                          // after / before - 1
    double p_value = 1;
};

struct ChangeOptions {
    std::size_t window = 50;  // builds examined together
    double highest_p = 0.001;
    double least_change = 0.05;
};

// `builds` oldest first. Splits the series of log(median) by the E-divisive means statistic
// (Matteson and James, 2014) within windows. Then removes splits, weakest first, until Welch's
// t-test confirms all of them and all are large enough, as Hunter does (Fleming and others, ICPE
// 2023). Each side of a change has at least three builds.
[[nodiscard]] std::vector<ChangePoint> find_change_points(std::span<const BuildMedian> builds,
                                                          const ChangeOptions& options = {});

}  // namespace lagtrap::server::reports
