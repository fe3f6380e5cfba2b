#include "server/api/report_routes.hpp"

#include <algorithm>

#include "analysis/flame.hpp"
#include "analysis/run_profile.hpp"
#include "server/api/json_reply.hpp"
#include "server/reports/causes.hpp"
#include "server/reports/compare.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t compared_limit = 1000;
// Of each kind. Profiles are large: this is a matter of seconds, not of memory.
constexpr std::uint32_t profiles_limit = 10'000;
constexpr std::uint32_t baseline_limit = 200;

// The ids of one side; empty: something is wrong with them.
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

std::vector<reports::ComparedRun> compared(const std::vector<StoredRun>& runs) {
    std::vector<reports::ComparedRun> list;
    for (const StoredRun& run : runs) {
        reports::ComparedRun& entry = list.emplace_back();
        entry.duration_ns = run.duration_ns;
        if (!run.stages.empty()) entry.stages.push_back({"begin", run.stages.front().at_ns});
        for (const StoredStage& stage : run.stages) entry.stages.push_back({stage.name, stage.duration_ns});
    }
    return list;
}

json::object difference_json(const reports::Difference& difference) {
    return {{"difference_ns", json_signed(static_cast<double>(difference.difference_ns))},
            {"low_ns", json_signed(static_cast<double>(difference.low_ns))},
            {"high_ns", json_signed(static_cast<double>(difference.high_ns))},
            {"evidence", difference.evidence}};
}

json::object set_json(std::uint64_t runs, std::uint64_t median_ns) {
    return {{"runs", json_number(runs)}, {"median_ns", json_number(median_ns)}};
}

double share_of(double value) { return std::clamp(value, 0.0, 1.0); }

json::object cause_json(const reports::Cause& cause) {
    json::array frames;
    for (const reports::CauseFrame& frame : cause.frames)
        frames.push_back({{"function", frame.function}, {"module", frame.module}});
    json::array builds;
    for (const reports::CauseBuild& build : cause.builds)
        builds.push_back({{"build", build.build},
                          {"runs", json_number(build.runs)},
                          {"affected", json_number(build.affected)},
                          {"excess_ns", json_number(build.excess_ns)}});
    json::value example = nullptr;
    if (cause.example) example = {{"bundle", cause.example->bundle}, {"delay", cause.example->delay}};
    return {{"signature", cause.signature},
            {"title", cause.title},
            {"state", std::string(words_of(cause.state))},
            {"reason", cause.reason},
            {"frames", std::move(frames)},
            {"excess_ns", json_number(cause.excess_ns)},
            {"affected_runs", json_number(cause.affected_runs)},
            {"hosts", json_number(cause.hosts)},
            {"users", json_number(cause.users)},
            {"share", share_of(cause.share)},
            {"p_value", share_of(cause.p_value)},
            {"q_value", share_of(cause.q_value)},
            {"single_host", cause.single_host},
            {"builds", std::move(builds)},
            {"example", std::move(example)}};
}

// Hands the profiles of delayed or of normal runs to the finder.
Status add_profiles(Store& store, const Filter& filter, bool delayed, reports::CauseFinder& finder) {
    return store.profiles(filter, delayed, profiles_limit, [&](StoredDelay&& stored) {
        const auto profile = analysis::read_run_profile(stored.delay.profile);
        // What an older or damaged profile can not tell is left out.
        if (!profile) return true;
        reports::ProfiledRun run;
        run.delayed = delayed;
        run.host = std::move(stored.host);
        run.user = std::move(stored.delay.user);
        run.build = std::move(stored.delay.build);
        run.begin_realtime_ns = stored.delay.begin_realtime_ns;
        run.bundle = std::move(stored.bundle);
        run.delay = stored.delay.number;
        finder.add(run, *profile);
        return true;
    });
}

json::object flame_json(const analysis::Flame& flame) {
    json::array nodes;
    nodes.reserve(flame.nodes.size());
    for (const analysis::FlameNode& node : flame.nodes)
        nodes.push_back(json::array{node.parent, node.name, json_number(node.value_ns), json_number(node.baseline_ns),
                                    static_cast<int>(node.kind)});
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

Result<std::vector<analysis::RunProfile>> normal_profiles(BundleStore& store, const std::string& event) {
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

Reply compare_runs(RunStore& store, const Request& request) {
    const auto body = read_object(request, {"a", "b"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const auto a_ids = read_ids(object, "a");
    const auto b_ids = read_ids(object, "b");
    if (a_ids.empty() || b_ids.empty())
        return reply_of({400, "\"a\" and \"b\": expected 1 to 1000 ids of runs each, as digits in strings"});
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
    reply["confidence"] = share_of(result.confidence);
    reply["stages"] = std::move(stages);
    return json_reply(reply);
}

Reply get_causes(Store& store, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    reports::CauseFinder finder;
    for (const bool delayed : {true, false})
        if (const auto status = add_profiles(store, std::get<Filter>(filter), delayed, finder); !status)
            return failure(status.error());
    const reports::CauseReport report = finder.find();
    json::array causes;
    for (const reports::Cause& cause : report.causes) causes.push_back(cause_json(cause));
    json::value silent = nullptr;
    if (report.silent_because) silent = json::string(*report.silent_because);
    return json_reply(json::object{{"delayed_runs", json_number(report.delayed_runs)},
                                   {"normal_runs", json_number(report.normal_runs)},
                                   {"bundles", json_number(report.bundles)},
                                   {"causes", std::move(causes)},
                                   {"silent_because", std::move(silent)}});
}

Reply get_profile(BundleStore& store, const Route& route) {
    const auto state = route.parameter("state").value_or("all");
    const auto against = route.parameter("against");
    if (state != "all" && state != "on-cpu" && state != "off-cpu")
        return reply_of({400, "\"state\": expected all, on-cpu or off-cpu"});
    if (against && *against != "normal") return reply_of({400, "\"against\": expected normal"});
    const auto row = store.find(route.arguments[0]);
    if (!row) return failure(row.error());
    if (!*row) return reply_of({404, "there is no such bundle"});
    if (!(*row)->bad_reason.empty())
        return reply_of({422, "the bundle is kept but can not be read: " + (*row)->bad_reason});
    const auto number = read_digits(route.arguments[1]);
    const auto delays = store.delays(route.arguments[0]);
    if (!delays) return failure(delays.error());
    const auto found = std::find_if(delays->begin(), delays->end(),
                                    [&](const StoredDelay& delay) { return number && delay.delay.number == *number; });
    if (found == delays->end()) return reply_of({404, "there is no such delay"});
    if (found->delay.profile.empty())
        return reply_of({422, "the bundle has no profile of this delay", "the system file says what is missing"});
    const auto profile = analysis::read_run_profile(found->delay.profile);
    if (!profile) return reply_of({422, "the profile can not be read: " + profile.error().message});
    std::vector<analysis::RunProfile> baseline;
    if (against) {
        auto normal = normal_profiles(store, found->delay.event);
        if (!normal) return failure(normal.error());
        baseline = std::move(normal).value();
    }
    const analysis::FlameTime time = state == "on-cpu"    ? analysis::FlameTime::OnCpu
                                     : state == "off-cpu" ? analysis::FlameTime::OffCpu
                                                          : analysis::FlameTime::All;
    return json_reply(flame_json(analysis::flame_of(*profile, baseline, time)));
}

}  // namespace lagtrap::server
