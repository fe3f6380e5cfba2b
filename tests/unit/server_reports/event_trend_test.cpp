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

TEST(TrendSpan, IsInWholeUnitsWithTheSameTimeBefore) {
    const std::uint64_t now_ns = 100 * day_length_ns + 5 * hour_length_ns + 1;
    // The last 24 hours without times.
    const TrendSpan usual = trend_span(Filter(), now_ns).value();
    EXPECT_EQ(usual.unit, ActivityUnit::Hour);
    EXPECT_EQ(usual.unit_ns, hour_length_ns);
    EXPECT_EQ(usual.to_ns, 100 * day_length_ns + 6 * hour_length_ns);
    EXPECT_EQ(usual.from_ns, usual.to_ns - day_length_ns);
    EXPECT_EQ(usual.before_ns, usual.from_ns - day_length_ns);
    EXPECT_EQ(usual.now_ns, now_ns);
    EXPECT_EQ(usual.units(), 24U);
    EXPECT_EQ(span_of(0, 4 * day_length_ns, now_ns).unit, ActivityUnit::Hour);
    const TrendSpan days = span_of(day_length_ns + 1, 5 * day_length_ns + 2, now_ns);
    EXPECT_EQ(days.unit, ActivityUnit::Day);
    EXPECT_EQ(days.unit_ns, day_length_ns);
    EXPECT_EQ(days.to_ns, 6 * day_length_ns);
    EXPECT_EQ(days.from_ns, day_length_ns);
    EXPECT_EQ(days.before_ns, 0U);
    EXPECT_EQ(days.now_ns, 5 * day_length_ns + 2);
    EXPECT_EQ(days.hours_from_ns, 0U);
    EXPECT_EQ(days.hours_to_ns, 5 * day_length_ns + hour_length_ns);
    EXPECT_TRUE(trend_span(Filter(), 1).ok());
    // A time that has not come ends now.
    EXPECT_EQ(span_of(now_ns, now_ns + day_length_ns, now_ns).now_ns, now_ns);
    Filter filter;
    filter.from_ns = 0;
    filter.to_ns = 400 * day_length_ns;
    EXPECT_TRUE(trend_span(filter, now_ns).ok());
    filter.to_ns = 400 * day_length_ns + 1;
    EXPECT_EQ(trend_span(filter, now_ns).error().message,
              "the time from \"from\" to \"to\" is more than 400 days; choose less");
    filter.from_ns = filter.to_ns;
    EXPECT_EQ(trend_span(filter, now_ns).error().message,
              "\"from\": expected a time before \"to\"");
}

TEST(TrendSpan, ItsQuestionCoversBothPeriods) {
    const TrendSpan span = trend_span(Filter(), 100 * day_length_ns).value();
    Filter filter;
    filter.host = {"web"};
    filter.from_ns = 5;
    const ActivityQuestion question = activity_question(filter, span);
    EXPECT_EQ(question.filter.host, filter.host);
    EXPECT_EQ(question.filter.from_ns, 98 * day_length_ns);
    EXPECT_EQ(question.filter.to_ns, 100 * day_length_ns);
    EXPECT_EQ(question.unit, ActivityUnit::Hour);
    EXPECT_EQ(question.hosts_from_ns, 99 * day_length_ns);
    EXPECT_EQ(question.hourly_from_ns, 85 * day_length_ns);
}

UnitActivity unit_of(std::uint64_t from_ns, std::uint64_t runs, std::uint64_t delays,
                     std::uint64_t duration_ns) {
    UnitActivity unit;
    unit.from_ns = from_ns;
    unit.runs = runs;
    unit.delays = delays;
    unit.durations.add(duration_ns, runs);
    unit.builds = {{"v1", runs - delays, 0}, {"v2", delays, delays}};
    return unit;
}

TEST(EventTrend, HasTheFiguresOfBothPeriods) {
    const std::uint64_t to_ns = 100 * day_length_ns, ms = 1'000'000;
    EventActivity activity;
    activity.event = "open";
    activity.runs_recorded = true;
    activity.last_ns = to_ns - 7;
    activity.hosts = 3;
    activity.delayed_hosts = 2;
    // Two hours each, and one of neither period.
    activity.units = {unit_of(to_ns - 5 * hour_length_ns, 1000, 900, 1),
                      unit_of(to_ns - 4 * hour_length_ns, 30, 3, 10 * ms),
                      unit_of(to_ns - 2 * hour_length_ns, 40, 10, 20 * ms),
                      unit_of(to_ns - hour_length_ns, 60, 15, 20 * ms)};
    const EventTrend trend = trend_of(activity, span_of(to_ns - 2 * hour_length_ns, to_ns, to_ns));
    EXPECT_EQ(trend.event, "open");
    EXPECT_TRUE(trend.runs_recorded);
    EXPECT_EQ(trend.last_ns, to_ns - 7);
    EXPECT_EQ(trend.runs, 100U);
    EXPECT_EQ(trend.delays, 25U);
    EXPECT_EQ(trend.hosts, 3U);
    EXPECT_EQ(trend.delayed_hosts, 2U);
    EXPECT_EQ(trend.builds, 2U);
    EXPECT_EQ(trend.delayed_builds, 1U);
    EXPECT_NEAR(trend.p50.before / ms, 10, 0.2);
    EXPECT_NEAR(trend.p50.now / ms, 20, 0.4);
    EXPECT_NEAR(trend.p99.before / ms, 10, 0.2);
    EXPECT_NEAR(trend.p99.now / ms, 20, 0.4);
    EXPECT_DOUBLE_EQ(trend.delay_share.before, 0.1);
    EXPECT_DOUBLE_EQ(trend.delay_share.now, 0.25);
    ASSERT_EQ(trend.units.size(), 4U);
    const std::vector<std::uint64_t> runs{30, 0, 40, 60}, delays{3, 0, 10, 15};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(trend.units[i].from_ns, to_ns - (4 - i) * hour_length_ns);
        EXPECT_EQ(trend.units[i].runs, runs[i]);
        EXPECT_EQ(trend.units[i].delays, delays[i]);
    }
    // Delays alone are counted by unit.
    activity.runs_recorded = false;
    const EventTrend alone = trend_of(activity, span_of(to_ns - 2 * hour_length_ns, to_ns, to_ns));
    EXPECT_DOUBLE_EQ(alone.delay_share.before, 1.5);
    EXPECT_DOUBLE_EQ(alone.delay_share.now, 12.5);
    EXPECT_FALSE(alone.p50.p_value);
}

TEST(EventTrend, HasAWordForEachVerdictAndFigure) {
    EXPECT_EQ(verdict_name(Verdict::Worse), "worse");
    EXPECT_EQ(verdict_name(Verdict::Unchanged), "unchanged");
    EXPECT_EQ(verdict_name(Verdict::Better), "better");
    EXPECT_EQ(verdict_name(Verdict::Untested), "untested");
    EXPECT_EQ(figure_name(Figure::P50), "p50");
    EXPECT_EQ(figure_name(Figure::P99), "p99");
    EXPECT_EQ(figure_name(Figure::Delays), "delays");
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

// Six of 21 hosts: all delays together say little, the build's own delays much.
TEST(EventTrend, FindsChangesOnFewHosts) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ChangeSimulation simulation;
        simulation.seed = seed;
        simulation.age_days = 2;
        simulation.history_days = 7.5;
        simulation.hosts = "ams-";
        const SimulatedEvent event(simulation);
        right += mistakes_of(answer_about(event, 1), event, true).empty() ? 1 : 0;
    }
    EXPECT_GE(right, 19);
}

// The hosts with the new build always had more delays.
TEST(EventTrend, ABuildOnSlowHostsIsNoRegression) {
    int silent = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ChangeSimulation simulation;
        simulation.seed = seed;
        simulation.planted = false;
        simulation.age_days = 2;
        simulation.hosts = "ams-";
        simulation.host_deviation = 0.5;
        const SimulatedEvent event(simulation);
        silent += mistakes_of(answer_about(event, 1), event, false).empty() ? 1 : 0;
    }
    EXPECT_GE(silent, 19);
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

// Its delays differ by this factor between both periods.
EventTrend trend_of_delays(std::uint64_t delays, double before, double now) {
    EventTrend trend;
    trend.runs_recorded = true;
    trend.runs = 100;
    trend.delays = delays;
    trend.delay_share.before = before;
    trend.delay_share.now = now;
    trend.delay_share.p_value = 0.001;
    return trend;
}

TEST(EventTrend, DelaysDifferByAQuarterAndAreAtLeastFive) {
    EXPECT_EQ(verdict_of(trend_of_delays(5, 0.04, 0.05)), Verdict::Worse);
    EXPECT_EQ(verdict_of(trend_of_delays(5, 0.041, 0.05)), Verdict::Unchanged);
    EXPECT_EQ(verdict_of(trend_of_delays(4, 0.02, 0.04)), Verdict::Unchanged);
    EXPECT_EQ(verdict_of(trend_of_delays(4, 0.05, 0.04)), Verdict::Better);
    EventTrend fresh = trend_of_delays(5, 0, 0.05);
    std::vector<EventTrend> trends{fresh};
    judge_trends(trends);
    EXPECT_EQ(trends[0].verdict, Verdict::Worse);
    EXPECT_FALSE(trends[0].factor);
    EXPECT_DOUBLE_EQ(*trends[0].delay_share.q_value, 0.001);
    // Worse in one figure counts more than better in another, and the larger factor counts.
    EventTrend both = trend_with(100, 50, 0.001);
    both.p99 = trend_with(100, 150, 0.001).p50;
    trends = {both};
    judge_trends(trends);
    EXPECT_EQ(trends[0].verdict, Verdict::Worse);
    EXPECT_DOUBLE_EQ(*trends[0].factor, 1.5);
    both.p99 = trend_with(100, 80, 0.001).p50;
    trends = {both};
    judge_trends(trends);
    EXPECT_EQ(trends[0].verdict, Verdict::Better);
    EXPECT_DOUBLE_EQ(*trends[0].factor, 0.5);
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
