// Compares two sets of runs: how much longer one takes, and how certain that is. Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lagtrap::server::reports {

struct ComparedStage {
    std::string name;
    std::uint64_t duration_ns = 0;
};

struct ComparedRun {
    std::uint64_t duration_ns = 0;
    std::vector<ComparedStage> stages;  // durations of a name that occurs twice are added
};

struct Interval {
    std::int64_t low_ns = 0, high_ns = 0;
};

// The difference b - a by Hodges and Lehmann: the median of the differences of all pairs of a run
// of b and a run of a.
struct Difference {
    std::uint64_t a_runs = 0, b_runs = 0;
    std::uint64_t a_median_ns = 0, b_median_ns = 0;
    std::int64_t difference_ns = 0;
    std::optional<Interval> interval;  // nullopt if there are too few runs for an interval
    bool evidence = false;             // there is an interval, and it does not contain 0
};

struct StageDifference {
    std::string name;
    Difference difference;  // of the runs that have the stage
};

struct Comparison {
    double confidence = 0.95;
    Difference whole;
    std::vector<StageDifference> stages;  // in order of first appearance
};

struct CompareOptions {
    std::uint64_t seed = 1;
    std::size_t max_runs = 1000;  // per side; beyond it, a sample is compared
};

// The interval contains the differences that the Mann-Whitney test does not reject (Hodges and
// Lehmann, 1963), at the given confidence or more; it is exact for up to 50 runs in all. It never
// contradicts the verdict, and needs four runs on each side, or a few more on one. Do not choose
// the runs of a side by their duration. The same runs and options give the same result. A side
// without runs gives zeros and no evidence.
[[nodiscard]] Comparison compare_runs(std::span<const ComparedRun> a,
                                      std::span<const ComparedRun> b,
                                      const CompareOptions& options = {});

}  // namespace lagtrap::server::reports
