#include "server/api/report_routes.hpp"

#include <algorithm>

#include "analysis/flame.hpp"
#include "analysis/run_profile.hpp"
#include "server/api/json_reply.hpp"
#include "server/reports/compare.hpp"
#include "server/reports/time_shift.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t compared_limit = 1000;
constexpr std::uint32_t baseline_limit = 200;
constexpr std::uint32_t timed_runs_read = 20'000;

// The ids of one side; empty if they are invalid.
std::vector<std::uint64_t> read_ids(const json::object& object, std::string_view name) {
    std::vector<std::uint64_t> ids;
    const json::value& value = object.at(name);
    if (!value.is_array() || value.get_array().size() > compared_limit) return {};
    for (const json::value& item : value.get_array()) {
        const auto id = item.is_string() ? read_digits(item.get_string()) : std::nullopt;
        if (!id) return {};
        ids.push_back(*id);
    }
    return ids;
}

json::object group_json(const reports::DurationGroup& group) {
    return {{"runs", json_number(group.runs)},
            {"shortest_ns", json_number(group.shortest_ns)},
            {"longest_ns", json_number(group.longest_ns)},
            {"mean_ns", json_number(group.mean_ns)}};
}

json::object set_json(std::uint64_t runs, std::uint64_t median_ns) {
    return {{"runs", json_number(runs)}, {"median_ns", json_number(median_ns)}};
}

Result<std::vector<analysis::RunProfile>> normal_profiles(const DelayStore& store,
                                                          const std::string& event) {
    std::vector<analysis::RunProfile> profiles;
    Filter filter;
    filter.event = event;
    TRY(store.profiles(filter, false, baseline_limit, [&](StoredDelay&& stored) {
        if (auto profile = analysis::read_run_profile(stored.delay.profile))
            profiles.push_back(std::move(profile).value());
        return true;
    }));
    return profiles;
}

}  // namespace

std::vector<reports::ComparedRun> compared(const std::vector<StoredRun>& runs) {
    std::vector<reports::ComparedRun> list;
    for (const StoredRun& run : runs) {
        reports::ComparedRun& entry = list.emplace_back();
        entry.duration_ns = run.duration_ns;
        if (!run.stages.empty()) entry.stages.push_back({"begin", run.stages.front().at_ns});
        for (const StoredStage& stage : run.stages)
            entry.stages.push_back({stage.name, stage.duration_ns});
    }
    return list;
}

json::object difference_json(const reports::Difference& difference) {
    json::value low = nullptr;
    json::value high = nullptr;
    if (difference.interval) {
        low = json_signed(static_cast<double>(difference.interval->low_ns));
        high = json_signed(static_cast<double>(difference.interval->high_ns));
    }
    return {{"difference_ns", json_signed(static_cast<double>(difference.difference_ns))},
            {"low_ns", std::move(low)},
            {"high_ns", std::move(high)},
            {"evidence", difference.evidence}};
}

json::object flame_json(const analysis::Flame& flame) {
    json::array nodes;
    nodes.reserve(flame.nodes.size());
    for (const analysis::FlameNode& node : flame.nodes)
        nodes.push_back(json::array{node.parent, node.name, json_number(node.value_ns),
                                    json_number(node.baseline_ns), static_cast<int>(node.kind)});
    json::array names;
    for (const analysis::FlameName& name : flame.names)
        names.push_back({{"function", name.function}, {"module", name.module}});
    json::value baseline_total = nullptr;
    if (flame.baseline_runs > 0) baseline_total = json_number(flame.baseline_total_ns);
    return {{"unit", "ns"},
            {"total", json_number(flame.total_ns)},
            {"baseline_total", std::move(baseline_total)},
            {"baseline_runs", json_number(flame.baseline_runs)},
            {"nodes", std::move(nodes)},
            {"names", std::move(names)},
            {"dropped", json_number(flame.dropped)}};
}

Reply compare_listed_runs(const RunStore& store, const Request& request) {
    const auto body = read_object(request, {"a", "b"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const auto a_ids = read_ids(object, "a");
    const auto b_ids = read_ids(object, "b");
    if (a_ids.empty() || b_ids.empty())
        return reply_of(
            {400, "\"a\" and \"b\": expected 1 to 1000 ids of runs each, as digits in strings"});
    const auto a = store.find_runs(a_ids);
    const auto b = store.find_runs(b_ids);
    if (!a || !b) return failure(a ? b.error() : a.error());
    const auto result = reports::compare_runs(compared(*a), compared(*b));
    json::array stages;
    for (const reports::StageDifference& stage : result.stages) {
        json::object entry = difference_json(stage.difference);
        entry["name"] = stage.name;
        stages.push_back(std::move(entry));
    }
    json::object reply = difference_json(result.whole);
    reply["a"] = set_json(result.whole.a_runs, result.whole.a_median_ns);
    reply["b"] = set_json(result.whole.b_runs, result.whole.b_median_ns);
    reply["confidence"] = std::clamp(result.confidence, 0.0, 1.0);
    reply["stages"] = std::move(stages);
    return json_reply(reply);
}

Reply get_time_shift(const RunStore& store, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto timed = store.run_times(std::get<Filter>(filter), timed_runs_read);
    if (!timed) return failure(timed.error());
    std::vector<reports::TimedDuration> runs;
    runs.reserve(timed->runs.size());
    for (const TimedRun& run : timed->runs)
        runs.push_back({run.duration_ns, run.weight, run.times});
    const auto shift = reports::time_shift(std::move(runs));
    json::object answer{{"runs_read", json_number(timed->runs_read)},
                        {"runs_timed", json_number(timed->runs.size())},
                        {"runs_needed", json_number(reports::shift_runs_needed)},
                        {"middle", nullptr},
                        {"slow", nullptr},
                        {"parts", json::array{}}};
    if (!shift) return json_reply(answer);
    answer["middle"] = group_json(shift->middle);
    answer["slow"] = group_json(shift->slow);
    for (const reports::PartShift& part : shift->parts)
        answer["parts"].as_array().push_back({{"state", part.state},
                                              {"reason", part.reason},
                                              {"middle_ns", json_number(part.middle_ns)},
                                              {"slow_ns", json_number(part.slow_ns)}});
    return json_reply(answer);
}

std::variant<analysis::FlameTime, Refusal> read_flame_time(const Route& route) {
    const auto state = route.parameter("state").value_or("all");
    if (state == "all") return analysis::FlameTime::All;
    if (state == "on-cpu") return analysis::FlameTime::OnCpu;
    if (state == "off-cpu") return analysis::FlameTime::OffCpu;
    return Refusal{400, "\"state\": expected all, on-cpu or off-cpu"};
}

Reply get_profile(const Evidence& evidence, const Route& route) {
    const auto time = read_flame_time(route);
    if (const auto* wrong = std::get_if<Refusal>(&time)) return reply_of(*wrong);
    const auto against = route.parameter("against");
    if (against && *against != "normal") return reply_of({400, "\"against\": expected normal"});
    const auto row = evidence.bundles().find(route.arguments[0]);
    if (!row) return failure(row.error());
    if (!*row) return reply_of({404, "there is no such bundle"});
    if (!(*row)->bad_reason.empty())
        return reply_of({422, "the bundle is kept but cannot be read: " + (*row)->bad_reason});
    const auto number = read_digits(route.arguments[1]);
    if (!number || *number > UINT32_MAX) return reply_of({404, "there is no such delay"});
    const auto stored =
        evidence.delays().find_delay(route.arguments[0], static_cast<std::uint32_t>(*number));
    if (!stored) return failure(stored.error());
    if (!*stored) return reply_of({404, "there is no such delay"});
    const std::optional<StoredDelay>& found = *stored;
    if (found->delay.profile.empty())
        return reply_of({422, "the bundle has no profile of this delay",
                         "the system file says what is missing"});
    const auto profile = analysis::read_run_profile(found->delay.profile);
    if (!profile) return reply_of({422, "the profile cannot be read: " + profile.error().message});
    std::vector<analysis::RunProfile> baseline;
    if (against) {
        auto normal = normal_profiles(evidence.delays(), found->delay.event);
        if (!normal) return failure(normal.error());
        baseline = std::move(normal).value();
    }
    return json_reply(
        flame_json(analysis::flame_of(*profile, baseline, std::get<analysis::FlameTime>(time))));
}

}  // namespace lagtrap::server
