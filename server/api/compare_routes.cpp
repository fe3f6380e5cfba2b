#include "server/api/compare_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/flame.hpp"
#include "analysis/run_profile.hpp"
#include "server/api/cause_routes.hpp"
#include "server/api/change_json.hpp"
#include "server/api/change_report.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/report_routes.hpp"
#include "server/ingest/known_causes.hpp"
#include "server/reports/causes.hpp"
#include "server/reports/compare.hpp"
#include "server/reports/set_difference.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t query_limit_bytes = 2000;
constexpr std::uint32_t runs_with_stages = 1000;
constexpr std::uint32_t runs_by_host = 100'000;
constexpr std::uint32_t runs_with_times = 20'000;
constexpr std::uint32_t profiles_of_causes = 2000;
constexpr std::uint32_t profiles_of_flame = 200;
constexpr std::uint32_t classes_wanted = 40;

struct Sets {
    Filter a, b;
};

std::variant<Filter, Refusal> read_set(const Route& route, std::string_view name) {
    const auto query = route.parameter(name).value_or("");
    if (query.size() > query_limit_bytes)
        return Refusal{400, "\"" + std::string(name) + "\": expected at most 2000 bytes"};
    const auto set = read_filter_query(query);
    if (const auto* wrong = std::get_if<Refusal>(&set))
        return Refusal{400, "\"" + std::string(name) + "\": " + wrong->message,
                       "a set is a filter such as host=web-1%26build=v1"};
    return read_filter(std::get<Route>(set), route.arguments[0]);
}

std::variant<Sets, Refusal> read_sets(const Route& route) {
    auto a = read_set(route, "a"), b = read_set(route, "b");
    for (const auto* set : {&a, &b})
        if (const auto* wrong = std::get_if<Refusal>(set)) return *wrong;
    return Sets{std::get<Filter>(std::move(a)), std::get<Filter>(std::move(b))};
}

json::object figure_json(const reports::FigureDifference& figure, bool whole) {
    const auto number = [&](double value) {
        return whole ? json::value(json_signed(value)) : json::value(value);
    };
    return {{"a", number(figure.a)},
            {"b", number(figure.b)},
            {"difference", number(figure.b - figure.a)},
            {"low", figure.bounds ? number(figure.bounds->low) : json::value(nullptr)},
            {"high", figure.bounds ? number(figure.bounds->high) : json::value(nullptr)},
            {"evidence", figure.evidence()}};
}

struct Percentile {
    const char* name;
    double share;
};
constexpr std::array<Percentile, 3> compared_percentiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}};

json::object percentile_json(const Percentile& percentile,
                             const reports::FigureDifference& difference) {
    json::object entry = figure_json(difference, true);
    entry["name"] = percentile.name;
    return entry;
}

// The percentile that differs most, by its factor, among those that differ significantly; without
// one, the median.
const Percentile& add_percentiles(const Summary& a, const Summary& b, json::object& answer) {
    const Percentile* changed = &compared_percentiles.front();
    double most = 0;
    json::array list;
    for (const Percentile& percentile : compared_percentiles) {
        const auto difference = reports::quantile_difference(
            a.durations, a.counts.records, b.durations, b.counts.records, percentile.share);
        list.push_back(percentile_json(percentile, difference));
        const double factor =
            std::abs(std::log(std::max(difference.b, 1.0) / std::max(difference.a, 1.0)));
        if (!difference.evidence() || factor <= most) continue;
        most = factor;
        changed = &percentile;
    }
    answer["quantiles"] = std::move(list);
    answer["measure"] = changed->name;
    return *changed;
}

json::object set_json(const Summary& summary) {
    return {{"runs", json_number(summary.counts.runs)},
            {"delays", json_number(summary.counts.delays)},
            {"hidden", json_number(summary.counts.hidden)},
            {"longest_ns", json_number(summary.longest_ns)}};
}

// Both sets share the classes. Each class is a number of the sketch's bins wide.
json::array histogram_json(const Sketch& a, const Sketch& b) {
    json::array histogram;
    Sketch both = a;
    both.merge(b);
    const auto bins = both.bins();
    if (bins.empty()) return histogram;
    const std::uint32_t first = Sketch::bin_of(bins.front().high_ns),
                        last = Sketch::bin_of(bins.back().high_ns);
    const std::uint32_t width = (last - first) / classes_wanted + 1;
    struct Class {
        std::uint64_t a = 0, b = 0;
    };
    std::vector<Class> classes((last - first) / width + 1);
    const auto count = [&](const Sketch& sketch, std::uint64_t Class::*runs) {
        for (const Sketch::Bin& bin : sketch.bins()) {
            const std::uint32_t number =
                std::clamp<std::uint32_t>(Sketch::bin_of(bin.high_ns), first, last);
            classes[(number - first) / width].*runs += bin.count;
        }
    };
    count(a, &Class::a);
    count(b, &Class::b);
    std::uint64_t low_ns = bins.front().low_ns;
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        const std::uint32_t edge = std::min(first + (i + 1) * width - 1, last);
        const std::uint64_t high_ns =
            std::max(low_ns, Sketch::value_of(static_cast<std::uint16_t>(edge)));
        histogram.push_back({{"low_ns", json_number(low_ns)},
                             {"high_ns", json_number(high_ns)},
                             {"a", json_number(classes[i].a)},
                             {"b", json_number(classes[i].b)}});
        low_ns = high_ns;
    }
    return histogram;
}

struct StageTimes {
    Sketch durations;
    std::uint64_t records = 0;
};

// By stage. A stage that a run has twice counts with both together.
std::map<std::string, StageTimes> stage_times(const std::vector<StoredRun>& runs) {
    std::map<std::string, StageTimes> stages;
    const auto list = compared(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::map<std::string, std::uint64_t> of_run;
        for (const reports::ComparedStage& stage : list[i].stages)
            of_run[stage.name] += stage.duration_ns;
        for (const auto& [name, duration_ns] : of_run) {
            StageTimes& times = stages[name];
            times.durations.add(duration_ns, runs[i].weight);
            ++times.records;
        }
    }
    return stages;
}

json::array stage_percentiles(const StageTimes& a, const StageTimes& b) {
    json::array list;
    for (const Percentile& percentile : compared_percentiles)
        list.push_back(percentile_json(
            percentile, reports::quantile_difference(a.durations, a.records, b.durations, b.records,
                                                     percentile.share)));
    return list;
}

Status add_stages(const RunStore& store, const Sets& sets, json::object& answer) {
    TRY_ASSIGN(const RunPage a, store.list(sets.a, RunOrder::Newest, runs_with_stages, {}));
    TRY_ASSIGN(const RunPage b, store.list(sets.b, RunOrder::Newest, runs_with_stages, {}));
    const auto result = reports::compare_runs(compared(a.runs), compared(b.runs));
    auto a_times = stage_times(a.runs), b_times = stage_times(b.runs);
    json::array stages;
    for (const reports::StageDifference& stage : result.stages) {
        json::object entry = difference_json(stage.difference);
        entry["name"] = stage.name;
        entry["quantiles"] = stage_percentiles(a_times[stage.name], b_times[stage.name]);
        stages.push_back(std::move(entry));
    }
    const auto watched = [](const std::vector<StoredRun>& runs) {
        return json_number(static_cast<std::uint64_t>(
            std::ranges::count(runs, false, &StoredRun::without_stages)));
    };
    answer["stages"] = {
        {"a_runs", watched(a.runs)}, {"b_runs", watched(b.runs)}, {"stages", std::move(stages)}};
    return success();
}

Result<std::vector<reports::TimedDuration>> timed_runs(const RunStore& store,
                                                       const Filter& filter) {
    TRY_ASSIGN(const TimedRuns timed, store.run_times(filter, runs_with_times));
    std::vector<reports::TimedDuration> runs;
    for (const TimedRun& run : timed.runs) runs.push_back({run.duration_ns, run.weight, run.times});
    return runs;
}

Status add_times(const Evidence& evidence, const Sets& sets, json::object& answer) {
    TRY_ASSIGN(const auto a, timed_runs(evidence.runs(), sets.a));
    TRY_ASSIGN(const auto b, timed_runs(evidence.runs(), sets.b));
    json::array parts;
    for (const reports::PartDifference& part : reports::part_differences(a, b)) {
        json::object entry = figure_json(part.mean_ns, true);
        entry["state"] = part.state;
        entry["reason"] = part.reason;
        parts.push_back(std::move(entry));
    }
    answer["times"] = {{"a_runs", json_number(a.size())},
                       {"b_runs", json_number(b.size())},
                       {"parts", std::move(parts)}};
    return success();
}

Result<reports::CauseReport> causes_of(const Evidence& evidence, const Filter& filter) {
    reports::CauseFinder finder;
    TRY(add_profiles(evidence.delays(), filter, profiles_of_causes, finder));
    return finder.find();
}

json::object cause_set_json(const reports::CauseReport& report) {
    json::value silent = nullptr;
    if (report.silent_because) silent = json::string(*report.silent_because);
    return {{"delayed_runs", json_number(report.delayed_runs)},
            {"normal_runs", json_number(report.normal_runs)},
            {"silent_because", std::move(silent)}};
}

json::value cause_side_json(const reports::Cause* cause) {
    if (cause == nullptr) return nullptr;
    return json::object{{"affected_runs", json_number(cause->affected_runs)},
                        {"excess_ns", json_number(cause->excess_ns)},
                        {"share", std::clamp(cause->share, 0.0, 1.0)}};
}

Status add_causes(const Evidence& evidence, const Sets& sets, json::object& answer) {
    TRY_ASSIGN(const auto a, causes_of(evidence, sets.a));
    TRY_ASSIGN(const auto b, causes_of(evidence, sets.b));
    TRY_ASSIGN(const auto known, evidence.causes().list(sets.a.event, known_causes_limit));
    struct Pair {
        const reports::Cause* a = nullptr;
        const reports::Cause* b = nullptr;
    };
    std::map<std::string, Pair> causes;
    for (const reports::Cause& cause : a.causes) causes[cause.signature].a = &cause;
    for (const reports::Cause& cause : b.causes) causes[cause.signature].b = &cause;
    json::array list;
    for (const auto& [signature, pair] : causes) {
        const reports::Cause& cause = pair.b != nullptr ? *pair.b : *pair.a;
        const auto record = std::find_if(known.begin(), known.end(), [&](const CauseRecord& one) {
            return one.signature == cause.signature;
        });
        list.push_back({{"title", cause.title},
                        {"state", std::string(to_text(cause.state))},
                        {"reason", cause.reason},
                        {"change", pair.a == nullptr   ? "came"
                                   : pair.b == nullptr ? "went"
                                                       : "stays"},
                        {"record", record == known.end() ? json::value(nullptr)
                                                         : json::value(json_digits(record->id))},
                        {"a", cause_side_json(pair.a)},
                        {"b", cause_side_json(pair.b)}});
    }
    answer["causes"] = {
        {"a", cause_set_json(a)}, {"b", cause_set_json(b)}, {"causes", std::move(list)}};
    return success();
}

Result<std::vector<analysis::RunProfile>> delayed_profiles(const DelayStore& store,
                                                           const Filter& filter) {
    std::vector<analysis::RunProfile> profiles;
    TRY(store.profiles(filter, true, profiles_of_flame, [&](StoredDelay&& stored) {
        if (auto profile = analysis::read_run_profile(stored.delay.profile))
            profiles.push_back(std::move(profile).value());
        return true;
    }));
    return profiles;
}

}  // namespace

Reply compare_sets(const Evidence& evidence, const Route& route) {
    const auto read = read_sets(route);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const Sets& sets = std::get<Sets>(read);
    const auto a = evidence.summaries().summary(sets.a), b = evidence.summaries().summary(sets.b);
    if (!a || !b) return failure(a ? b.error() : a.error());
    json::object answer{{"a", set_json(*a)}, {"b", set_json(*b)}, {"confidence", 0.95}};
    const Percentile& changed = add_percentiles(*a, *b, answer);
    answer["delay_share"] = figure_json(
        reports::share_difference({a->counts.runs, a->counts.delays, a->counts.records},
                                  {b->counts.runs, b->counts.delays, b->counts.records}),
        false);
    answer["histogram"] = histogram_json(a->durations, b->durations);
    const auto hosts =
        compare_hosts(evidence.splits(), sets.a, sets.b, changed.share, runs_by_host);
    if (!hosts) return failure(hosts.error());
    answer["hosts"] = split_report_json(*hosts);
    for (const Status& status :
         {add_stages(evidence.runs(), sets, answer), add_times(evidence, sets, answer),
          add_causes(evidence, sets, answer)})
        if (!status) return failure(status.error());
    return json_reply(answer);
}

Reply get_set_flame(const Evidence& evidence, const Route& route) {
    const auto read = read_sets(route);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const auto time = read_flame_time(route);
    if (const auto* wrong = std::get_if<Refusal>(&time)) return reply_of(*wrong);
    const auto a = delayed_profiles(evidence.delays(), std::get<Sets>(read).a),
               b = delayed_profiles(evidence.delays(), std::get<Sets>(read).b);
    if (!a || !b) return failure(a ? b.error() : a.error());
    json::object flame =
        flame_json(analysis::flame_of_means(*b, *a, std::get<analysis::FlameTime>(time)));
    flame["runs"] = json_number(b->size());
    return json_reply(flame);
}

}  // namespace lagtrap::server
