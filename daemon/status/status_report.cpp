#include "daemon/status/status_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "core/files.hpp"
#include "core/text.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/status/event_report.hpp"
#include "daemon/status/party_report.hpp"

namespace lagtrap::daemon {
namespace {

const char* state_name(const CaptureController& controller) {
    switch (controller.state()) {
        case CaptureState::Waiting: return controller.merges().is_running() ? "merging" : "waiting";
        case CaptureState::Confirming: return "confirming";
        case CaptureState::Recording: return "recording";
        case CaptureState::CoolingDown:
            return controller.merges().is_running() ? "merging" : "cooling-down";
    }
    return "waiting";
}

boost::json::object cost_report(const CaptureController& controller) {
    std::uint64_t resident_pages = 0;
    if (const auto statm = read_file("/proc/self/statm", 4096)) {
        const auto at = statm->find(' ');
        if (at != std::string::npos)
            std::from_chars(statm->data() + at + 1, statm->data() + statm->size(), resident_pages);
    }
    // The run time of marker programs is counted only while BPF statistics are on, which is during
    // captures.
    return {{"bpf_run_time_ns", use_of_programs(controller.monitor().program_fds()).run_time_ns},
            {"daemon_cpu_ns", daemon_cpu_ns()},
            {"memory_bytes", resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))}};
}

boost::json::array users_without_captures(const CaptureController& controller) {
    boost::json::array users;
    for (const auto& [party, until] : controller.parties_without_captures()) {
        const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
        boost::json::object user{{"seconds_left", std::max(0.0, left.count())}};
        add_party(user, party);
        users.push_back(std::move(user));
    }
    return users;
}

// Null if delays of the event begin recordings.
boost::json::value closed_report(const CaptureController& controller, const std::string& event) {
    const auto closed = controller.events_without_captures().find(event);
    if (closed == controller.events_without_captures().end()) return nullptr;
    const auto reason_name = [](CaptureLimits::Reason reason) {
        switch (reason) {
            case CaptureLimits::Reason::HourlyLimit: return "hourly-limit";
            case CaptureLimits::Reason::EventShare: return "event-share";
            case CaptureLimits::Reason::DailyLimit: return "daily-limit";
            case CaptureLimits::Reason::Questions: return "questions";
            case CaptureLimits::Reason::CoolDown: break;
        }
        return "cool-down";
    };
    const std::chrono::duration<double> left =
        closed->second.until - std::chrono::steady_clock::now();
    return boost::json::object{{"reason", reason_name(closed->second.reason)},
                               {"seconds_left", std::max(0.0, left.count())}};
}

boost::json::object budget_report(const OverheadStatus& status) {
    return {{"used_ppm", status.used_ppm},
            {"share_ppm", status.share_ppm},
            {"recording_share_ppm", status.recording_share_ppm},
            {"looks", status.looks},
            {"exhausted", status.exhausted},
            {"times_shed", status.times_shed},
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

boost::json::object batches_report(const RunReporter& reporter) {
    const BatchTotals totals = reporter.totals();
    return {{"written", totals.written},     {"runs", totals.written_runs},
            {"bytes", totals.written_bytes}, {"failed", totals.failed},
            {"lost_runs", totals.lost_runs}, {"removed", totals.removed},
            {"problem", reporter.problem()}};
}

boost::json::value early_report(const EventMonitor& monitor) {
    const BreachWatch::Early early = monitor.breaches().early();
    const EarlyCounts& counts = early.counts;
    if (counts.since_ns == 0) return nullptr;
    boost::json::array points;
    for (std::size_t event = 0; event < early.points_ns.size(); ++event) {
        const std::uint64_t point_ns = early.points_ns[event];
        const bool has_none = point_ns == LAGTRAP_NEVER_NS;
        points.push_back(
            {{"event", monitor.events()[event].name},
             {"point_ns", has_none ? boost::json::value() : boost::json::value(point_ns)}});
    }
    return {{"begun", counts.begun},
            {"kept", counts.kept},
            {"dropped", counts.dropped},
            {"outgrown", counts.outgrown},
            {"held_back", counts.held_back},
            {"time_ns", counts.time_ns},
            {"watched_ns", monotonic_ns() - counts.since_ns},
            {"points", std::move(points)}};
}

boost::json::value window_report(const CaptureController& controller,
                                 const settings::Settings& settings) {
    const Recorder::History history = controller.history();
    if (!history.is_kept) return nullptr;
    return {{"length_ns", static_cast<std::uint64_t>(settings.history.length.count())},
            {"sample_interval_ns",
             static_cast<std::uint64_t>(settings.history.sample_interval.count())},
            {"size_bytes", history.size_bytes},
            {"cut", history.cut},
            {"lost", history.lost}};
}

// Spool entries that the daemon itself removed, by their state.
boost::json::object spool_report(const SpoolKept& kept) {
    return {{"removed_sent", kept.removed.sent},
            {"removed_rejected", kept.removed.rejected},
            {"removed_unsent", kept.removed.unsent},
            {"removed_bytes", kept.removed.bytes},
            {"problem", printable(kept.problem)}};
}

boost::json::object pending_report(const Unanswered::Question& question) {
    const std::chrono::duration<double> left = question.until - std::chrono::steady_clock::now();
    return {{"event", question.event},
            {"session", question.session},
            {"process", question.process},
            {"recorded", question.complete},
            {"seconds_left", std::max(0.0, left.count())}};
}

boost::json::object capture_report(const CaptureController& controller, double seconds_left) {
    boost::json::value event = boost::json::string(controller.current_event()), client;
    if (const auto by = controller.current_client()) {
        event = nullptr;
        client = {{"pid", by->pid}, {"uid", by->uid}};
    }
    return {{"session", controller.current_session()},
            {"event", std::move(event)},
            {"client", std::move(client)},
            {"seconds_left", seconds_left}};
}

}  // namespace

boost::json::object status_report(const CaptureController& controller, const Unwinder& unwinder,
                                  const RunReporter& reporter, const SpoolKeeper& keeper,
                                  const OverheadWatch& overhead, const ServiceFacts& facts,
                                  const settings::Settings& settings) {
    const double seconds_left = std::max(
        0.0,
        std::chrono::duration<double>(controller.state_ends() - std::chrono::steady_clock::now())
            .count());
    boost::json::value pending;
    boost::json::value capture;
    if (controller.state() == CaptureState::Confirming)
        pending = pending_report(*controller.question());
    if (controller.busy()) capture = capture_report(controller, seconds_left);
    boost::json::value cool_down;
    if (controller.state() == CaptureState::CoolingDown)
        cool_down = {{"seconds_left", seconds_left},
                     {"hourly_limit", controller.hourly_limit_reached()}};
    boost::json::value last;
    if (const auto& bundle = controller.merges().last_bundle())
        last = {{"path", bundle->path},
                {"digest", bundle->digest},
                {"session", bundle->session},
                {"event", bundle->event}};
    boost::json::value held_up;
    if (const auto& by = controller.merges().held_up()) {
        boost::json::value user;
        if (by->file.uid) user = *by->file.uid;
        held_up = {{"session", by->session}, {"path", by->file.path}, {"user", std::move(user)}};
    }
    boost::json::array events;
    const auto statuses = controller.monitor().status();
    const auto now = ClockSnapshot::take();
    for (std::uint32_t i = 0; i < statuses.size(); ++i) {
        boost::json::object event = event_report(
            settings.events[i], statuses[i],
            {overhead.watched_ppm(i), overhead.again_in(i), overhead.stages_again_in(i),
             overhead.stages_since_ns(i), overhead.counts_all(i), overhead.shed_at(i),
             overhead.limits(i), controller.begun_for(settings.events[i].name), now});
        event["without_recordings"] = closed_report(controller, settings.events[i].name);
        events.push_back(std::move(event));
    }
    const CaptureCounts counts = controller.counts();
    const MergeCounts merges = controller.merges().counts();
    return {
        {"ok", true},
        {"version", LAGTRAP_VERSION},
        {"pid", ::getpid()},
        {"started_realtime_ns", facts.started_realtime_ns},
        {"settings",
         {{"path", facts.settings_path},
          {"loaded_realtime_ns", facts.settings_loaded_realtime_ns},
          {"reload_error", facts.reload_error}}},
        {"state", state_name(controller)},
        {"pending", pending},
        {"capture", capture},
        {"cool_down", cool_down},
        {"captures",
         {{"done", merges.done},
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
          {"users_without", users_without_captures(controller)}}},
        {"last_bundle", last},
        {"merge_held_up", held_up},
        {"events", std::move(events)},
        {"batches", batches_report(reporter)},
        {"spool", spool_report(keeper.kept())},
        {"budget", budget_report(overhead.status())},
        {"unwinder", unwinder_report(unwinder.status())},
        {"history",
         {{"early", early_report(controller.monitor())},
          {"window", window_report(controller, settings)},
          {"again_in_seconds", std::chrono::duration<double>(overhead.history_again_in()).count()},
          {"times_again_in_seconds",
           std::chrono::duration<double>(overhead.times_again_in()).count()}}},
        {"cost", cost_report(controller)}};
}

void add_functions(boost::json::object& report, const EventFunctions& functions) {
    std::uint32_t number = 0;
    for (boost::json::value& event : report.at("events").as_array())
        event.as_object()["functions"] = functions.status(number++);
}

void add_thresholds(boost::json::object& report, const ThresholdKeeper& keeper) {
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    std::uint32_t number = 0;
    for (boost::json::value& event : report.at("events").as_array())
        event.as_object()["auto_threshold"] = threshold_report(keeper, number++, now_ns);
}

void add_memory(boost::json::object& report, const MemoryStatus& memory) {
    if (!memory.use) {
        report["memory"] = nullptr;
        return;
    }
    report["memory"] = {{"used_bytes", memory.use->used_bytes},
                        {"limit_bytes", memory.use->limit_bytes},
                        {"mapping_bytes", memory.mapping_bytes},
                        {"tables_held", memory.shed.tables},
                        {"merges_held", memory.shed.merges},
                        {"times_shed", memory.times_shed},
                        {"killed", memory.killed}};
}

}  // namespace lagtrap::daemon
