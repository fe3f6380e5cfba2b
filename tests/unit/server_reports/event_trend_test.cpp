#include "server/reports/event_trend.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_reports/change_simulation.hpp"

namespace lagtrap::server::reports::event_trend_test {
namespace {

using test::answer_about;
using test::ChangeSimulation;
using test::mistakes_of;
using test::SimulatedEvent;

TrendSpan span_of(std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t now_ns) {
    Filter filter;
    filter.from_ns = from_ns;
    filter.to_ns = to_ns;
    return trend_span(filter, now_ns).value();
}

TEST(TrendSpan, HoursAreSearchedUpToNowWhateverTheUnit) {
    const std::uint64_t now_ns = 100 * day_length_ns + 5 * hour_length_ns + 1;
    const TrendSpan week = span_of(now_ns - 7 * day_length_ns, now_ns, now_ns);
    EXPECT_EQ(week.unit, ActivityUnit::Day);
    EXPECT_EQ(week.to_ns, 101 * day_length_ns);
    EXPECT_EQ(week.hours_to_ns, 100 * day_length_ns + 6 * hour_length_ns);
    EXPECT_EQ(week.hours_from_ns, week.hours_to_ns - 15 * day_length_ns);
    const TrendSpan past = span_of(50 * day_length_ns, 51 * day_length_ns, now_ns);
    EXPECT_EQ(past.unit, ActivityUnit::Hour);
    EXPECT_EQ(past.hours_to_ns, 51 * day_length_ns);
    Filter filter;
    filter.from_ns = filter.to_ns = 5;
    EXPECT_FALSE(trend_span(filter, now_ns).ok());
    filter.from_ns = 0;
    filter.to_ns = 401 * day_length_ns;
    EXPECT_FALSE(trend_span(filter, now_ns).ok());
}

// bench/changes_bench.cpp asks about 100 seeds.
TEST(EventTrend, ARegressionOnSomeHostsIsDatedAndExplainedOverAnySpan) {
    for (const double age_days : {1.0, 3.0, 6.0}) {
        ChangeSimulation simulation;
        simulation.age_days = age_days;
        simulation.history_days = age_days == 3 ? 7.5 : 20;
        const SimulatedEvent event(simulation);
        for (const std::uint64_t days : {1, 7, 30}) {
            const auto answer = answer_about(event, days);
            EXPECT_EQ(mistakes_of(answer, event, true), "")
                << age_days << " days old, over " << days;
            EXPECT_TRUE(answer.trend.lasting && answer.trend.lasting->from_first_run);
            EXPECT_EQ(answer.hosts.pattern, "fra-*");
        }
    }
}

TEST(EventTrend, ABuildThatChangesNothingIsNoRegression) {
    ChangeSimulation simulation;
    simulation.planted = false;
    simulation.age_days = 2;
    const SimulatedEvent event(simulation);
    for (const std::uint64_t days : {1, 7, 30})
        EXPECT_EQ(mistakes_of(answer_about(event, days), event, false), "");
}

EventActivity of_delays_alone(std::uint64_t first_ns, std::uint64_t now_ns) {
    EventActivity activity;
    for (std::uint64_t at_ns = first_ns; at_ns < now_ns; at_ns += hour_length_ns) {
        UnitActivity unit;
        unit.from_ns = at_ns;
        unit.runs = unit.delays = at_ns + 20 * hour_length_ns < now_ns ? 2 : 9;
        unit.durations.add(5'000'000, unit.runs);
        activity.units.push_back(unit);
    }
    activity.hours = activity.units;
    return activity;
}

TEST(EventTrend, DelaysAloneAreCountedByHour) {
    const std::uint64_t now_ns = 100 * day_length_ns;
    const TrendSpan span = span_of(now_ns - day_length_ns, now_ns, now_ns);
    std::vector<EventTrend> trends{
        trend_of(of_delays_alone(now_ns - 3 * day_length_ns, now_ns), span)};
    judge_trends(trends);
    EXPECT_EQ(trends[0].verdict, Verdict::Worse);
    ASSERT_TRUE(trends[0].lasting);
    EXPECT_EQ(trends[0].lasting->step.from_ns, now_ns - 20 * hour_length_ns);
    EXPECT_DOUBLE_EQ(trends[0].lasting->step.before, 2);
    EXPECT_DOUBLE_EQ(trends[0].lasting->step.after, 9);
    EXPECT_DOUBLE_EQ(*trends[0].factor, 4.5);
}

TEST(EventTrend, FromZeroThereIsNoFactor) {
    const std::uint64_t now_ns = 100 * day_length_ns;
    EventActivity activity;
    activity.runs_recorded = true;
    for (std::uint64_t at_ns = now_ns - 4 * day_length_ns; at_ns < now_ns;
         at_ns += hour_length_ns) {
        UnitActivity unit;
        unit.from_ns = at_ns;
        unit.runs = 100;
        unit.delays = at_ns + 20 * hour_length_ns < now_ns ? 0 : 5;
        unit.durations.add(5'000'000, unit.runs);
        activity.hours.push_back(unit);
        if (at_ns + 2 * day_length_ns >= now_ns) activity.units.push_back(unit);
    }
    std::vector<EventTrend> trends{
        trend_of(activity, span_of(now_ns - day_length_ns, now_ns, now_ns))};
    judge_trends(trends);
    EXPECT_EQ(trends[0].verdict, Verdict::Worse);
    EXPECT_FALSE(trends[0].factor.has_value());
    EventActivity none;
    none.runs_recorded = true;
    std::vector<EventTrend> nothing{trend_of(none, span_of(0, day_length_ns, day_length_ns))};
    judge_trends(nothing);
    EXPECT_EQ(nothing[0].verdict, Verdict::Untested);
}

EventTrend trend_with(double before_ns, double now_ns, double p_value) {
    EventTrend trend;
    trend.p50.before = before_ns;
    trend.p50.now = now_ns;
    trend.p50.p_value = p_value;
    return trend;
}

Verdict verdict_of(const EventTrend& trend) {
    std::vector<EventTrend> trends{trend};
    judge_trends(trends);
    return trends[0].verdict;
}

TEST(EventTrend, PeriodsDifferSignificantlyAndByATenth) {
    EXPECT_EQ(verdict_of(trend_with(100, 150, 0.01)), Verdict::Worse);
    EXPECT_EQ(verdict_of(trend_with(100, 150, 0.05)), Verdict::Worse);
    EXPECT_EQ(verdict_of(trend_with(100, 150, 0.051)), Verdict::Unchanged);
    EXPECT_EQ(verdict_of(trend_with(100, 110, 0.01)), Verdict::Worse);
    EXPECT_EQ(verdict_of(trend_with(100, 109, 0.01)), Verdict::Unchanged);
    EXPECT_EQ(verdict_of(trend_with(110, 100, 0.01)), Verdict::Better);
    EXPECT_EQ(verdict_of(trend_with(109, 100, 0.01)), Verdict::Unchanged);
    EXPECT_EQ(verdict_of({}), Verdict::Untested);
    EventTrend covered = trend_with(100, 150, 0.01);
    covered.covers_periods = covered.searched = true;
    EXPECT_EQ(verdict_of(covered), Verdict::Unchanged) << "its hours decide";
}

// One of a hundred has such a p-value by chance.
TEST(EventTrend, OfManyEventsChanceMakesNoneWorse) {
    std::vector<EventTrend> trends(100, trend_with(100, 150, 0.5));
    trends[7] = trend_with(100, 150, 0.01);
    judge_trends(trends);
    for (const EventTrend& trend : trends) EXPECT_EQ(trend.verdict, Verdict::Unchanged);
    trends[7] = trend_with(100, 150, 0.0001);
    judge_trends(trends);
    EXPECT_EQ(trends[7].verdict, Verdict::Worse);
    EXPECT_EQ(trends[8].verdict, Verdict::Unchanged);
}

}  // namespace
}  // namespace lagtrap::server::reports::event_trend_test
