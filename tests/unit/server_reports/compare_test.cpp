#include "server/reports/compare.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reports/rank_test.hpp"

namespace lagtrap::server::reports::compare_test {
namespace {

constexpr std::int64_t ms = 1'000'000;

std::vector<ComparedRun> lognormal(std::size_t count, double median_ms, double sigma,
                                   std::mt19937_64& engine) {
    std::normal_distribution<double> logs(std::log(median_ms * 1e6), sigma);
    std::vector<ComparedRun> runs(count);
    for (ComparedRun& run : runs)
        run.duration_ns = static_cast<std::uint64_t>(std::exp(logs(engine)));
    return runs;
}

std::vector<ComparedRun> exactly(const std::vector<std::uint64_t>& durations) {
    std::vector<ComparedRun> runs;
    for (const std::uint64_t duration : durations) runs.push_back({duration, {}});
    return runs;
}

TEST(Compare, difference_is_the_median_of_all_pairs) {
    // Differences b - a: 9 8 6, 19 18 16, 39 38 36; the median is 18.
    const auto comparison = compare_runs(exactly({1, 2, 4}), exactly({10, 20, 40}));
    EXPECT_EQ(comparison.whole.difference_ns, 18);
    EXPECT_EQ(comparison.whole.a_median_ns, 2);
    EXPECT_EQ(comparison.whole.b_median_ns, 20);
    EXPECT_EQ(compare_runs(exactly({10, 20, 40}), exactly({1, 2, 4})).whole.difference_ns, -18);
    // Three runs on a side are never evidence, so there is no interval that could contradict that.
    EXPECT_FALSE(comparison.whole.evidence);
    EXPECT_FALSE(comparison.whole.interval);
    EXPECT_FALSE(compare_runs(exactly({1}), exactly({1000})).whole.evidence);
}

TEST(Compare, brute_force_agrees) {
    std::mt19937_64 engine(3);
    for (int trial = 0; trial < 50; ++trial) {
        const auto a = lognormal(1 + engine() % 40, 10, 1, engine);
        const auto b = lognormal(1 + engine() % 40, 12, 1, engine);
        std::vector<std::int64_t> differences;
        for (const ComparedRun& from : a) {
            for (const ComparedRun& to : b) {
                differences.push_back(static_cast<std::int64_t>(to.duration_ns - from.duration_ns));
            }
        }
        std::sort(differences.begin(), differences.end());
        EXPECT_EQ(compare_runs(a, b).whole.difference_ns,
                  differences[(differences.size() - 1) / 2]);
    }
}

TEST(Compare, interval_holds_the_truth_as_often_as_it_says) {
    std::mt19937_64 engine(5);
    int held = 0;
    int evidence = 0;
    int false_alarms = 0;
    constexpr int trials = 200;
    for (int trial = 0; trial < trials; ++trial) {
        const auto a = lognormal(30, 10, 0.3, engine);
        auto b = lognormal(30, 10, 0.3, engine);
        false_alarms += compare_runs(a, b).whole.evidence ? 1 : 0;
        for (ComparedRun& run : b) run.duration_ns += 3 * ms;
        const Difference shifted = compare_runs(a, b).whole;
        held += shifted.interval->low_ns <= 3 * ms && shifted.interval->high_ns >= 3 * ms ? 1 : 0;
        evidence += shifted.evidence ? 1 : 0;
    }
    EXPECT_GE(held, trials * 90 / 100);
    EXPECT_LE(held, trials * 99 / 100);
    EXPECT_GE(evidence, trials * 90 / 100);
    EXPECT_LE(false_alarms, trials * 8 / 100);
}

// From the tables of Mann and Whitney for 5 %: the highest U that rejects is 0 for four and four
// runs, 2 for five and five.
TEST(Compare, few_runs_have_the_exact_interval) {
    const auto interval = [](const std::vector<std::uint64_t>& a,
                             const std::vector<std::uint64_t>& b) {
        return compare_runs(exactly(a), exactly(b)).whole.interval;
    };
    // Four and four: all 16 differences, which are above 0; two of 70 orders are as extreme.
    const auto four = interval({1, 2, 3, 4}, {11, 22, 33, 44});
    ASSERT_TRUE(four);
    EXPECT_EQ(four->low_ns, 7);
    EXPECT_EQ(four->high_ns, 43);
    EXPECT_FALSE(interval({1, 2, 3, 4}, {11, 22, 33}));
    EXPECT_TRUE(interval({1, 2, 3, 4, 5}, {11, 22, 33}));
    EXPECT_FALSE(interval({1, 2}, {11, 22, 33, 44, 55, 66, 77}));
    // Five and five: from the third of 25 sorted differences to the third from the end.
    const auto five = interval({0, 1, 2, 3, 4}, {100, 200, 300, 400, 500});
    EXPECT_EQ(five->low_ns, 98);
    EXPECT_EQ(five->high_ns, 498);
}

TEST(Compare, verdict_and_interval_never_contradict_each_other) {
    std::mt19937_64 engine(11);
    for (int trial = 0; trial < 2000; ++trial) {
        const auto a = lognormal(1 + engine() % 12, 10, 0.3, engine);
        const auto b =
            lognormal(1 + engine() % 40, 10 + static_cast<double>(trial % 5), 0.3, engine);
        const Difference difference = compare_runs(a, b).whole;
        const auto& interval = difference.interval;
        EXPECT_EQ(difference.evidence, interval && (interval->low_ns > 0 || interval->high_ns < 0));
        if (!interval) continue;
        EXPECT_LE(interval->low_ns, difference.difference_ns);
        EXPECT_GE(interval->high_ns, difference.difference_ns);
    }
}

TEST(Compare, stages_are_compared_by_name) {
    std::mt19937_64 engine(9);
    auto a = lognormal(40, 30, 0.1, engine);
    auto b = lognormal(40, 50, 0.1, engine);
    for (ComparedRun& run : a)
        run.stages = {{"parse", 10 * ms + run.duration_ns % 1000}, {"load", run.duration_ns}};
    for (ComparedRun& run : b) {
        // "parse" occurs twice, so its sum counts. "draw" is new.
        run.stages = {{"parse", 4 * ms},
                      {"parse", 6 * ms + run.duration_ns % 1000},
                      {"load", run.duration_ns},
                      {"draw", 5}};
    }
    const auto comparison = compare_runs(a, b);
    ASSERT_EQ(comparison.stages.size(), 3);
    EXPECT_EQ(comparison.stages[0].name, "parse");
    EXPECT_FALSE(comparison.stages[0].difference.evidence);
    EXPECT_EQ(comparison.stages[1].name, "load");
    EXPECT_TRUE(comparison.stages[1].difference.evidence);
    EXPECT_NEAR(static_cast<double>(comparison.stages[1].difference.difference_ns), 20e6, 3e6);
    EXPECT_EQ(comparison.stages[2].name, "draw");
    EXPECT_EQ(comparison.stages[2].difference.a_runs, 0);
    EXPECT_FALSE(comparison.stages[2].difference.evidence);
    EXPECT_EQ(comparison.confidence, 0.95);
}

TEST(Compare, extremes_do_no_harm) {
    EXPECT_FALSE(compare_runs({}, {}).whole.evidence);
    const auto same = compare_runs(exactly(std::vector<std::uint64_t>(10, 5)),
                                   exactly(std::vector<std::uint64_t>(10, 5)));
    EXPECT_EQ(same.whole.difference_ns, 0);
    EXPECT_FALSE(same.whole.evidence);
    const auto apart = compare_runs(exactly(std::vector<std::uint64_t>(10, 0)),
                                    exactly(std::vector<std::uint64_t>(10, UINT64_MAX)));
    EXPECT_GT(apart.whole.difference_ns, 0);
    EXPECT_TRUE(apart.whole.evidence);
    std::mt19937_64 engine(1);
    const auto many =
        compare_runs(lognormal(5000, 10, 0.3, engine), lognormal(5000, 11, 0.3, engine));
    EXPECT_EQ(many.whole.a_runs, 5000);
    EXPECT_TRUE(many.whole.evidence);
}

TEST(RankTest, exact_and_approximate_p_are_right) {
    // Five above five: one of 252 arrangements.
    const RankGroup five{{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}};
    EXPECT_NEAR(rank_test({&five, 1}), 1.0 / 252, 0.001);
    RankGroup mixed;
    for (int i = 0; i < 100; ++i) (i % 2 == 0 ? mixed.delayed : mixed.normal).push_back(i);
    EXPECT_NEAR(rank_test({&mixed, 1}), 0.568, 0.001);
    // Hosts are not compared with each other: one is slow, the other fast.
    const RankGroup hosts[] = {{{100, 101, 102}, {100, 101, 102}}, {{1, 2, 3}, {1, 2, 3}}};
    EXPECT_GT(rank_test(hosts), 0.4);
    const RankGroup one_kind{{1, 2, 3}, {}};
    EXPECT_EQ(rank_test({&one_kind, 1}), 1);
    const RankGroup equal{{1, 1, 1}, {1, 1, 1}};
    EXPECT_EQ(rank_test({&equal, 1}), 1);
}

TEST(RankTest, q_values_are_benjamini_and_hochbergs) {
    EXPECT_THAT(
        q_values({0.01, 0.04, 0.03}, 3),
        testing::ElementsAre(testing::DoubleNear(0.03, 1e-9), testing::DoubleNear(0.04, 1e-9),
                             testing::DoubleNear(0.04, 1e-9)));
    EXPECT_THAT(q_values({0.001}, 100), testing::ElementsAre(testing::DoubleNear(0.1, 1e-9)));
}

}  // namespace
}  // namespace lagtrap::server::reports::compare_test
