#include "server/api/overview_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/clock.hpp"
#include "server/api/cause_routes.hpp"
#include "server/api/change_json.hpp"
#include "server/api/change_report.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/summary_json.hpp"
#include "server/reports/event_trend.hpp"

namespace lagtrap::server {
namespace {

using reports::EventTrend;
using reports::Measure;
using reports::TrendSpan;
using reports::TrendUnit;
using reports::Verdict;

constexpr std::uint32_t events_default = 100;
constexpr std::size_t builds_limit = 200;
constexpr std::uint32_t causes_read = 1000;
constexpr std::uint32_t split_runs_read = 200'000;
constexpr std::size_t split_parts_shown = 8;
// Of each side of a change. The overview says where and why for the first regressions only.
constexpr std::uint32_t change_runs_read = 100'000;
constexpr std::uint32_t change_runs_glanced_at = 20'000;
constexpr std::size_t changes_explained = 5;
constexpr std::array orders{"change", "p50", "p99", "runs", "delays", "hosts", "newest", "name"};

struct Asked {
    ActivityQuestion question;
    TrendSpan span;
};

std::variant<Asked, Refusal> read_asked(const Route& route, const std::string& event) {
    auto filter = read_filter(route, event);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return *wrong;
    auto span = reports::trend_span(std::get<Filter>(filter), ClockSnapshot::take().realtime_ns);
    if (!span) return Refusal{400, span.error().message};
    Asked asked{reports::activity_question(std::move(std::get<Filter>(filter)), *span), *span};
    asked.question.search = std::string(route.parameter("search").value_or(""));
    return asked;
}

json::object duration_change_json(const Measure& measure) {
    return {{"before_ns", json_signed(measure.before)},
            {"now_ns", json_signed(measure.now)},
            {"p_value", share_or_null(measure.p_value)},
            {"q_value", share_or_null(measure.q_value)}};
}

json::object delay_change_json(const Measure& measure) {
    return {{"before", measure.before},
            {"now", measure.now},
            {"p_value", share_or_null(measure.p_value)},
            {"q_value", share_or_null(measure.q_value)}};
}

json::array changes_json(const std::vector<reports::LastingChange>& changes) {
    json::array list;
    for (const auto& change : changes) list.push_back(change_json(change));
    return list;
}

json::object span_json(const TrendSpan& span) {
    return {{"before_ns", json_digits(span.before_ns)},
            {"from_ns", json_digits(span.from_ns)},
            {"to_ns", json_digits(span.to_ns)},
            {"unit_ns", json_number(span.unit_ns)}};
}

// Columns instead of rows, because a hundred events have thousands of units.
json::object units_json(const std::vector<TrendUnit>& units) {
    json::array runs, delays, p50, p90, p99;
    for (const TrendUnit& unit : units) {
        runs.push_back(json_number(unit.runs));
        delays.push_back(json_number(unit.delays));
        p50.push_back(json_number(unit.p50_ns));
        p90.push_back(json_number(unit.p90_ns));
        p99.push_back(json_number(unit.p99_ns));
    }
    return {{"runs", std::move(runs)},
            {"delays", std::move(delays)},
            {"p50", std::move(p50)},
            {"p90", std::move(p90)},
            {"p99", std::move(p99)}};
}

// A host, build or unit, or the sum of those not shown separately.
json::object split_part_json(const SplitPart& part, const TrendSpan& span) {
    std::vector<TrendUnit> units;
    for (std::uint64_t at_ns = span.from_ns; at_ns < span.to_ns; at_ns += span.unit_ns) {
        TrendUnit& unit = units.emplace_back();
        const auto found = part.points.find(at_ns);
        if (found == part.points.end()) continue;
        const SplitPoint& point = found->second;
        unit = {at_ns,
                point.runs,
                point.delays,
                point.durations.quantile_ns(0.5),
                point.durations.quantile_ns(0.9),
                point.durations.quantile_ns(0.99)};
    }
    return {{"name", part.name},
            {"runs", json_number(part.whole.runs)},
            {"delays", json_number(part.whole.delays)},
            {"p50", json_number(part.whole.durations.quantile_ns(0.5))},
            {"p90", json_number(part.whole.durations.quantile_ns(0.9))},
            {"p99", json_number(part.whole.durations.quantile_ns(0.99))},
            {"units", units_json(units)}};
}

std::optional<SplitBy> read_split(std::string_view by) {
    if (by == "host") return SplitBy::Host;
    if (by == "build") return SplitBy::Build;
    if (by == "unit") return SplitBy::Unit;
    return std::nullopt;
}

json::object trend_json(const EventTrend& trend) {
    return {{"event", trend.event},
            {"runs_recorded", trend.runs_recorded},
            {"last_ns", json_digits(trend.last_ns)},
            {"runs", json_number(trend.runs)},
            {"delays", json_number(trend.delays)},
            {"hosts", json_number(trend.hosts)},
            {"delayed_hosts", json_number(trend.delayed_hosts)},
            {"builds", json_number(trend.builds)},
            {"delayed_builds", json_number(trend.delayed_builds)},
            {"p50", duration_change_json(trend.p50)},
            {"p99", duration_change_json(trend.p99)},
            {"delay_share", delay_change_json(trend.delay_share)},
            {"verdict", reports::verdict_name(trend.verdict)},
            {"factor", trend.factor ? json::value(*trend.factor) : json::value(nullptr)},
            {"changes", changes_json(trend.changes)},
            {"lasting",
             trend.lasting ? json::value(change_json(*trend.lasting)) : json::value(nullptr)},
            {"units", units_json(trend.units)}};
}

// For each event, the open cause that was found, or came back, most recently.
std::map<std::string, const CauseRecord*> newest_causes(const std::vector<CauseRecord>& causes) {
    const auto at_ns = [](const CauseRecord& cause) {
        return std::max(cause.noticed_realtime_ns, cause.regressed_realtime_ns);
    };
    std::map<std::string, const CauseRecord*> newest;
    for (const CauseRecord& cause : causes) {
        if (cause.root != cause.id || cause.status == CauseStatus::Resolved) continue;
        const CauseRecord*& known = newest[cause.event];
        if (known == nullptr || at_ns(*known) < at_ns(cause)) known = &cause;
    }
    return newest;
}

// A regression in short: where, and the cause that came with it.
Result<json::value> extent_of_change(const Evidence& evidence, const Filter& asked,
                                     const EventTrend& trend, std::uint64_t to_ns,
                                     const CausesById& causes) {
    Filter filter = asked;
    filter.event = trend.event;
    TRY_ASSIGN(const ChangeReport report,
               report_change(evidence, std::move(filter), *trend.lasting, trend.runs_recorded,
                             to_ns, change_runs_glanced_at));
    json::value cause = nullptr;
    if (!report.causes.empty() && report.causes.front().came)
        cause = shifted_cause_json(report.causes.front(), causes);
    return json::value{{"hosts", extent_json(report.hosts.split)},
                       {"units", extent_json(report.units.split)},
                       {"cause", std::move(cause)}};
}

// Sorts events by change: those that got worse first, the worst on top; those that got better last.
std::pair<int, double> change_rank(const EventTrend& trend) {
    switch (trend.verdict) {
        case Verdict::Worse: return {2, trend.factor.value_or(HUGE_VAL)};
        case Verdict::Better: return {0, trend.factor.value_or(0)};
        default: return {1, static_cast<double>(trend.delays)};
    }
}

bool stands_before(const EventTrend& a, const EventTrend& b, std::string_view order) {
    if (order == "name") return a.event < b.event;
    if (order == "p50") return a.p50.now > b.p50.now;
    if (order == "p99") return a.p99.now > b.p99.now;
    if (order == "runs") return a.runs > b.runs;
    if (order == "delays") return a.delays > b.delays;
    if (order == "hosts")
        return std::pair(a.delayed_hosts, a.hosts) > std::pair(b.delayed_hosts, b.hosts);
    if (order == "newest") return a.last_ns > b.last_ns;
    return change_rank(a) > change_rank(b);
}

struct BuildSpan {
    std::uint64_t runs = 0, delays = 0;
    std::uint64_t first_ns = 0, last_ns = 0;  // start times of units
};

json::array builds_json(const EventActivity& activity) {
    std::map<std::string, BuildSpan> builds;
    for (const UnitActivity& unit : activity.units)
        for (const BuildActivity& build : unit.builds) {
            BuildSpan& span = builds[build.build];
            if (span.runs == 0) span.first_ns = unit.from_ns;
            span.last_ns = unit.from_ns;
            span.runs += build.runs;
            span.delays += build.delays;
        }
    std::vector<std::pair<std::string, BuildSpan>> rows(builds.begin(), builds.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return a.second.first_ns > b.second.first_ns;
    });
    json::array list;
    for (const auto& [build, span] : rows)
        if (list.size() < builds_limit)
            list.push_back({{"build", build},
                            {"runs", json_number(span.runs)},
                            {"delays", json_number(span.delays)},
                            {"first_ns", json_digits(span.first_ns)},
                            {"last_ns", json_digits(span.last_ns)}});
    return list;
}

}  // namespace

Reply get_overview(const Evidence& evidence, const Route& route) {
    auto read = read_asked(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const ActivityQuestion& question = std::get<Asked>(read).question;
    const TrendSpan& span = std::get<Asked>(read).span;
    const auto order = route.parameter("order").value_or("change");
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
        return reply_of(
            {400, "\"order\": expected change, p50, p99, runs, delays, hosts, newest or name"});
    const auto page = read_page(route, events_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    std::vector<EventTrend> trends;
    const Status looked = evidence.activity().visit(question, [&](EventActivity&& activity) {
        trends.push_back(reports::trend_of(activity, span));
        return success();
    });
    if (!looked) return failure(looked.error());
    reports::judge_trends(trends);
    std::stable_sort(trends.begin(), trends.end(), [&](const EventTrend& a, const EventTrend& b) {
        return stands_before(a, b, order);
    });
    Filter of_losses = question.filter;
    of_losses.from_ns = span.from_ns;
    const auto losses = evidence.events().losses(of_losses);
    if (!losses) return failure(losses.error());
    const auto causes = evidence.causes().list(question.filter.event, causes_read);
    if (!causes) return failure(causes.error());
    const auto newest = newest_causes(*causes);
    json::object answer = span_json(span);
    answer["total"] = json_number(trends.size());
    const CausesById known = causes_by_id(*causes);
    std::size_t explained = 0;
    json::array events;
    for (const EventTrend& trend : trends) {
        if (events.size() == std::get<PageQuestion>(page).limit) break;
        json::object event = trend_json(trend);
        event["extent"] = nullptr;
        if (trend.lasting && trend.verdict == Verdict::Worse && explained++ < changes_explained) {
            auto extent = extent_of_change(evidence, question.filter, trend, span.now_ns, known);
            if (!extent) return failure(extent.error());
            event["extent"] = std::move(*extent);
        }
        const auto cause = newest.find(trend.event);
        event["newest_cause"] =
            cause == newest.end() ? json::value(nullptr) : cause_record_json(*cause->second);
        events.push_back(std::move(event));
    }
    answer["events"] = std::move(events);
    answer["lost"] = losses_json(*losses);
    const auto waiting = evidence.bundles().waiting();
    if (!waiting) return failure(waiting.error());
    answer["bundles_waiting"] = json_number(*waiting);
    return json_reply(answer);
}

Reply get_split(const SplitStore& store, const Route& route) {
    auto asked = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&asked)) return reply_of(*wrong);
    auto& filter = std::get<Filter>(asked);
    const auto wanted = reports::trend_span(filter, ClockSnapshot::take().realtime_ns);
    if (!wanted) return reply_of({400, wanted.error().message});
    const TrendSpan& span = *wanted;
    const auto by = read_split(route.parameter("by").value_or(""));
    if (!by) return reply_of({400, "\"by\": expected host, build or unit"});
    filter.from_ns = span.from_ns;
    filter.to_ns = span.to_ns;
    const auto found = store.split(filter, *by, span.unit, split_runs_read);
    if (!found) return failure(found.error());
    json::array parts;
    SplitPart others;
    std::uint64_t other_names = 0;
    for (const SplitPart& part : found->parts) {
        if (parts.size() < split_parts_shown) {
            parts.push_back(split_part_json(part, span));
        } else {
            others.add(part);
            ++other_names;
        }
    }
    json::value rest = nullptr;
    if (other_names > 0) rest = split_part_json(others, span);
    return json_reply(json::object{
        {"from_ns", json_digits(span.from_ns)},
        {"to_ns", json_digits(span.to_ns)},
        {"unit_ns", json_number(span.unit_ns)},
        {"runs_read", json_number(found->runs_read)},
        {"runs_read_most", split_runs_read},
        {"read_from_ns",
         digits_or_null(found->runs_read > 0 ? std::optional(found->from_ns) : std::nullopt)},
        {"parts", std::move(parts)},
        {"others", std::move(rest)},
        {"other_names", json_number(other_names)}});
}

Reply get_change(const Evidence& evidence, const Route& route) {
    auto read = read_asked(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const ActivityQuestion& question = std::get<Asked>(read).question;
    const TrendSpan& span = std::get<Asked>(read).span;
    std::optional<EventTrend> trend;
    const Status looked = evidence.activity().visit(question, [&](EventActivity&& activity) {
        trend = reports::trend_of(activity, span);
        return success();
    });
    if (!looked) return failure(looked.error());
    json::object answer{{"change", nullptr}};
    if (!trend || !trend->lasting) return json_reply(answer);
    const auto report = report_change(evidence, question.filter, *trend->lasting,
                                      trend->runs_recorded, span.now_ns, change_runs_read);
    if (!report) return failure(report.error());
    const auto causes = evidence.causes().list(question.filter.event, causes_read);
    if (!causes) return failure(causes.error());
    answer["change"] = change_json(*trend->lasting);
    answer["runs_recorded"] = trend->runs_recorded;
    answer["before_ns"] = json_digits(report->before_ns);
    answer["to_ns"] = json_digits(report->to_ns);
    answer["hosts"] = split_report_json(report->hosts);
    answer["builds"] = split_report_json(report->builds);
    answer["units"] = split_report_json(report->units);
    answer["causes"] = shifts_json(report->causes, causes_by_id(*causes));
    return json_reply(answer);
}

Reply get_trend(const ActivityStore& store, const Route& route) {
    auto read = read_asked(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const ActivityQuestion& question = std::get<Asked>(read).question;
    const TrendSpan& span = std::get<Asked>(read).span;
    std::vector<EventTrend> trends;
    json::array builds;
    EventActivity nothing;
    nothing.event = route.arguments[0];
    const Status looked = store.visit(question, [&](EventActivity&& activity) {
        trends.push_back(reports::trend_of(activity, span));
        builds = builds_json(activity);
        return success();
    });
    if (!looked) return failure(looked.error());
    if (trends.empty()) trends.push_back(reports::trend_of(nothing, span));
    reports::judge_trends(trends);
    json::object answer = span_json(span);
    for (auto& [name, value] : trend_json(trends.front())) answer[name] = value;
    answer["builds_seen"] = std::move(builds);
    return json_reply(answer);
}

}  // namespace lagtrap::server
