// Estimates the cost of a marker program from the times of some executions.
#include "daemon/events/program_cost.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::program_cost_test {
namespace {

void add(CostCounts& counts, std::uint64_t duration_ns, std::uint64_t times) {
    const std::uint32_t bucket = lagtrap_histogram_bucket(duration_ns);
    counts[std::min<std::size_t>(bucket, counts.size() - 1)] += times;
}

TEST(ProgramCost, FewSamplesSayNothing) {
    CostCounts counts{};
    EXPECT_FALSE(program_cost_ns(counts));
    add(counts, 300, 15);
    EXPECT_FALSE(program_cost_ns(counts));
    add(counts, 300, 1);
    ASSERT_TRUE(program_cost_ns(counts));
    EXPECT_NEAR(static_cast<double>(*program_cost_ns(counts)), 300, 40);
}

TEST(ProgramCost, BeginsAndEndsOfDifferentCostAreAveraged) {
    CostCounts counts{};
    add(counts, 200, 500);
    add(counts, 600, 500);
    EXPECT_NEAR(static_cast<double>(*program_cost_ns(counts)), 400, 50);
}

// On a loaded machine, one of five executions was preempted for milliseconds and others were
// interrupted. Their mean would be a thousand times the real cost.
TEST(ProgramCost, WhatWasInterruptedDoesNotCount) {
    CostCounts quiet{}, loaded{};
    add(quiet, 250, 1000);
    add(loaded, 250, 750);
    add(loaded, 12'000, 50);
    add(loaded, 4'000'000, 200);
    EXPECT_EQ(program_cost_ns(loaded), program_cost_ns(quiet));
}

TEST(ProgramCost, WhereAllWereInterruptedTheyAreNotBelieved) {
    CostCounts counts{};
    add(counts, 4'000'000, 100);
    EXPECT_FALSE(program_cost_ns(counts));
}

}  // namespace
}  // namespace lagtrap::daemon::program_cost_test
