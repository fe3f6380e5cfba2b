#include "daemon/events/early_points.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::early_points_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t millisecond = 1'000'000;

// Reports `count` runs per second of one duration, for a minute.
void run(EarlyPoints& points, std::size_t event, std::uint64_t duration_ns, std::uint64_t count,
         EarlyPoints::Histogram counted = {}) {
    for (std::uint64_t at = 1; at <= 60; ++at) {
        points.learn(event, counted, at * second);
        counted[lagtrap_histogram_bucket(duration_ns)] += count;
    }
    points.choose();
}

TEST(EarlyPoints, are_the_smallest_before_anything_is_known) {
    const EarlyPoints points({320ms, 10ms, 2ms, 1ms}, 20'000);
    EXPECT_EQ(points.points_ns()[0], 20 * millisecond);
    EXPECT_EQ(points.points_ns()[1], 2 * millisecond);
    EXPECT_EQ(points.points_ns()[2], LAGTRAP_NEVER_NS);  // the breach itself comes as soon
    EXPECT_EQ(points.points_ns()[3], LAGTRAP_NEVER_NS);
}

TEST(EarlyPoints, are_none_without_a_share) {
    EXPECT_EQ(EarlyPoints({1s}, 0).points_ns()[0], LAGTRAP_NEVER_NS);
}

TEST(EarlyPoints, short_runs_do_not_matter_however_many) {
    EarlyPoints points({100ms}, 20'000);
    run(points, 0, 1 * millisecond, 1'000'000);
    EXPECT_EQ(points.points_ns()[0], 6'250'000);
}

TEST(EarlyPoints, lie_above_what_many_runs_take) {
    EarlyPoints points({100ms}, 20'000);
    run(points, 0, 30 * millisecond, 100);
    EXPECT_GT(points.points_ns()[0], 30 * millisecond);
    EXPECT_LT(points.points_ns()[0], 60 * millisecond);
}

TEST(EarlyPoints, go_down_to_what_few_runs_take) {
    EarlyPoints points({100ms}, 20'000);
    // Each costs about 30 ms, so one every three seconds takes 1 %.
    EarlyPoints::Histogram counted{};
    for (std::uint64_t at = 1; at <= 60; ++at) {
        points.learn(0, counted, at * second);
        if (at % 3 == 0) ++counted[lagtrap_histogram_bucket(30 * millisecond)];
    }
    points.choose();
    EXPECT_EQ(points.points_ns()[0], 6'250'000);
}

TEST(EarlyPoints, are_none_where_all_runs_come_near_the_threshold) {
    EarlyPoints points({100ms}, 20'000);
    run(points, 0, 99 * millisecond, 10);
    EXPECT_EQ(points.points_ns()[0], LAGTRAP_NEVER_NS);
}

TEST(EarlyPoints, events_that_need_little_leave_the_rest_to_others) {
    EarlyPoints alone({100ms}, 20'000);
    run(alone, 0, 30 * millisecond, 1);
    EarlyPoints shared({100ms, 100ms, 100ms}, 20'000);
    for (const std::size_t event : {0U, 2U}) run(shared, event, 1 * millisecond, 1000);
    run(shared, 1, 30 * millisecond, 1);
    EXPECT_EQ(shared.points_ns()[1], alone.points_ns()[0]);
    EXPECT_EQ(shared.points_ns()[0], 6'250'000);
}

TEST(EarlyPoints, events_do_not_spend_what_another_took) {
    EarlyPoints alone({100ms}, 20'000), shared({100ms, 100ms}, 20'000);
    // Runs of the first event take somewhat less than half of the share, those of the second more.
    EarlyPoints::Histogram few{}, more{};
    for (std::uint64_t at = 1; at <= 60; ++at) {
        shared.learn(0, few, at * second);
        shared.learn(1, more, at * second);
        alone.learn(0, more, at * second);
        few[lagtrap_histogram_bucket(30 * millisecond)] += at % 4 == 0 ? 1 : 0;
        more[lagtrap_histogram_bucket(30 * millisecond)] += at % 2 == 0 ? 1 : 0;
    }
    alone.choose();
    shared.choose();
    EXPECT_EQ(alone.points_ns()[0], 6'250'000);
    EXPECT_EQ(shared.points_ns()[0], 6'250'000);
    EXPECT_GT(shared.points_ns()[1], 6'250'000);
}

TEST(EarlyPoints, follow_what_changes) {
    EarlyPoints points({100ms}, 20'000);
    run(points, 0, 30 * millisecond, 100);
    const std::uint64_t before_ns = points.points_ns()[0];
    EarlyPoints::Histogram counted{};
    counted[lagtrap_histogram_bucket(30 * millisecond)] = 6000;
    for (std::uint64_t at = 61; at <= 3000; ++at) points.learn(0, counted, at * second);
    points.choose();
    EXPECT_LT(points.points_ns()[0], before_ns);
}

TEST(EarlyBudget, saves_up_and_runs_out) {
    EarlyBudget budget(20'000, 1s);
    EXPECT_TRUE(budget.has_room(second));
    budget.pay(3 * second);
    EXPECT_FALSE(budget.has_room(2 * second));
    EXPECT_FALSE(budget.has_room(50 * second));
    EXPECT_TRUE(budget.has_room(60 * second));
    // At most two seconds can be saved up.
    EXPECT_TRUE(budget.has_room(100'000 * second));
    budget.pay(2 * second);
    EXPECT_FALSE(budget.has_room(100'000 * second));
}

}  // namespace
}  // namespace lagtrap::daemon::early_points_test
