#include "daemon/events/early_watch.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::early_watch_test {
namespace {

using namespace std::chrono_literals;
using Action = EarlyWatch::Action;

constexpr std::uint64_t second = 1'000'000'000;

class Watched : public testing::Test {
  protected:
    static settings::Settings settings() {
        settings::Settings settings;
        settings.events.emplace_back().threshold = 100ms;
        return settings;
    }
};

TEST_F(Watched, BeginsWithTheFirstAndEndsWithTheLast) {
    EarlyWatch watch(settings());
    EXPECT_EQ(watch.take_look(0, true, 1 * second), Action::None);
    EXPECT_EQ(watch.take_look(7, true, 2 * second), Action::Begin);
    EXPECT_EQ(watch.take_look(8, true, 2 * second + 20'000'000), Action::None);
    EXPECT_TRUE(watch.is_on());
    EXPECT_EQ(watch.take_look(0, true, 2 * second + 40'000'000), Action::Discard);
    const EarlyCounts counts = watch.counts(3 * second);
    EXPECT_EQ(counts.begun, 1U);
    EXPECT_EQ(counts.dropped, 1U);
    EXPECT_EQ(counts.kept, 0U);
    EXPECT_EQ(counts.time_ns, 40'000'000U);
}

TEST_F(Watched, AnUnknownThresholdHasNoPoint) {
    settings::Settings of_runs = settings();
    of_runs.events.emplace_back().threshold = settings::max_threshold;
    of_runs.events.back().threshold_rule = settings::ThresholdRule{};
    EarlyWatch watch(of_runs);
    EXPECT_NE(watch.points_ns()[0], LAGTRAP_NEVER_NS);
    EXPECT_EQ(watch.points_ns()[1], LAGTRAP_NEVER_NS);
    EXPECT_EQ(watch.look_interval_ns(), 20'000'000U);
    watch.set_threshold(1, 50ms);
    EXPECT_EQ(watch.points_ns()[1], 50'000'000U / 16);
    EXPECT_EQ(watch.look_interval_ns(), 10'000'000U);
    watch.set_threshold(1, 10s);
    EXPECT_EQ(watch.points_ns()[1], 10 * second / 16);
    watch.set_threshold(1, settings::max_threshold);
    EXPECT_EQ(watch.points_ns()[1], LAGTRAP_NEVER_NS);
}

TEST_F(Watched, LearnsFromTheRunsOnlyNowAndThen) {
    EarlyWatch watch(settings());
    int read = 0;
    const auto counts_of = [&](std::uint32_t) {
        ++read;
        return std::optional<EarlyPoints::Histogram>{};
    };
    (void)watch.learn(3'600 * second, counts_of);
    EXPECT_EQ(read, 1);
    (void)watch.learn(3'600 * second + 1, counts_of);
    EXPECT_EQ(read, 1);
    (void)watch.learn(7'200 * second, counts_of);
    EXPECT_EQ(read, 2);
}

TEST_F(Watched, ABreachKeepsIt) {
    EarlyWatch watch(settings());
    EXPECT_EQ(watch.take_look(7, true, 2 * second), Action::Begin);
    watch.take_breach(2 * second + 50'000'000);
    EXPECT_EQ(watch.take_look(0, false, 2 * second + 60'000'000), Action::None);
    EXPECT_EQ(watch.counts(3 * second).kept, 1U);
}

TEST_F(Watched, NothingBeginsWhereNoBreachIsWanted) {
    EarlyWatch watch(settings());
    EXPECT_EQ(watch.take_look(7, false, 2 * second), Action::None);
    EXPECT_EQ(watch.take_look(7, true, 3 * second), Action::Begin);
    EXPECT_EQ(watch.take_look(7, false, 3 * second + 10'000'000), Action::Discard)
        << "recordings are not wanted any more";
}

TEST_F(Watched, WhatOutgrewItsMemoryDoesNotBeginAgain) {
    EarlyWatch watch(settings());
    EXPECT_EQ(watch.take_look(7, true, 2 * second), Action::Begin);
    watch.outgrow(3 * second);
    EXPECT_EQ(watch.take_look(7, true, 4 * second), Action::None);
    EXPECT_EQ(watch.take_look(0, true, 5 * second), Action::None);
    EXPECT_EQ(watch.take_look(9, true, 6 * second), Action::Begin);
    EXPECT_EQ(watch.counts(6 * second).outgrown, 1U);
}

TEST_F(Watched, IsHeldBackOnceByTheRunsThatUsedItUp) {
    EarlyWatch watch(settings());
    std::uint64_t now_ns = second;
    for (int i = 0; i < 100 && watch.counts(now_ns).held_back == 0; ++i) {
        (void)watch.take_look(7, true, now_ns);
        (void)watch.take_look(7, true, now_ns += 500'000'000);
        (void)watch.take_look(0, true, now_ns += 1);
    }
    const EarlyCounts counts = watch.counts(now_ns);
    EXPECT_EQ(counts.held_back, 1U);
    EXPECT_LT(counts.time_ns, 3 * second);
}

}  // namespace
}  // namespace lagtrap::daemon::early_watch_test
