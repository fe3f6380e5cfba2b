#include "server/api/cause_routes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analysis/flame.hpp"
#include "analysis/run_profile.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "server/api/cause_change.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/report_routes.hpp"
#include "server/ingest/event_counters.hpp"
#include "server/ingest/known_causes.hpp"
#include "server/reports/causes.hpp"
#include "server/reports/worsening.hpp"

namespace lagtrap::server {
namespace {

// Of each kind. Profiles are read one at a time, so the limit bounds time, not memory.
constexpr std::uint32_t profiles_limit = 10'000;
constexpr std::uint32_t causes_default = 100;
constexpr std::size_t cause_flame_profiles = 200;  // of each kind
constexpr std::uint32_t cause_profiles_read = 2000;
constexpr std::array<std::string_view, 4> status_names{"new", "known", "resolved", "regressed"};

double share_of(double value) { return std::clamp(value, 0.0, 1.0); }

// The record of a cause, or of the cause it was merged into.
json::value record_of(const std::string& signature, const std::vector<CauseRecord>& records) {
    const auto own = std::ranges::find(records, signature, &CauseRecord::signature);
    if (own == records.end()) return nullptr;
    const auto root = std::ranges::find(records, own->root, &CauseRecord::id);
    return cause_record_json(root == records.end() ? *own : *root);
}

struct BuildTotal {
    std::uint64_t runs = 0, delays = 0;
};
using BuildTotals = std::map<std::string, BuildTotal>;

// The runs of each build, most of which are not recorded.
Result<BuildTotals> build_totals(const SummaryStore& store, const Filter& filter) {
    TRY_ASSIGN(const auto points, store.trend(filter));
    BuildTotals totals;
    for (const TrendPoint& point : points) {
        totals[point.build].runs += point.runs;
        totals[point.build].delays += point.delays;
    }
    return totals;
}

// The share of all runs of a build that the cause delays: its share of the recorded delays, which
// are a sample, by the share of delays.
json::value rate_of(const reports::CauseBuild& build, const BuildTotals& totals) {
    const auto found = totals.find(build.build);
    if (found == totals.end() || found->second.runs == 0 || build.delayed == 0) return nullptr;
    return share_of(static_cast<double>(build.affected) / static_cast<double>(build.delayed) *
                    static_cast<double>(found->second.delays) /
                    static_cast<double>(found->second.runs));
}

json::object cause_json(const reports::Cause& cause, const std::vector<CauseRecord>& records,
                        const BuildTotals& totals) {
    json::array frames;
    for (const reports::CauseFrame& frame : cause.frames)
        frames.push_back({{"function", frame.function}, {"module", frame.module}});
    json::array builds;
    for (const reports::CauseBuild& build : cause.builds)
        builds.push_back({{"build", build.build},
                          {"runs", json_number(build.runs)},
                          {"delayed", json_number(build.delayed)},
                          {"affected", json_number(build.affected)},
                          {"rate", rate_of(build, totals)},
                          {"excess_ns", json_number(build.excess_ns)}});
    json::value example = nullptr;
    if (cause.example)
        example = {{"bundle", cause.example->bundle}, {"delay", cause.example->delay}};
    return {{"signature", cause.signature},
            {"title", cause.title},
            {"state", std::string(to_text(cause.state))},
            {"reason", cause.reason},
            {"frames", std::move(frames)},
            {"excess_ns", json_number(cause.excess_ns)},
            {"normal_ns", json_number(cause.normal_ns)},
            {"affected_runs", json_number(cause.affected_runs)},
            {"hosts", json_number(cause.hosts)},
            {"users", json_number(cause.users)},
            {"share", share_of(cause.share)},
            {"p_value", share_of(cause.p_value)},
            {"q_value", share_of(cause.q_value)},
            {"single_host", cause.single_host},
            {"builds", std::move(builds)},
            {"example", std::move(example)},
            {"record", record_of(cause.signature, records)}};
}

json::array counts_json(const std::vector<CauseCount>& counts, const char* what) {
    json::array list;
    for (const CauseCount& count : counts)
        list.push_back({{what, count.name},
                        {"delays", json_number(count.delays)},
                        {"first_ns", json_digits(count.first_realtime_ns)},
                        {"last_ns", json_digits(count.last_realtime_ns)}});
    return list;
}

// Of one day.
struct DayTotal {
    std::uint64_t runs = 0, delays = 0, searched = 0;
};

// What else is known of the days of a cause.
struct DaysOfEvent {
    std::map<std::uint64_t, DayTotal> totals;                         // by begin
    std::vector<std::pair<std::uint64_t, std::string>> builds_began;  // day and build, oldest first
};

Result<DaysOfEvent> days_of_event(const Evidence& evidence, const CauseLife& life,
                                  std::uint64_t now_ns) {
    constexpr std::uint64_t min_days_ns = 14 * reports::day_length_ns;
    constexpr std::uint64_t max_days_ns = 400 * reports::day_length_ns;
    const std::uint64_t newest_ns =
        life.days.empty() ? now_ns : std::max(now_ns, life.days.back().from_ns);
    const std::uint64_t wanted_ns = std::min(life.days.empty() ? now_ns : life.days.front().from_ns,
                                             now_ns - std::min(now_ns, min_days_ns));
    const std::uint64_t from_ns = std::max(wanted_ns, newest_ns - std::min(newest_ns, max_days_ns));
    Filter filter;
    filter.event = life.cause.event;
    filter.from_ns = from_ns - std::min(from_ns, reports::day_length_ns);
    DaysOfEvent days;
    TRY_ASSIGN(const auto points, evidence.summaries().trend(filter));
    TRY_ASSIGN(const auto searched, evidence.delays().searched_by_day(filter));
    std::set<std::string> builds;
    for (const TrendPoint& point : points) {
        days.totals[point.from_ns].runs += point.runs;
        days.totals[point.from_ns].delays += point.delays;
        if (builds.insert(point.build).second && point.from_ns >= from_ns && !point.build.empty())
            days.builds_began.emplace_back(point.from_ns, point.build);
    }
    for (const auto& [day, delays] : searched) days.totals[day].searched = delays;
    return days;
}

// As rate_of().
json::value rate_of_day(const CauseDay& day, const DaysOfEvent& days) {
    const auto found = days.totals.find(day.from_ns);
    if (found == days.totals.end() || found->second.runs == 0 || found->second.searched == 0)
        return nullptr;
    const DayTotal& total = found->second;
    return share_of(static_cast<double>(day.delays) / static_cast<double>(total.searched) *
                    static_cast<double>(total.delays) / static_cast<double>(total.runs));
}

json::object life_json(const CauseLife& life, const DaysOfEvent& event_days) {
    json::object object = cause_record_json(life.cause);
    json::error_code error;
    json::value frames = json::parse(life.cause.frames, error);
    object["frames"] = !error && frames.is_array() ? std::move(frames) : json::value(json::array{});
    json::array parts, days, builds, delays;
    for (const CauseRecord& part : life.parts) parts.push_back(cause_record_json(part));
    for (const CauseDay& day : life.days)
        days.push_back({{"from_ns", json_digits(day.from_ns)},
                        {"delays", json_number(day.delays)},
                        {"rate", rate_of_day(day, event_days)}});
    for (const auto& [from_ns, build] : event_days.builds_began)
        builds.push_back({{"build", build}, {"from_ns", json_digits(from_ns)}});
    for (const CauseSighting& sighting : life.sightings)
        delays.push_back({{"bundle", text_or_null(sighting.bundle)},
                          {"delay", sighting.delay},
                          {"host", sighting.host},
                          {"build", sighting.build},
                          {"begin_ns", json_digits(sighting.begin_realtime_ns)},
                          {"excess_ns", json_number(sighting.excess_ns)}});
    object["delays"] = json_number(life.delays);
    object["parts"] = std::move(parts);
    object["by_host"] = counts_json(life.hosts, "host");
    object["by_build"] = counts_json(life.builds, "build");
    object["by_holder"] = counts_json(life.holders, "holder");
    object["days"] = std::move(days);
    object["builds"] = std::move(builds);
    object["newest_delays"] = std::move(delays);
    return object;
}

// Delays of a cause, and the others of its event.
struct CauseProfiles {
    std::vector<analysis::RunProfile> own, others;
};

// Others of the same time; if there are not enough, those from before the cause.
Result<CauseProfiles> cause_profiles(const DelayStore& store, const CauseLife& life) {
    std::set<std::pair<std::string, std::uint32_t>> own;
    std::uint64_t oldest_ns = INT64_MAX;
    for (const CauseSighting& sighting : life.sightings) {
        own.emplace(sighting.bundle, sighting.delay);
        oldest_ns = std::min(oldest_ns, sighting.begin_realtime_ns);
    }
    CauseProfiles profiles;
    const auto take = [&](StoredDelay&& stored) {
        auto& list =
            own.contains({stored.bundle, stored.delay.number}) ? profiles.own : profiles.others;
        if (list.size() < cause_flame_profiles)
            if (auto profile = analysis::read_run_profile(stored.delay.profile))
                list.push_back(std::move(profile).value());
        return std::min(profiles.own.size(), profiles.others.size()) < cause_flame_profiles;
    };
    Filter filter;
    filter.event = life.cause.event;
    filter.from_ns = oldest_ns;
    TRY(store.profiles(filter, true, cause_profiles_read, take));
    if (profiles.others.size() >= cause_flame_profiles || life.sightings.size() < life.delays)
        return profiles;
    filter.from_ns = {};
    filter.to_ns = oldest_ns;
    TRY(store.profiles(filter, true, cause_flame_profiles, take));
    return profiles;
}

Reply no_such_cause() { return reply_of({404, "there is no such cause"}); }

}  // namespace

json::object cause_record_json(const CauseRecord& cause) {
    return {{"id", json_digits(cause.id)},
            {"part_of",
             cause.root == cause.id ? json::value(nullptr) : json::value(json_digits(cause.root))},
            {"event", cause.event},
            {"signature", cause.signature},
            {"title", cause.title},
            {"state", cause.state},
            {"reason", cause.reason},
            {"holder", text_or_null(cause.holder)},
            {"status", status_names[static_cast<std::size_t>(cause.status)]},
            {"first_ns", json_digits(cause.first_realtime_ns)},
            {"last_ns", json_digits(cause.last_realtime_ns)},
            {"noticed_ns", json_digits(cause.noticed_realtime_ns)},
            {"resolved_ns", cause.resolved_realtime_ns == 0
                                ? json::value(nullptr)
                                : json::value(json_digits(cause.resolved_realtime_ns))},
            {"resolved_build", text_or_null(cause.resolved_build)},
            {"regressed_ns", cause.regressed_realtime_ns == 0
                                 ? json::value(nullptr)
                                 : json::value(json_digits(cause.regressed_realtime_ns))},
            {"owner", cause.owner},
            {"note", cause.note},
            {"link", cause.link},
            {"changed_by", text_or_null(cause.changed_by)},
            {"delays", json_number(cause.delays)},
            {"hosts", json_number(cause.hosts)}};
}

Reply get_causes(const Evidence& evidence, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    reports::CauseFinder finder;
    if (const auto status =
            add_profiles(evidence.delays(), std::get<Filter>(filter), profiles_limit, finder);
        !status)
        return failure(status.error());
    const auto records = evidence.causes().list(route.arguments[0], known_causes_limit);
    if (!records) return failure(records.error());
    const auto totals = build_totals(evidence.summaries(), std::get<Filter>(filter));
    if (!totals) return failure(totals.error());
    const reports::CauseReport report = finder.find();
    json::array causes;
    for (const reports::Cause& cause : report.causes)
        causes.push_back(cause_json(cause, *records, *totals));
    json::value silent = nullptr;
    if (report.silent_because) silent = json::string(*report.silent_because);
    return json_reply(json::object{{"delayed_runs", json_number(report.delayed_runs)},
                                   {"normal_runs", json_number(report.normal_runs)},
                                   {"bundles", json_number(report.bundles)},
                                   {"runs_left_out", json_number(report.runs_left_out)},
                                   {"causes", std::move(causes)},
                                   {"unexplained_share", share_of(report.unexplained_share)},
                                   {"silent_because", std::move(silent)}});
}

std::string cause_metrics(const std::vector<CauseTotal>& totals) {
    std::string text =
        "# HELP lagtrap_event_causes Causes of delays that are known, by event and status.\n"
        "# TYPE lagtrap_event_causes gauge\n";
    for (const CauseTotal& total : totals)
        fmt::format_to(std::back_inserter(text),
                       "lagtrap_event_causes{{event=\"{}\",status=\"{}\"}} {}\n",
                       label_value(total.event),
                       status_names.at(static_cast<std::size_t>(total.status)), total.causes);
    return text;
}

Reply list_causes(const CauseStore& store, const Route& route) {
    const auto page = read_page(route, causes_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    std::optional<std::string> event;
    if (const auto named = route.parameter("event"); named && !named->empty())
        event = std::string(*named);
    const auto found = store.list(event, std::get<PageQuestion>(page).limit);
    if (!found) return failure(found.error());
    json::array list;
    for (const CauseRecord& cause : *found) list.push_back(cause_record_json(cause));
    return json_reply(json::object{{"causes", std::move(list)}});
}

Reply get_cause(const Evidence& evidence, const Route& route) {
    const auto id = read_digits(route.arguments[0]);
    if (!id) return no_such_cause();
    const auto found = evidence.causes().find_cause(*id);
    if (!found) return failure(found.error());
    if (!*found) return no_such_cause();
    const auto days = days_of_event(evidence, **found, ClockSnapshot::take().realtime_ns);
    if (!days) return failure(days.error());
    return json_reply(life_json(**found, *days));
}

Reply get_cause_flame(const Evidence& evidence, const Route& route) {
    const auto time = read_flame_time(route);
    if (const auto* wrong = std::get_if<Refusal>(&time)) return reply_of(*wrong);
    const auto id = read_digits(route.arguments[0]);
    if (!id) return no_such_cause();
    const auto found = evidence.causes().find_cause(*id);
    if (!found) return failure(found.error());
    if (!*found) return no_such_cause();
    const auto profiles = cause_profiles(evidence.delays(), **found);
    if (!profiles) return failure(profiles.error());
    json::object flame = flame_json(analysis::flame_of_means(profiles->own, profiles->others,
                                                             std::get<analysis::FlameTime>(time)));
    flame["runs"] = json_number(profiles->own.size());
    return json_reply(flame);
}

Reply change_cause(const Evidence& evidence, Audit& audit, const Route& route,
                   const Principal& principal, const Request& request) {
    const auto body = read_object(
        request, {"(status)", "(resolved_build)", "(owner)", "(note)", "(link)", "(part_of)"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    auto read = read_cause_change(std::get<json::object>(body));
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    CauseChange& change = std::get<CauseChange>(read);
    change.by = who_of(principal);
    change.at_realtime_ns = ClockSnapshot::take().realtime_ns;
    const auto id = read_digits(route.arguments[0]);
    if (!id) return no_such_cause();
    const auto changed = evidence.causes().change_cause(*id, change);
    if (!changed && changed.error().kind == ErrorKind::Invalid)
        return reply_of({400, changed.error().message});
    if (!changed) return failure(changed.error());
    if (!*changed) return no_such_cause();
    audit.note(change.by, "change cause", route.arguments[0],
               printable(request.body).substr(0, 200));
    return get_cause(evidence, route);
}

}  // namespace lagtrap::server
