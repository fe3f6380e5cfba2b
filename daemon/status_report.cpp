#include "daemon/status_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "core/files.hpp"
#include "core/text.hpp"
#include "daemon/own_use.hpp"

namespace lagtrap::daemon {
namespace {

boost::json::array histogram(const EventCounters& counters) {
    boost::json::array buckets;
    for (std::uint32_t i = 0; i < counters.histogram.size(); ++i)
        if (counters.histogram[i] != 0)
            buckets.push_back({{"from_ns", lagtrap_histogram_bucket_start_ns(i)},
                               {"to_ns", lagtrap_histogram_bucket_start_ns(i + 1)},
                               {"count", counters.histogram[i]}});
    return buckets;
}

// What the budget has to do with one event.
struct Shedding {
    std::chrono::nanoseconds again_in{};
    OverheadBudget::ShedAt at;
};

boost::json::object event_report(const EventStatus& status, std::uint64_t threshold_ns, const Shedding& shedding) {
    const EventCounters& counters = status.counters;
    const RunCounters& runs = status.runs;
    boost::json::value recorded;
    if (status.records_runs)
        recorded = {{"reported", runs.reported},
                    {"sampled_away", runs.sampled_away},
                    {"ring_full", runs.ring_full},
                    {"stacks_lost", runs.stacks_lost}};
    return {{"name", status.name},
            {"threshold_ns", threshold_ns},
            {"armed", status.armed},
            {"problem", status.problem},
            {"shed", status.shed},
            {"stacks_shed", status.stacks_shed},
            {"again_in_seconds", std::chrono::duration<double>(shedding.again_in).count()},
            {"shed_at_look", shedding.at.look},
            {"over_since_look", shedding.at.over_since},
            {"hits", counters.hits},
            {"runs", counters.runs()},
            {"delays", counters.delays},
            {"unmatched_begins", counters.unmatched_begins},
            {"unmatched_ends", counters.unmatched_ends},
            {"unmatched_stages", counters.unmatched_stages},
            {"abandoned", counters.abandoned},
            {"lost", counters.lost},
            {"too_deep", counters.too_deep},
            {"open", status.open},
            {"max_ns", counters.max_ns},
            {"recorded", std::move(recorded)},
            {"histogram", histogram(counters)}};
}

const char* state_name(const Collector& collector) {
    switch (collector.state()) {
        case CollectorState::Waiting: return collector.merging() ? "merging" : "waiting";
        case CollectorState::Confirming: return "confirming";
        case CollectorState::Recording: return "recording";
        case CollectorState::CoolingDown: return collector.merging() ? "merging" : "cooling-down";
    }
    return "waiting";
}

boost::json::object cost_report(const Collector& collector) {
    std::uint64_t resident_pages = 0;
    if (const auto statm = read_file("/proc/self/statm", 4096)) {
        const auto at = statm->find(' ');
        if (at != std::string::npos)
            std::from_chars(statm->data() + at + 1, statm->data() + statm->size(), resident_pages);
    }
    // Run time of the marker programs is counted only while BPF statistics are on (during captures).
    return {{"bpf_run_time_ns", use_of_programs(collector.listener().program_fds()).run_time_ns},
            {"daemon_cpu_ns", daemon_cpu_ns()},
            {"memory_bytes", resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))}};
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
    for (const auto& [path, bytes] : status.largest) largest.push_back({{"path", printable(path)}, {"bytes", bytes}});
    return {{"processes", status.spaces.processes},
            {"spaces", status.spaces.spaces},
            {"processes_left_out", status.spaces.processes_left_out},
            {"mappings_left_out", status.spaces.mappings_left_out},
            {"spaces_without_room", status.spaces.spaces_without_room},
            {"tables", status.tables},
            {"tables_waiting", status.tables_waiting},
            {"tables_without_room", status.tables_without_room},
            {"tables_failed", status.modules.failed},
            {"table_bytes", status.table_bytes},
            {"used_bytes", status.used_bytes},
            {"taken_bytes", status.taken_bytes},
            {"budget_bytes", status.budget_bytes},
            {"made", status.modules.made},
            {"make_cpu_ns", status.modules.make_cpu_ns},
            {"cached", status.modules.from_cache},
            {"from_cache_cpu_ns", status.modules.from_cache_cpu_ns},
            {"lost", status.events_lost},
            {"largest", std::move(largest)}};
}

boost::json::object batches_report(const RunReporter& reporter) {
    const BatchTotals totals = reporter.totals();
    return {{"written", totals.written},    {"runs", totals.written_runs},   {"bytes", totals.written_bytes},
            {"failed", totals.failed},      {"lost_runs", totals.lost_runs}, {"removed", totals.removed},
            {"problem", reporter.problem()}};
}

// What the daemon itself removed, by what became of it.
boost::json::object spool_report(const SpoolKept& kept) {
    return {{"removed_sent", kept.removed.sent},
            {"removed_rejected", kept.removed.rejected},
            {"removed_unsent", kept.removed.unsent},
            {"removed_bytes", kept.removed.bytes},
            {"problem", printable(kept.problem)}};
}

}  // namespace

boost::json::object status_report(const Collector& collector, const Unwinder& unwinder, const RunReporter& reporter,
                                  const SpoolKeeper& keeper, const OverheadWatch& overhead, const ServiceFacts& facts,
                                  const settings::Settings& settings) {
    const double seconds_left =
        std::max(0.0, std::chrono::duration<double>(collector.state_ends() - std::chrono::steady_clock::now()).count());
    boost::json::value pending;
    boost::json::value capture;
    if (collector.state() == CollectorState::Confirming)
        pending = {{"event", collector.current_event()}, {"seconds_left", seconds_left}};
    if (collector.state() == CollectorState::Recording)
        capture = {{"session", collector.current_session()},
                   {"event", collector.current_event()},
                   {"seconds_left", seconds_left}};
    boost::json::value last;
    if (const auto& bundle = collector.last_bundle())
        last = {
            {"path", bundle->path}, {"digest", bundle->digest}, {"session", bundle->session}, {"event", bundle->event}};
    boost::json::array events;
    const auto statuses = collector.listener().status();
    for (std::size_t i = 0; i < statuses.size(); ++i)
        events.push_back(event_report(
            statuses[i], static_cast<std::uint64_t>(settings.events[i].threshold.count()),
            {overhead.again_in(static_cast<std::uint32_t>(i)), overhead.shed_at(static_cast<std::uint32_t>(i))}));
    const CaptureCounts counts = collector.counts();
    return {{"ok", true},
            {"version", LAGTRAP_VERSION},
            {"pid", ::getpid()},
            {"started_realtime_ns", facts.started_realtime_ns},
            {"settings",
             {{"path", facts.settings_path},
              {"loaded_realtime_ns", facts.settings_loaded_realtime_ns},
              {"reload_error", facts.reload_error}}},
            {"state", state_name(collector)},
            {"pending", pending},
            {"capture", capture},
            {"captures",
             {{"done", counts.done},
              {"failed", counts.failed},
              {"merges_failed", counts.merges_failed},
              {"waiting", counts.waiting},
              {"removed", counts.removed},
              {"declined", counts.declined},
              {"skipped_cool_down", counts.skipped_cool_down},
              {"skipped_hourly_limit", counts.skipped_hourly_limit}}},
            {"last_bundle", last},
            {"events", std::move(events)},
            {"batches", batches_report(reporter)},
            {"spool", spool_report(keeper.kept())},
            {"budget", budget_report(overhead.status())},
            {"unwinder", unwinder_report(unwinder.status())},
            {"cost", cost_report(collector)}};
}

void add_memory(boost::json::object& report, const MemoryStatus& memory) {
    if (!memory.use) {
        report["memory"] = nullptr;
        return;
    }
    report["memory"] = {{"used_bytes", memory.use->used_bytes}, {"limit_bytes", memory.use->limit_bytes},
                        {"tables_held", memory.shed.tables},    {"merges_held", memory.shed.merges},
                        {"times_shed", memory.times_shed},      {"killed", memory.killed}};
}

}  // namespace lagtrap::daemon
