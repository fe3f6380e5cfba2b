#include "daemon/status/status_parts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json.hpp>

#include "core/text.hpp"
#include "daemon/status/party_report.hpp"

namespace lagtrap::daemon {
namespace {

const char* reason_name(CaptureLimits::Reason reason) {
    switch (reason) {
        case CaptureLimits::Reason::HourlyLimit: return "hourly-limit";
        case CaptureLimits::Reason::EventShare: return "event-share";
        case CaptureLimits::Reason::DailyLimit: return "daily-limit";
        case CaptureLimits::Reason::Questions: return "questions";
        case CaptureLimits::Reason::CoolDown: break;
    }
    return "cool-down";
}

}  // namespace

double seconds_until(SteadyTime until, SteadyTime now) {
    return std::max(0.0, std::chrono::duration<double>(until - now).count());
}

const char* capture_state_name(CaptureState state, bool is_merging) {
    switch (state) {
        case CaptureState::Waiting: return is_merging ? "merging" : "waiting";
        case CaptureState::Confirming: return "confirming";
        case CaptureState::Recording: return "recording";
        case CaptureState::CoolingDown: return is_merging ? "merging" : "cooling-down";
    }
    return "waiting";
}

std::uint64_t resident_bytes(std::string_view statm, std::uint64_t page_bytes) {
    std::uint64_t resident_pages = 0;
    if (const auto at = statm.find(' '); at != std::string_view::npos)
        std::from_chars(statm.data() + at + 1, statm.data() + statm.size(), resident_pages);
    return resident_pages * page_bytes;
}

boost::json::object budget_report(const OverheadStatus& status) {
    return {{"used_ppm", status.used_ppm},
            {"share_ppm", status.share_ppm},
            {"recording_share_ppm", status.recording_share_ppm},
            {"looks", status.looks},
            {"exhausted", status.exhausted},
            {"disabled_count", status.disabled_count},
            {"program_ns", status.program_ns},
            {"program_measured", status.program_measured},
            {"probe_ns", status.probes.simple_ns},
            {"probe_stepped_ns", status.probes.stepped_ns},
            {"probe_return_ns", status.probes.return_ns},
            {"probes_measured", status.probes.measured}};
}

boost::json::object unwinder_report(const UnwinderStatus& status) {
    boost::json::array largest;
    for (const auto& [path, bytes] : status.largest)
        largest.push_back({{"path", printable(path)}, {"bytes", bytes}});
    return {{"processes", status.spaces.processes},
            {"spaces", status.spaces.spaces},
            {"processes_left_out", status.spaces.processes_left_out},
            {"mappings_left_out", status.spaces.mappings_left_out},
            {"spaces_without_room", status.spaces.spaces_without_room},
            {"mapping_bytes", status.spaces.bytes},
            {"mapping_limit_bytes", status.spaces.limit_bytes},
            {"read_anew", status.spaces.read_anew},
            {"not_described", status.not_described},
            {"tables", status.tables},
            {"tables_waiting", status.tables_waiting},
            {"tables_without_room", status.tables_without_room},
            {"tables_failed", status.modules.failed},
            {"table_bytes", status.table_bytes},
            {"tables_kept", status.tables_kept},
            {"kept_bytes", status.kept_bytes},
            {"used_bytes", status.used_bytes},
            {"taken_bytes", status.taken_bytes},
            {"budget_bytes", status.budget_bytes},
            {"made", status.modules.made},
            {"make_cpu_ns", status.modules.make_cpu_ns},
            {"cached", status.modules.from_cache},
            {"from_cache_cpu_ns", status.modules.from_cache_cpu_ns},
            {"lost", status.events_lost},
            {"scans", status.scans},
            {"largest", std::move(largest)}};
}

boost::json::object batches_report(const BatchTotals& totals, const std::string& problem) {
    return {{"written", totals.written},
            {"runs", totals.written_runs},
            {"bytes", totals.written_bytes},
            {"failed", totals.failed},
            {"lost_runs", totals.lost_runs},
            {"removed", totals.removed},
            {"problem", problem}};
}

boost::json::object spool_report(const SpoolKept& kept) {
    return {{"removed_sent", kept.removed.sent},
            {"removed_rejected", kept.removed.rejected},
            {"removed_unsent", kept.removed.unsent},
            {"removed_bytes", kept.removed.bytes},
            {"problem", printable(kept.problem)}};
}

boost::json::value early_report(const BreachWatch::Early& early,
                                const std::vector<settings::Event>& events, std::uint64_t now_ns) {
    const EarlyCounts& counts = early.counts;
    if (counts.since_ns == 0) return nullptr;
    boost::json::array points;
    for (std::size_t event = 0; event < early.points_ns.size(); ++event) {
        const std::uint64_t point_ns = early.points_ns[event];
        const bool has_none = point_ns == LAGTRAP_NEVER_NS;
        points.push_back(
            {{"event", events[event].name},
             {"point_ns", has_none ? boost::json::value() : boost::json::value(point_ns)}});
    }
    return {{"begun", counts.begun},
            {"kept", counts.kept},
            {"dropped", counts.dropped},
            {"outgrown", counts.outgrown},
            {"held_back", counts.held_back},
            {"time_ns", counts.time_ns},
            {"watched_ns", now_ns - counts.since_ns},
            {"points", std::move(points)}};
}

boost::json::value window_report(const Recorder::History& history,
                                 const settings::History& settings) {
    if (!history.is_kept) return nullptr;
    return {{"length_ns", static_cast<std::uint64_t>(settings.length.count())},
            {"sample_interval_ns", static_cast<std::uint64_t>(settings.sample_interval.count())},
            {"size_bytes", history.size_bytes},
            {"cut", history.cut},
            {"lost", history.lost}};
}

boost::json::value closed_report(const std::map<std::string, CaptureLimits::Closed>& closed,
                                 const std::string& event, SteadyTime now) {
    const auto found = closed.find(event);
    if (found == closed.end()) return nullptr;
    return boost::json::object{{"reason", reason_name(found->second.reason)},
                               {"seconds_left", seconds_until(found->second.until, now)}};
}

boost::json::array parties_without_captures_report(const std::map<Party, SteadyTime>& parties,
                                                   SteadyTime now) {
    boost::json::array users;
    for (const auto& [party, until] : parties) {
        boost::json::object user{{"seconds_left", seconds_until(until, now)}};
        add_party(user, party);
        users.push_back(std::move(user));
    }
    return users;
}

boost::json::object pending_report(const Unanswered::Question& question, SteadyTime now) {
    return {{"event", question.event},
            {"session", question.session},
            {"process", question.process},
            {"recorded", question.complete},
            {"seconds_left", seconds_until(question.until, now)}};
}

boost::json::object capture_report(const std::string& session, const std::string& event,
                                   const std::optional<StreamClient>& client, double seconds_left) {
    boost::json::value of_event = boost::json::string(event), of_client;
    if (client) {
        of_event = nullptr;
        of_client = {{"pid", client->pid}, {"uid", client->uid}};
    }
    return {{"session", session},
            {"event", std::move(of_event)},
            {"client", std::move(of_client)},
            {"seconds_left", seconds_left}};
}

boost::json::value cool_down_report(CaptureState state, double seconds_left,
                                    bool hourly_limit_reached) {
    if (state != CaptureState::CoolingDown) return nullptr;
    return {{"seconds_left", seconds_left}, {"hourly_limit", hourly_limit_reached}};
}

boost::json::object captures_report(const CaptureCounts& counts, const MergeCounts& merges,
                                    boost::json::array users_without) {
    return {{"done", merges.done},
            {"failed", counts.failed},
            {"merges_failed", merges.failed},
            {"merges_over_limit", merges.over_limit},
            {"without_names", merges.without_names},
            {"waiting", merges.waiting},
            {"set_aside", merges.set_aside},
            {"removed", merges.removed},
            {"declined", counts.declined},
            {"skipped_cool_down", counts.skipped.cool_down},
            {"skipped_hourly_limit", counts.skipped.hourly_limit},
            {"skipped_event_share", counts.skipped.event_share},
            {"skipped_daily_limit", counts.skipped.daily_limit},
            {"skipped_questions", counts.skipped.questions},
            {"skipped_user_share", counts.skipped_user_share},
            {"users_without", std::move(users_without)}};
}

boost::json::value last_bundle_report(const std::optional<LastBundle>& bundle) {
    if (!bundle) return nullptr;
    return {{"path", bundle->path},
            {"digest", bundle->digest},
            {"session", bundle->session},
            {"event", bundle->event}};
}

boost::json::value held_up_report(const std::optional<HeldUp>& held_up) {
    if (!held_up) return nullptr;
    boost::json::value user;
    if (held_up->file.uid) user = *held_up->file.uid;
    return {{"session", held_up->session}, {"path", held_up->file.path}, {"user", std::move(user)}};
}

}  // namespace lagtrap::daemon
