#include "server/reports/rank_test.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::server::reports::rank_test_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

double p_of(const std::vector<RankGroup>& groups) { return rank_test(groups); }
double counted(const std::vector<CountGroup>& groups) { return count_test(groups); }

TEST(Ranks, OnlyLargerValuesInDelayedRunsCount) {
    EXPECT_LT(p_of({{{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}}}), 0.01);
    EXPECT_GT(p_of({{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}}), 0.99);
}

TEST(Ranks, AGroupOfOneKindIsLeftOut) {
    const RankGroup both{{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}};
    const double alone = p_of({both});
    EXPECT_DOUBLE_EQ(p_of({{{100, 200}, {}}, both, {{}, {0, 300}}}), alone);
    EXPECT_EQ(p_of({{{1}, {}}, {{}, {1}}}), 1);
    EXPECT_EQ(p_of({}), 1);
}

// Three of three below 1, three of three above 1001: without the group's mean, no arrangement of
// the first group's labels would change an order.
TEST(Ranks, GroupsAreAlignedByTheirMeans) {
    EXPECT_NEAR(p_of({{{4, 5, 6}, {1, 2, 3}}, {{1004, 1005, 1006}, {1001, 1002, 1003}}}), 1.0 / 400,
                0.0015);
}

TEST(Ranks, EqualValuesShareTheirRank) {
    // Ranks 2, 2, 2 and 4: the delayed run has the largest in one of four arrangements.
    EXPECT_NEAR(p_of({{{9}, {5, 5, 5}}}), 0.25, 0.01);
    EXPECT_NEAR(p_of({{{5}, {5, 5, 9}}}), 1, 1e-9);
    EXPECT_NEAR(p_of({{{9, 9}, {5, 5}}}), 1.0 / 6, 0.01);
}

// 30 and 31 values of each kind: permutations and the normal approximation say nearly the same.
TEST(Ranks, TheApproximationOfManyValuesFitsThePermutations) {
    const auto p_of_pairs = [](int pairs) {
        RankGroup group;
        for (int i = 0; i < pairs; ++i) {
            group.delayed.push_back(i * 10 + 15);
            group.normal.push_back(i * 10);
        }
        return p_of({group});
    };
    EXPECT_NEAR(p_of_pairs(30), 0.245, 0.02);
    EXPECT_NEAR(p_of_pairs(31), p_of_pairs(30), 0.02);
    const RankGroup equal{std::vector<double>(31, 5), std::vector<double>(31, 5)};
    EXPECT_EQ(p_of({equal}), 1) << "nothing varies";
}

TEST(CountTest, EachGroupHasItsOwnBounds) {
    // All of the first group is above, so that only the second tells: one of 70.
    EXPECT_NEAR(counted({{4, 4, 4, 4}, {4, 4, 4, 0}}), 1.0 / 70, 1e-12);
    // More above than normal runs: at least two of three delayed ones are, whatever they are.
    EXPECT_NEAR(counted({{3, 2, 3, 1}}), 2.0 / 5, 1e-12);
    EXPECT_NEAR(counted({{1, 1, 1, 0}}), 0.5, 1e-12);
    EXPECT_EQ(counted({{4, 4, 2, 2}}), 1) << "as many as expected";
}

TEST(CountTest, LargeCountsAreApproximatedWithAHalfTowardsTheMean) {
    // 1,000 of 2,000 are above; the variance is 1000 * 1000 * 1000 * 1000 / (4e6 * 1999) = 125.06.
    const double variance = 1000.0 * 1000 * 1000 * 1000 / (2000.0 * 2000 * 1999);
    EXPECT_NEAR(counted({{1000, 1000, 520, 480}}), 0.5 * std::erfc(19.5 / std::sqrt(2 * variance)),
                1e-12);
}

TEST(QValues, StandWhereTheirPValuesStand) {
    EXPECT_THAT(q_values({0.5, 0.001, 0.02}, 10),
                ElementsAre(DoubleNear(1, 1e-9), DoubleNear(0.01, 1e-9), DoubleNear(0.1, 1e-9)));
    EXPECT_THAT(q_values({0.9, 0.02}, 1),
                ElementsAre(DoubleNear(0.9, 1e-9), DoubleNear(0.04, 1e-9)))
        << "there are at least as many tests as values";
    EXPECT_THAT(q_values({}, 5), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::reports::rank_test_test
