// Two sets of runs against each other: how much longer one takes, and how sure that is. Pure functions; any thread.
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
    std::vector<ComparedStage> stages;  // a name that comes twice counts with its sum
};

struct Interval {
    std::int64_t low_ns = 0, high_ns = 0;
};

// Of b - a. The difference is Hodges and Lehmann's: the median of all differences of a run of b and a run of a.
struct Difference {
    std::uint64_t a_runs = 0, b_runs = 0;
    std::uint64_t a_median_ns = 0, b_median_ns = 0;
    std::int64_t difference_ns = 0;
    std::optional<Interval> interval;  // nothing where so few runs tell nothing, however they differ
    bool evidence = false;             // there is an interval, and it does not hold 0
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
    std::uint64_t seed = 1;
    std::size_t most_runs = 1000;  // of each side; beyond it, a sample is compared
};

// The interval is that of differences that the test of Mann and Whitney does not reject (Hodges and Lehmann, 1963), at
// least at the confidence: exact up to 50 runs in all. It cannot contradict the verdict, and needs four runs a side, or
// some more of one. Runs of a side have to be picked by something else than their duration. The same runs and options
// give the same answer. A side without runs gives zeros and no evidence.
[[nodiscard]] Comparison compare_runs(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                                      const CompareOptions& options = {});

}  // namespace lagtrap::server::reports
