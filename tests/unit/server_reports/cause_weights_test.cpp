#include "server/reports/cause_weights.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::server::reports::cause_weights_test {
namespace {

class CauseWeights : public testing::Test {
  protected:
    // Runs of a host, each with this value.
    void add(const std::string& host, bool delayed, std::size_t count, double value) {
        analysis::RunProfile profile;
        profile.duration_ns = 1;
        profile.frames.push_back({"work", "/usr/bin/app", false});
        profile.nodes.push_back({0, 0});
        profile.entries.push_back({1, {{analysis::TimeKind::OnCpu, 0, 0, 1}}});
        ProfiledRun run;
        run.delayed = delayed;
        run.host = host;
        for (std::size_t i = 0; i < count; ++i) {
            first_.try_emplace({host, delayed}, static_cast<std::uint32_t>(values_.size()));
            values_.push_back(value);
            tree_.add(run, profile);
        }
        ASSERT_EQ(tree_.runs().size(), values_.size());
    }
    [[nodiscard]] double weight_of(const std::string& host, bool delayed) const {
        return weigh_runs(tree_).of_run[first_.at({host, delayed})];
    }
    // What a delayed run of the host has more than usual.
    [[nodiscard]] double excess_of(const std::string& host) const {
        return Excess(tree_, weigh_runs(tree_), values_).of(first_.at({host, true}));
    }
    [[nodiscard]] double sum_of_weights() const {
        double sum = 0;
        for (const double weight : weigh_runs(tree_).of_run) sum += weight;
        return sum;
    }

    CauseTree tree_{1000, 100'000};
    std::vector<double> values_;
    std::map<std::pair<std::string, bool>, std::uint32_t> first_;
};

TEST_F(CauseWeights, NormalRunsBalanceTheDelayedOnesOfTheirHost) {
    add("a", true, 2, 0);
    add("a", false, 4, 0);
    add("b", false, 10, 0);
    EXPECT_DOUBLE_EQ(weight_of("a", true), 1);
    EXPECT_DOUBLE_EQ(weight_of("a", false), -0.5);
    EXPECT_DOUBLE_EQ(weight_of("b", false), 0);
    EXPECT_NEAR(sum_of_weights(), 0, 1e-9);
}

TEST_F(CauseWeights, WithLessThanThreeNormalRunsAllHostsBalanceThem) {
    add("a", true, 2, 0);
    add("a", false, 2, 0);
    add("b", false, 6, 0);
    EXPECT_DOUBLE_EQ(weight_of("a", false), -0.25) << "2 delayed runs over 8 normal ones";
    EXPECT_DOUBLE_EQ(weight_of("b", false), -0.25);
    add("a", false, 1, 0);
    EXPECT_DOUBLE_EQ(weight_of("a", false), -2.0 / 3) << "three are enough";
    EXPECT_DOUBLE_EQ(weight_of("b", false), 0);
}

TEST_F(CauseWeights, ManyRunsOfAHostWeighAsMuchAsTwenty) {
    add("a", true, 20, 0);
    EXPECT_DOUBLE_EQ(weight_of("a", true), 1);
    add("a", true, 20, 0);
    EXPECT_DOUBLE_EQ(weight_of("a", true), 0.5);
    EXPECT_DOUBLE_EQ(weigh_runs(tree_).delayed_sum, 20);
    EXPECT_EQ(weigh_runs(tree_).delayed, 40U);
    EXPECT_EQ(weigh_runs(tree_).normal, 0U);
}

TEST_F(CauseWeights, WhatIsUsualIsThatOfTheHostIfItHasThreeNormalRuns) {
    add("a", true, 1, 500);
    add("a", false, 3, 100);
    add("b", false, 3, 300);
    EXPECT_DOUBLE_EQ(excess_of("a"), 400);
    add("c", true, 1, 500);
    add("c", false, 2, 900);
    EXPECT_DOUBLE_EQ(excess_of("c"), 500 - (3 * 100 + 3 * 300 + 2 * 900) / 8.0);
}

TEST_F(CauseWeights, AHostWithManyNormalRunsDoesNotDecideAlone) {
    add("many", false, 1000, 100);
    add("few", false, 20, 200);
    add("none", true, 1, 500);
    EXPECT_DOUBLE_EQ(excess_of("none"), 350) << "both hosts count alike";
}

TEST_F(CauseWeights, NearlyAllNormalRunsStayBelowTheirBound) {
    add("a", true, 1, 500);
    add("a", false, 100, 100);
    const Excess even(tree_, weigh_runs(tree_), values_);
    EXPECT_DOUBLE_EQ(even.of_normal_runs(), 0);
    add("b", false, 1, 150);
    add("c", false, 1, 250);
    add("d", false, 1, 350);
    const Excess excess(tree_, weigh_runs(tree_), values_);
    EXPECT_DOUBLE_EQ(excess.of_normal_runs(), 150 - (20 * 100 + 150 + 250 + 350) / 23.0)
        << "two of 103 exceed it";
    EXPECT_DOUBLE_EQ(excess.value(0), 500);
}

}  // namespace
}  // namespace lagtrap::server::reports::cause_weights_test
