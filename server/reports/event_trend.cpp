#include "server/reports/event_trend.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace lagtrap::server::reports {
namespace {

constexpr std::uint64_t hours_until_ns = 4 * day_length_ns;
// Two weeks, because a change must differ from the week before, and a day.
constexpr std::uint64_t hours_searched_ns = 15 * day_length_ns;
constexpr std::uint64_t max_span_ns = 400 * day_length_ns;
// With fewer runs, a unit's p99 is nearly its maximum.
constexpr std::uint64_t runs_for_p99 = 50;
constexpr std::uint64_t runs_for_p50 = 5;

constexpr double highest_q = 0.05;
constexpr double min_factor = 1.1;
constexpr double min_delay_factor = 1.25;
constexpr std::uint64_t min_delays = 5;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

struct TrendStretch {
    Sketch durations;
    std::uint64_t runs = 0, delays = 0;
    std::map<std::string, BuildActivity> builds;
};

TrendStretch stretch_of(const EventActivity& activity, std::uint64_t from_ns, std::uint64_t to_ns) {
    TrendStretch stretch;
    for (const UnitActivity& unit : activity.units) {
        if (unit.from_ns < from_ns || unit.from_ns >= to_ns) continue;
        stretch.durations.merge(unit.durations);
        stretch.runs += unit.runs;
        stretch.delays += unit.delays;
        for (const BuildActivity& build : unit.builds) {
            stretch.builds[build.build].runs += build.runs;
            stretch.builds[build.build].delays += build.delays;
        }
    }
    return stretch;
}

std::optional<double> test_shares(const EventActivity& activity, const TrendSpan& span,
                                  const std::function<UnitShare(const UnitActivity&)>& share_of) {
    std::vector<UnitShare> before, now;
    for (const UnitActivity& unit : activity.units)
        (unit.from_ns < span.from_ns ? before : now).push_back(share_of(unit));
    // If runs are recorded, a unit without runs is missing data. If only delays are, it means zero
    // delays.
    if (!activity.runs_recorded) {
        before.resize(span.units(), {1, 0});
        now.resize(span.units(), {1, 0});
    }
    return share_test(before, now);
}

Measure measure_quantile(const EventActivity& activity, const TrendSpan& span,
                         const TrendStretch& before, const TrendStretch& now, double quantile) {
    Measure measure;
    measure.before = static_cast<double>(before.durations.quantile_ns(quantile));
    measure.now = static_cast<double>(now.durations.quantile_ns(quantile));
    if (!activity.runs_recorded || before.runs == 0 || now.runs == 0) return measure;
    const auto bound_ns = before.durations.quantile_ns(quantile);
    measure.p_value = test_shares(activity, span, [&](const UnitActivity& unit) {
        return UnitShare{static_cast<double>(unit.runs),
                         static_cast<double>(unit.durations.count_above(bound_ns))};
    });
    return measure;
}

Measure measure_delays(const EventActivity& activity, const TrendSpan& span,
                       const TrendStretch& before, const TrendStretch& now) {
    Measure measure;
    const auto units = static_cast<double>(span.units());
    const auto share = [&](const TrendStretch& stretch) {
        const double of = activity.runs_recorded
                              ? static_cast<double>(std::max<std::uint64_t>(stretch.runs, 1))
                              : units;
        return static_cast<double>(stretch.delays) / of;
    };
    measure.before = share(before);
    measure.now = share(now);
    measure.p_value = test_shares(activity, span, [&](const UnitActivity& unit) {
        return UnitShare{activity.runs_recorded ? static_cast<double>(unit.runs) : 1,
                         static_cast<double>(unit.delays)};
    });
    return measure;
}

// With fewer known hours, changes of level are not searched: both sides need some.
constexpr std::size_t hours_needed = 8;
// From this number of known hours on, changes of level say more than the comparison of two periods.
constexpr std::size_t hours_trusted = 96;

HistoryUnit history_unit(const UnitActivity& unit) {
    HistoryUnit made;
    made.from_ns = unit.from_ns;
    made.runs = static_cast<double>(unit.runs);
    made.delays = static_cast<double>(unit.delays);
    if (unit.runs >= runs_for_p50)
        made.p50_ns = static_cast<double>(unit.durations.quantile_ns(0.5));
    if (unit.runs >= runs_for_p99)
        made.p99_ns = static_cast<double>(unit.durations.quantile_ns(0.99));
    for (const BuildActivity& build : unit.builds)
        made.builds.push_back(
            {build.build, static_cast<double>(build.runs), static_cast<double>(build.delays)});
    return made;
}

// The units from the first with runs to the end, without gaps.
History history_of(const std::vector<UnitActivity>& units, bool runs_recorded,
                   std::uint64_t unit_ns, std::uint64_t end_ns) {
    History history;
    history.unit_ns = unit_ns;
    history.runs_recorded = runs_recorded;
    if (units.empty()) return history;
    for (std::uint64_t at_ns = units.front().from_ns; at_ns < end_ns; at_ns += unit_ns)
        history.units.emplace_back().from_ns = at_ns;
    for (const UnitActivity& unit : units) {
        const auto place =
            static_cast<std::size_t>((unit.from_ns - units.front().from_ns) / unit_ns);
        if (place < history.units.size()) history.units[place] = history_unit(unit);
    }
    if (runs_recorded) return history;
    // A unit without delays has zero. The last may not have passed completely.
    for (HistoryUnit& unit : history.units) {
        unit.runs = static_cast<double>(std::min(unit_ns, end_ns - unit.from_ns)) /
                    static_cast<double>(hour_length_ns);
        unit.p50_ns = unit.p99_ns = 0;
    }
    return history;
}

std::size_t known_units(const History& history) {
    return static_cast<std::size_t>(std::count_if(history.units.begin(), history.units.end(),
                                                  [](const auto& unit) { return unit.runs > 0; }));
}

// Changes by hours and, for the time before these, by days.
void find_changes(const EventActivity& activity, const TrendSpan& span, EventTrend& trend) {
    std::vector<BuildBegin> begins;
    for (const FirstRun& begin : activity.begins) begins.push_back({begin.build, begin.at_ns});
    const auto hours =
        history_of(activity.hours, activity.runs_recorded, hour_length_ns,
                   std::min(span.hours_to_ns, std::max(span.now_ns, span.hours_from_ns)));
    trend.searched = known_units(hours) >= hours_needed;
    trend.covers_periods =
        known_units(hours) >= hours_trusted && span.hours_from_ns <= span.before_ns;
    const auto steps = find_steps(hours, begins);
    trend.lasting = lasting_change(hours, steps, begins);
    std::vector<Step> shown = steps;
    if (span.unit == ActivityUnit::Day) {
        const auto days = history_of(activity.units, activity.runs_recorded, day_length_ns,
                                     std::min(span.to_ns, std::max(span.now_ns, span.before_ns)));
        auto older = find_steps(days, begins);
        std::erase_if(older, [&](const auto& step) {
            return step.from_ns >= span.hours_from_ns + day_length_ns;
        });
        if (!trend.lasting) trend.lasting = lasting_change(days, older, begins);
        for (const auto& step : older)
            trend.changes.push_back({step, build_of_step(days, step, begins), false});
    }
    for (const auto& step : steps)
        if (step.from_ns >= span.before_ns)
            trend.changes.push_back({step, build_of_step(hours, step, begins), false});
    std::stable_sort(trend.changes.begin(), trend.changes.end(),
                     [](const auto& a, const auto& b) { return a.step.from_ns < b.step.from_ns; });
}

// nullopt: from 0 to more.
std::optional<double> factor_of(double before, double now) {
    if (before <= 0) return now > 0 ? std::nullopt : std::optional(1.0);
    return now / before;
}

// The factors of figures that differ between both periods, significantly and by enough.
std::vector<std::optional<double>> factors_of_periods(const EventTrend& trend) {
    std::vector<std::optional<double>> factors;
    const auto add = [&](const Measure& measure, double least) {
        if (!measure.q_value || *measure.q_value > highest_q) return;
        const auto factor = factor_of(measure.before, measure.now);
        if (!factor || *factor >= least || *factor <= 1 / least) factors.push_back(factor);
    };
    add(trend.p50, min_factor);
    add(trend.p99, min_factor);
    const Measure& delays = trend.delay_share;
    const auto before_delays =
        delays.before * (trend.runs_recorded ? static_cast<double>(trend.runs) : 1);
    if (trend.delays >= min_delays || before_delays >= static_cast<double>(min_delays))
        add(delays, min_delay_factor);
    return factors;
}

void judge(EventTrend& trend) {
    const auto set = [&](std::optional<double> factor) {
        trend.factor = factor;
        trend.verdict = !factor || *factor > 1 ? Verdict::Worse : Verdict::Better;
    };
    if (trend.lasting) return set(factor_of(trend.lasting->step.before, trend.lasting->step.after));
    const auto factors =
        trend.covers_periods ? std::vector<std::optional<double>>() : factors_of_periods(trend);
    trend.factor = 1;
    const bool tested =
        trend.searched || trend.p50.p_value || trend.p99.p_value || trend.delay_share.p_value;
    trend.verdict = tested ? Verdict::Unchanged : Verdict::Untested;
    if (factors.empty()) return;
    const auto value = [](const std::optional<double>& factor) {
        return factor.value_or(HUGE_VAL);
    };
    const auto [least, most] =
        std::minmax_element(factors.begin(), factors.end(),
                            [&](const auto& a, const auto& b) { return value(a) < value(b); });
    set(value(*most) > 1 ? *most : *least);
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::Worse: return "worse";
        case Verdict::Unchanged: return "unchanged";
        case Verdict::Better: return "better";
        case Verdict::Untested: break;
    }
    return "untested";
}

std::string_view figure_name(Figure figure) {
    switch (figure) {
        case Figure::P50: return "p50";
        case Figure::P99: return "p99";
        case Figure::Delays: break;
    }
    return "delays";
}

Result<TrendSpan> trend_span(const Filter& filter, std::uint64_t now_ns) {
    const std::uint64_t to_ns = filter.to_ns.value_or(now_ns);
    const std::uint64_t from_ns =
        filter.from_ns.value_or(to_ns > day_length_ns ? to_ns - day_length_ns : 0);
    if (from_ns >= to_ns)
        return make_error(ErrorKind::Invalid, "\"from\": expected a time before \"to\"");
    const std::uint64_t length_ns = to_ns - from_ns;
    if (length_ns > max_span_ns)
        return make_error(ErrorKind::Invalid,
                          "the time from \"from\" to \"to\" is more than 400 days; choose less");
    TrendSpan span;
    span.unit = length_ns <= hours_until_ns ? ActivityUnit::Hour : ActivityUnit::Day;
    span.unit_ns = span.unit == ActivityUnit::Hour ? hour_length_ns : day_length_ns;
    span.to_ns = rounded_up(to_ns, span.unit_ns);
    const std::uint64_t whole_ns = rounded_up(length_ns, span.unit_ns);
    span.from_ns = span.to_ns > whole_ns ? span.to_ns - whole_ns : 0;
    span.before_ns = span.from_ns > whole_ns ? span.from_ns - whole_ns : 0;
    span.now_ns = std::min(to_ns, now_ns);
    span.hours_to_ns = std::max(rounded_up(span.now_ns, hour_length_ns), hour_length_ns);
    span.hours_from_ns =
        span.hours_to_ns > hours_searched_ns ? span.hours_to_ns - hours_searched_ns : 0;
    return span;
}

ActivityQuestion activity_question(Filter filter, const TrendSpan& span) {
    ActivityQuestion question;
    question.filter = std::move(filter);
    question.filter.from_ns = span.before_ns;
    question.filter.to_ns = span.to_ns;
    question.unit = span.unit;
    question.hosts_from_ns = span.from_ns;
    question.hourly_from_ns = span.hours_from_ns;
    return question;
}

EventTrend trend_of(const EventActivity& activity, const TrendSpan& span) {
    const TrendStretch before = stretch_of(activity, span.before_ns, span.from_ns);
    const TrendStretch now = stretch_of(activity, span.from_ns, span.to_ns);
    EventTrend trend;
    trend.event = activity.event;
    trend.runs_recorded = activity.runs_recorded;
    trend.last_ns = activity.last_ns;
    trend.runs = now.runs;
    trend.delays = now.delays;
    trend.hosts = activity.hosts;
    trend.delayed_hosts = activity.delayed_hosts;
    trend.builds = now.builds.size();
    trend.delayed_builds = static_cast<std::uint64_t>(
        std::count_if(now.builds.begin(), now.builds.end(),
                      [](const auto& build) { return build.second.delays > 0; }));
    for (std::uint64_t at_ns = span.before_ns; at_ns < span.to_ns; at_ns += span.unit_ns)
        trend.units.push_back({at_ns, 0, 0, 0, 0, 0});
    for (const UnitActivity& unit : activity.units) {
        const std::size_t place =
            static_cast<std::size_t>((unit.from_ns - span.before_ns) / span.unit_ns);
        if (unit.from_ns < span.before_ns || place >= trend.units.size()) continue;
        trend.units[place] = {unit.from_ns,
                              unit.runs,
                              unit.delays,
                              unit.durations.quantile_ns(0.5),
                              unit.durations.quantile_ns(0.9),
                              unit.durations.quantile_ns(0.99)};
    }
    trend.p50 = measure_quantile(activity, span, before, now, 0.5);
    trend.p99 = measure_quantile(activity, span, before, now, 0.99);
    trend.delay_share = measure_delays(activity, span, before, now);
    find_changes(activity, span, trend);
    return trend;
}

void judge_trends(std::vector<EventTrend>& trends) {
    std::vector<double> p_values;
    std::vector<Measure*> tested;
    for (EventTrend& trend : trends)
        for (Measure* measure : {&trend.p50, &trend.p99, &trend.delay_share})
            if (measure->p_value) {
                p_values.push_back(*measure->p_value);
                tested.push_back(measure);
            }
    const auto shares = false_discovery_shares(p_values);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->q_value = shares[i];
    for (EventTrend& trend : trends) judge(trend);
}

}  // namespace lagtrap::server::reports
