#include "server/reports/set_difference.hpp"

#include <random>

#include <gtest/gtest.h>

namespace lagtrap::server::reports::set_difference_test {
namespace {

constexpr double ms = 1e6;

Sketch lognormal(std::mt19937_64& random, std::size_t runs, double median_ns) {
    std::lognormal_distribution<double> durations(std::log(median_ns), 0.5);
    Sketch sketch;
    for (std::size_t i = 0; i < runs; ++i)
        sketch.add(static_cast<std::uint64_t>(durations(random)));
    return sketch;
}

TEST(SetDifference, IntervalsOfQuantilesHoldTheTruthInMostSeeds) {
    // For a lognormal distribution: the median, and the median times exp(0.5 z) at 0.99.
    const double p99_factor = std::exp(0.5 * 2.326348);
    int held = 0, found = 0, alarms = 0;
    constexpr int seeds = 200;
    for (int seed = 0; seed < seeds; ++seed) {
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        const Sketch a = lognormal(random, 3000, 20 * ms), b = lognormal(random, 2000, 23 * ms),
                     same = lognormal(random, 2000, 20 * ms);
        const auto p50 = quantile_difference(a, 3000, b, 2000, 0.5),
                   p99 = quantile_difference(a, 3000, b, 2000, 0.99);
        ASSERT_TRUE(p50.bounds && p99.bounds);
        held += p50.bounds->low <= 3 * ms && p50.bounds->high >= 3 * ms;
        held += p99.bounds->low <= 3 * ms * p99_factor && p99.bounds->high >= 3 * ms * p99_factor;
        found += p50.evidence();
        alarms += quantile_difference(a, 3000, same, 2000, 0.5).evidence();
    }
    EXPECT_GE(held, 2 * seeds * 94 / 100);
    EXPECT_GE(found, seeds * 95 / 100);
    EXPECT_LE(alarms, seeds * 5 / 100);
}

TEST(SetDifference, FewRunsTellNothing) {
    std::mt19937_64 random(1);
    const Sketch a = lognormal(random, 9, 20 * ms), b = lognormal(random, 400, 20 * ms);
    EXPECT_FALSE(quantile_difference(a, 9, b, 400, 0.5).bounds.has_value());
    EXPECT_FALSE(quantile_difference(b, 400, b, 400, 0.99).bounds.has_value());
    EXPECT_FALSE(quantile_difference({}, 0, {}, 0, 0.5).evidence());
    EXPECT_FALSE(share_difference({}, {100, 50, 100}).bounds.has_value());
}

TEST(SetDifference, RunsThatARecordStandsForAreNoMoreEvidence) {
    std::mt19937_64 random(1);
    const Sketch a = lognormal(random, 100'000, 20 * ms), b = lognormal(random, 100'000, 21 * ms);
    EXPECT_TRUE(quantile_difference(a, 100'000, b, 100'000, 0.5).evidence());
    EXPECT_FALSE(quantile_difference(a, 50, b, 50, 0.5).evidence());
}

TEST(SetDifference, SharesOfDelays) {
    const auto more = share_difference({1000, 10, 1000}, {1000, 40, 1000});
    EXPECT_TRUE(more.evidence());
    // Newcombe's interval of 10 of 1,000 against 40 of 1,000.
    EXPECT_NEAR(more.bounds->low, 0.016, 0.002);
    EXPECT_NEAR(more.bounds->high, 0.045, 0.002);
    EXPECT_FALSE(share_difference({1000, 10, 1000}, {1000, 13, 1000}).evidence());
    EXPECT_FALSE(share_difference({1000, 0, 1000}, {1000, 0, 1000}).evidence());
}

TEST(SetDifference, TimeByClass) {
    std::vector<TimedDuration> a(40), b(40);
    for (std::size_t i = 0; i < 40; ++i) {
        a[i].duration_ns = b[i].duration_ns = 100;
        a[i].times.parts.on_cpu_ns = 60 + i % 5;
        b[i].times.parts.on_cpu_ns = 20 + i % 5;
        b[i].times.parts.blocked_ns[0] = 40;
    }
    const auto parts = part_differences(a, b);
    ASSERT_GE(parts.size(), 3U);
    EXPECT_NE(parts[0].state, "unknown");
    double a_sum = 0, b_sum = 0;
    for (const PartDifference& part : parts) {
        a_sum += part.mean_ns.a;
        b_sum += part.mean_ns.b;
        EXPECT_EQ(part.mean_ns.evidence(), part.state != "unknown") << part.state;
    }
    EXPECT_NEAR(a_sum, 100, 1e-6);
    EXPECT_NEAR(b_sum, 100, 1e-6);
    b.resize(19);
    EXPECT_FALSE(part_differences(a, b)[0].mean_ns.bounds.has_value());
}

}  // namespace
}  // namespace lagtrap::server::reports::set_difference_test
