// Two sets of runs against each other (B8): how much longer one takes, and how sure that is. Pure functions; any thread.
#pragma once

#include <cstdint>
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
    std::vector<ComparedStage> stages;  // a name that comes twice counts with its sum
};

// Of b - a. The difference is Hodges and Lehmann's: the median of all differences of a run of b and a run of a.
struct Difference {
    std::uint64_t a_runs = 0, b_runs = 0;
    std::uint64_t a_median_ns = 0, b_median_ns = 0;
    std::int64_t difference_ns = 0;
    std::int64_t low_ns = 0, high_ns = 0;  // of the interval
    // The interval does not hold 0, each side has at least five runs, and a rank test agrees (p <= 0.05).
    bool evidence = false;
};

struct StageDifference {
    std::string name;
    Difference difference;  // of the runs that have the stage
};

struct Comparison {
    double confidence = 0.95;
    Difference whole;
    std::vector<StageDifference> stages;  // in the order in which they come first
};

struct CompareOptions {
    std::uint32_t resamples = 1000;
    std::uint64_t seed = 1;
    std::size_t most_runs = 1000;  // of each side; beyond it, a sample is compared
};

// The interval is a percentile bootstrap over runs. The same runs and options give the same answer. A side without runs
// gives zeros and no evidence.
[[nodiscard]] Comparison compare_runs(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                                      const CompareOptions& options = {});

}  // namespace lagtrap::server::reports
