#include "server/api/event_trend.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace lagtrap::server {
namespace {

constexpr std::uint64_t hour_length_ns = 3600ULL * 1'000'000'000ULL;
constexpr std::uint64_t day_length_ns = 24 * hour_length_ns;
constexpr std::uint64_t hours_until_ns = 4 * day_length_ns;
constexpr std::uint64_t longest_span_ns = 400 * day_length_ns;
// With fewer runs, a unit's p99 is nearly its maximum.
constexpr std::uint64_t runs_for_p99 = 50;
constexpr std::uint64_t runs_for_p50 = 5;

constexpr double highest_q = 0.05;
constexpr double least_factor = 1.1;
constexpr double least_delay_factor = 1.25;
constexpr std::uint64_t least_delays = 5;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

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
                                  const std::function<reports::UnitShare(const UnitActivity&)>& share_of) {
    std::vector<reports::UnitShare> before, now;
    for (const UnitActivity& unit : activity.units)
        (unit.from_ns < span.from_ns ? before : now).push_back(share_of(unit));
    // If runs are recorded, a unit without runs is missing data. If only delays are, it means zero
    // delays.
    if (!activity.runs_recorded) {
        before.resize(span.units(), {1, 0});
        now.resize(span.units(), {1, 0});
    }
    return reports::share_test(before, now);
}

Measure measure_quantile(const EventActivity& activity, const TrendSpan& span, const TrendStretch& before,
                         const TrendStretch& now, double quantile) {
    Measure measure;
    measure.before = static_cast<double>(before.durations.quantile_ns(quantile));
    measure.now = static_cast<double>(now.durations.quantile_ns(quantile));
    if (!activity.runs_recorded || before.runs == 0 || now.runs == 0) return measure;
    const auto bound_ns = before.durations.quantile_ns(quantile);
    measure.p_value = test_shares(activity, span, [&](const UnitActivity& unit) {
        return reports::UnitShare{static_cast<double>(unit.runs),
                                  static_cast<double>(unit.durations.count_above(bound_ns))};
    });
    return measure;
}

Measure measure_delays(const EventActivity& activity, const TrendSpan& span, const TrendStretch& before,
                       const TrendStretch& now) {
    Measure measure;
    const auto units = static_cast<double>(span.units());
    const auto share = [&](const TrendStretch& stretch) {
        const double of =
            activity.runs_recorded ? static_cast<double>(std::max<std::uint64_t>(stretch.runs, 1)) : units;
        return static_cast<double>(stretch.delays) / of;
    };
    measure.before = share(before);
    measure.now = share(now);
    measure.p_value = test_shares(activity, span, [&](const UnitActivity& unit) {
        return reports::UnitShare{activity.runs_recorded ? static_cast<double>(unit.runs) : 1,
                                  static_cast<double>(unit.delays)};
    });
    return measure;
}

// The build of most runs after the change, if it had few runs before.
std::string build_of_change(const EventActivity& activity, std::uint64_t from_ns, std::uint64_t end_ns) {
    const TrendStretch before = stretch_of(activity, 0, from_ns), after = stretch_of(activity, from_ns, end_ns);
    const auto most = std::max_element(after.builds.begin(), after.builds.end(),
                                       [](const auto& a, const auto& b) { return a.second.runs < b.second.runs; });
    if (most == after.builds.end() || most->second.runs * 2 < after.runs) return {};
    const auto known = before.builds.find(most->first);
    const std::uint64_t runs_before = known == before.builds.end() ? 0 : known->second.runs;
    return runs_before * 4 > before.runs ? std::string() : most->first;
}

void find_changes(const EventActivity& activity, const TrendSpan& span, EventTrend& trend) {
    const std::size_t cycle = span.unit == ActivityUnit::Hour ? 24 : 7;
    for (const char* name : {"p50", "p99"}) {
        const bool middle = std::string_view(name) == "p50";
        std::vector<reports::SeriesUnit> series;
        for (const TrendUnit& unit : trend.units) {
            const bool enough = unit.runs >= (middle ? runs_for_p50 : runs_for_p99);
            series.push_back({unit.from_ns, enough ? static_cast<double>(middle ? unit.p50_ns : unit.p99_ns) : 0});
        }
        const auto found = reports::level_changes(series, cycle);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const std::uint64_t end_ns = i + 1 < found.size() ? found[i + 1].from_ns : span.to_ns;
            trend.changes.push_back({name, found[i], build_of_change(activity, found[i].from_ns, end_ns)});
        }
    }
    std::stable_sort(trend.changes.begin(), trend.changes.end(),
                     [](const Since& a, const Since& b) { return a.change.from_ns < b.change.from_ns; });
}

double factor_of(const Measure& measure) { return measure.now / std::max(measure.before, 1e-9); }

// The factors of changes that are both significant and large enough.
std::vector<double> certain_factors(const EventTrend& trend) {
    std::vector<double> factors;
    const auto weigh = [&](double factor, double least) {
        if (factor >= least || factor <= 1 / least) factors.push_back(factor);
    };
    for (const Measure* measure : {&trend.p50, &trend.p99})
        if (measure->q_value && *measure->q_value <= highest_q) weigh(factor_of(*measure), least_factor);
    if (const Measure& delays = trend.delay_share; delays.q_value && *delays.q_value <= highest_q) {
        const auto before_delays = delays.before * (trend.runs_recorded ? static_cast<double>(trend.runs) : 1);
        if (trend.delays >= least_delays || before_delays >= static_cast<double>(least_delays))
            weigh(std::clamp(factor_of(delays), 0.01, 100.0), least_delay_factor);
    }
    // Only the latest level of each quantile counts.
    for (const char* name : {"p50", "p99"}) {
        const auto last = std::find_if(trend.changes.rbegin(), trend.changes.rend(),
                                       [&](const Since& since) { return since.measure == name; });
        if (last != trend.changes.rend()) weigh(last->change.after / std::max(last->change.before, 1.0), least_factor);
    }
    return factors;
}

void judge(EventTrend& trend) {
    const std::vector<double> factors = certain_factors(trend);
    const bool tested = trend.p50.p_value || trend.p99.p_value || trend.delay_share.p_value;
    trend.factor = 1;
    if (factors.empty()) {
        trend.verdict = tested ? Verdict::Unchanged : Verdict::Untested;
        return;
    }
    const double most = *std::max_element(factors.begin(), factors.end());
    trend.verdict = most > 1 ? Verdict::Worse : Verdict::Better;
    trend.factor = most > 1 ? most : *std::min_element(factors.begin(), factors.end());
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

std::variant<TrendSpan, Refusal> trend_span(const Filter& filter, std::uint64_t now_ns) {
    const std::uint64_t to_ns = filter.to_ns.value_or(now_ns);
    const std::uint64_t from_ns = filter.from_ns.value_or(to_ns > day_length_ns ? to_ns - day_length_ns : 0);
    if (from_ns >= to_ns) return Refusal{400, "\"from\": expected a time before \"to\""};
    const std::uint64_t length_ns = to_ns - from_ns;
    if (length_ns > longest_span_ns)
        return Refusal{400, "the time from \"from\" to \"to\" is more than 400 days", "choose less"};
    TrendSpan span;
    span.unit = length_ns <= hours_until_ns ? ActivityUnit::Hour : ActivityUnit::Day;
    span.unit_ns = span.unit == ActivityUnit::Hour ? hour_length_ns : day_length_ns;
    span.to_ns = rounded_up(to_ns, span.unit_ns);
    const std::uint64_t whole_ns = rounded_up(length_ns, span.unit_ns);
    span.from_ns = span.to_ns > whole_ns ? span.to_ns - whole_ns : 0;
    span.before_ns = span.from_ns > whole_ns ? span.from_ns - whole_ns : 0;
    return span;
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
        std::count_if(now.builds.begin(), now.builds.end(), [](const auto& build) { return build.second.delays > 0; }));
    for (std::uint64_t at_ns = span.before_ns; at_ns < span.to_ns; at_ns += span.unit_ns)
        trend.units.push_back({at_ns, 0, 0, 0, 0, 0});
    for (const UnitActivity& unit : activity.units) {
        const std::size_t place = static_cast<std::size_t>((unit.from_ns - span.before_ns) / span.unit_ns);
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
    if (activity.runs_recorded) find_changes(activity, span, trend);
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
    const auto shares = reports::false_discovery_shares(p_values);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->q_value = shares[i];
    for (EventTrend& trend : trends) judge(trend);
}

}  // namespace lagtrap::server
