#include "daemon/status/event_report.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "core/text.hpp"
#include "daemon/status/party_report.hpp"

namespace lagtrap::daemon {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

array histogram(const EventCounters& counters) {
    array buckets;
    for (std::uint32_t i = 0; i < counters.histogram.size(); ++i)
        if (counters.histogram[i] != 0)
            buckets.push_back({{"from_ns", lagtrap_histogram_bucket_start_ns(i)},
                               {"to_ns", lagtrap_histogram_bucket_start_ns(i + 1)},
                               {"count", counters.histogram[i]}});
    return buckets;
}

std::string marker_text(const settings::Marker& marker) {
    switch (marker.kind) {
        case settings::MarkerKind::Usdt:
        case settings::MarkerKind::Library:
            return "USDT probe " + marker.provider + ":" + marker.name;
        case settings::MarkerKind::Tracepoint:
            return "tracepoint " + marker.provider + ":" + marker.name;
        case settings::MarkerKind::RunQueue: return "wait for a CPU " + marker.name;
        case settings::MarkerKind::Function: break;
    }
    return (marker.side == settings::FunctionSide::Return ? "return of " : "function ") +
           marker.name;
}

object marker_report(const char* role, const settings::Marker& marker,
                     const lagtrap_marker_count& count, const ClockSnapshot& now) {
    const std::uint64_t ago_ns =
        now.monotonic_ns - std::min<std::uint64_t>(now.monotonic_ns, count.last_ns);
    boost::json::value last;
    if (count.last_ns != 0) last = now.realtime_ns - ago_ns;
    return {{"role", role},
            {"marker", printable(marker_text(marker))},
            {"binary", printable(marker.binary)},
            {"hits", count.hits},
            {"unmatched", count.unmatched},
            {"last_realtime_ns", last}};
}

array marker_reports(const settings::Event& event, const EventCounters& counters,
                     const ClockSnapshot& now) {
    array markers{marker_report("begin", event.begin, counters.begins(), now)};
    for (std::size_t stage = 0; stage < event.stages.size() && stage < LAGTRAP_MAX_STAGES;
         ++stage) {
        object one = marker_report("stage", event.stages[stage].marker,
                                   counters.markers[LAGTRAP_PLACE_STAGE + stage], now);
        one["stage"] = event.stages[stage].name;
        markers.push_back(std::move(one));
    }
    markers.push_back(marker_report("end", event.end, counters.ends(), now));
    return markers;
}

const char* finding_name(PairingFinding::Kind kind) {
    using Kind = PairingFinding::Kind;
    switch (kind) {
        case Kind::NoEnd: return "no-end";
        case Kind::NoBegin: return "no-begin";
        case Kind::OutOfScope: return "out-of-scope";
        case Kind::BeginsUnended: return "begins-unended";
        case Kind::EndsUnbegun: return "ends-unbegun";
        case Kind::NotBelieved: return "not-believed";
        case Kind::Crowded: return "crowded";
        case Kind::SemaphoreUnseen: return "semaphore-unseen";
    }
    return "";
}

const char* nesting_name(settings::Nesting nesting) {
    switch (nesting) {
        case settings::Nesting::Each: return "each";
        case settings::Nesting::Outermost: return "outermost";
        case settings::Nesting::Restart: return "restart";
    }
    return "";
}

const char* key_name(const settings::Event& event, const EventStatus& status) {
    if (event.key != settings::KeyKind::Thread) return "argument";
    return status.by_goroutine ? "goroutine" : "thread";
}

object groups_report(const ScopedGroups& groups) {
    object not_known;
    for (const auto& [what, containers] : groups.not_known) not_known[what] = containers;
    return {{"groups", groups.groups},
            {"not_known", std::move(not_known)},
            {"problem", printable(groups.problem)}};
}

object copy_report(const CopyStatus& copy) {
    return {{"path", printable(copy.path)},
            {"where", printable(copy.where)},
            {"pid", copy.pid},
            {"processes", copy.processes},
            {"problem", printable(copy.problem)}};
}

array copy_reports(const std::vector<CopyStatus>& copies) {
    array reports;
    for (const CopyStatus& copy : copies) reports.push_back(copy_report(copy));
    return reports;
}

array unit_reports(const std::map<std::string, std::uint64_t>& processes_by_unit) {
    array reports;
    for (const auto& [unit, processes] : processes_by_unit)
        reports.push_back({{"unit", printable(unit)}, {"processes", processes}});
    return reports;
}

// The parties that are not watched, and the reasons; all others are.
array limit_reports(const EventSurroundings& surroundings) {
    array limits;
    const std::uint64_t now_ns = surroundings.now.monotonic_ns;
    for (const OverheadBudget::Limit& limit : surroundings.limits) {
        const std::chrono::nanoseconds again_in(limit.again_ns - std::min(limit.again_ns, now_ns));
        object one{
            {"pid", limit.who.pid == 0 ? boost::json::value() : boost::json::value(limit.who.pid)},
            {"reason", limit.reason},
            {"again_in_seconds", std::chrono::duration<double>(again_in).count()}};
        add_party(one, limit.who.party);
        limits.push_back(std::move(one));
    }
    return limits;
}

// Delays by what took most of their time.
object delays_mostly_report(const std::array<std::uint64_t, LAGTRAP_DELAY_PARTS>& delays) {
    array blocked;
    for (std::size_t part = LAGTRAP_DELAY_BLOCKED; part < delays.size(); ++part)
        blocked.push_back(delays[part]);
    return {{"on_cpu", delays[LAGTRAP_DELAY_ON_CPU]},
            {"runnable", delays[LAGTRAP_DELAY_RUNNABLE]},
            {"throttled", delays[LAGTRAP_DELAY_THROTTLED]},
            {"handed_over", delays[LAGTRAP_DELAY_HANDED_OVER]},
            {"not_known", delays[LAGTRAP_DELAY_NOT_KNOWN]},
            {"blocked", std::move(blocked)}};
}

// How complete the event's data is while the budget has disabled a part of it.
object precision_of(const settings::Event& event, const EventStatus& status,
                    const EventSurroundings& surroundings) {
    const bool in_part = surroundings.watched_ppm < 1'000'000;
    const bool timed = status.armed || (status.disabled && in_part);
    const std::uint64_t since_ns = surroundings.stages_since_ns;
    const char* count = "exact";
    if (timed && in_part && !surroundings.counts_all) count = "estimated";
    if (!timed && !status.counted) count = "none";
    return {{"stages", event.stages.empty() ? "none"
                       : since_ns != 0      ? "off"
                                            : "on"},
            {"stages_off_since_realtime_ns",
             since_ns == 0 ? value() : value(surroundings.now.to_realtime_ns(since_ns))},
            {"timed_share", timed ? static_cast<double>(surroundings.watched_ppm) / 1e6 : 0.0},
            {"count", count}};
}

array absent_paths(const EventCopies& copies) {
    array paths;
    for (const std::string& path : copies.absent) paths.emplace_back(printable(path));
    return paths;
}

}  // namespace

object event_report(const settings::Event& event, const EventStatus& status,
                    const EventSurroundings& surroundings) {
    const EventCounters& counters = status.counters;
    const RunCounters& runs = status.runs;
    boost::json::value recorded;
    if (status.records_runs)
        recorded = {{"reported", runs.reported},
                    {"sampled_away", runs.sampled_away},
                    {"ring_full", runs.ring_full},
                    {"stacks_lost", runs.stacks_lost}};
    array pairing;
    for (const PairingFinding& finding : status.pairing)
        pairing.push_back({{"kind", finding_name(finding.kind)}, {"sentence", finding.sentence}});
    const std::uint64_t now_ns = surroundings.now.monotonic_ns, oldest_ns = status.open.oldest_ns;
    return {{"name", status.name},
            {"threshold_ns", status.threshold_ns},
            {"breach", event.breach == settings::BreachMode::Deadline ? "deadline" : "end"},
            {"nesting", nesting_name(event.nesting)},
            {"key", key_name(event, status)},
            {"scope_binary", printable(event.scope.binary)},
            {"armed", status.armed},
            {"arming", status.arming},
            {"problem", status.problem},
            {"disabled", status.disabled},
            {"counting", status.counted},
            {"counted", counters.counted},
            {"trace_texts_lost", counters.texts_lost},
            {"stacks_disabled", status.stacks_disabled},
            {"stages_disabled", status.stages_disabled},
            {"stages_again_in_seconds",
             std::chrono::duration<double>(surroundings.stages_again_in).count()},
            {"precision", precision_of(event, status, surroundings)},
            {"watched_share", static_cast<double>(surroundings.watched_ppm) / 1e6},
            {"again_in_seconds", std::chrono::duration<double>(surroundings.again_in).count()},
            {"disabled_at_look", surroundings.disabled_at.look},
            {"over_since_look", surroundings.disabled_at.over_since},
            {"scope_groups", status.groups ? value(groups_report(*status.groups)) : value()},
            {"files", status.copies.files},
            {"processes", status.copies.processes},
            {"processes_by_unit", unit_reports(status.copies.processes_by_unit)},
            {"pid", status.copies.pid},
            {"copies_problem", printable(status.copies.problem)},
            {"files_left_out", status.copies.left_out},
            {"copies", copy_reports(status.copies.copies)},
            {"absent", absent_paths(status.copies)},
            {"namesake",
             status.copies.namesake ? value(copy_report(*status.copies.namesake)) : value()},
            {"hits", counters.hits()},
            {"out_of_scope", counters.out_of_scope},
            {"limited", counters.limited},
            {"limits", limit_reports(surroundings)},
            {"markers", marker_reports(event, counters, surroundings.now)},
            {"pairing", std::move(pairing)},
            {"runs", counters.runs()},
            {"delays", counters.delays},
            {"unmatched_begins", counters.begins().unmatched},
            {"unmatched_ends", counters.ends().unmatched},
            {"unmatched_stages", counters.unmatched_stages()},
            {"abandoned", counters.abandoned},
            {"left_by_exception", counters.left},
            {"failed", counters.failed},
            {"cancelled", counters.cancelled},
            {"lost", counters.lost},
            {"expired", counters.expired},
            {"too_deep", counters.too_deep},
            {"open", status.open.open},
            {"open_overdue", status.open.overdue},
            {"oldest_open_ns", oldest_ns == 0 ? 0 : now_ns - std::min(now_ns, oldest_ns)},
            {"recordings", surroundings.recordings},
            {"max_ns", counters.max_ns},
            {"timed",
             {{"ns", counters.timed_ns},
              {"on_cpu_ns", counters.on_cpu_ns},
              {"runnable_ns", counters.runnable_ns},
              {"handed_over_ns", counters.handed_over_ns},
              {"left_out", counters.untimed}}},
            {"delays_mostly", delays_mostly_report(counters.delays_mostly)},
            {"recorded", std::move(recorded)},
            {"histogram", histogram(counters)}};
}

}  // namespace lagtrap::daemon
