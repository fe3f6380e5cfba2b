#include "daemon/status/status_report.hpp"

#include <unistd.h>

#include <chrono>

#include <boost/json.hpp>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/status/event_report.hpp"
#include "daemon/status/status_parts.hpp"

namespace lagtrap::daemon {
namespace {

boost::json::object cost_report(const CaptureController& controller) {
    const auto statm = read_file("/proc/self/statm", 4096);
    // The run time of marker programs is counted only while BPF statistics are on, which is during
    // captures.
    return {{"bpf_run_time_ns", use_of_programs(controller.monitor().program_fds()).run_time_ns},
            {"daemon_cpu_ns", daemon_cpu_ns()},
            {"memory_bytes", resident_bytes(statm ? *statm : std::string(),
                                            static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))}};
}

}  // namespace

boost::json::object status_report(const CaptureController& controller, const Unwinder& unwinder,
                                  const RunReporter& reporter, const SpoolKeeper& keeper,
                                  const OverheadWatch& overhead, const ServiceFacts& facts,
                                  const settings::Settings& settings) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds_left = seconds_until(controller.state_ends(), now);
    boost::json::value pending, capture;
    if (controller.state() == CaptureState::Confirming)
        pending = pending_report(*controller.question(), now);
    if (controller.busy())
        capture = capture_report(controller.current_session(), controller.current_event(),
                                 controller.current_client(), seconds_left);
    boost::json::array events;
    const auto statuses = controller.monitor().status();
    const auto clocks = ClockSnapshot::take();
    for (std::uint32_t i = 0; i < statuses.size(); ++i) {
        boost::json::object event = event_report(
            settings.events[i], statuses[i],
            {overhead.watched_ppm(i), overhead.again_in(i), overhead.stages_again_in(i),
             overhead.stages_since_ns(i), overhead.counts_all(i), overhead.disabled_at(i),
             overhead.limits(i), controller.begun_for(settings.events[i].name), clocks});
        event["without_recordings"] =
            closed_report(controller.events_without_captures(), settings.events[i].name, now);
        events.push_back(std::move(event));
    }
    return {
        {"ok", true},
        {"version", LAGTRAP_VERSION},
        {"pid", ::getpid()},
        {"started_realtime_ns", facts.started_realtime_ns},
        {"settings",
         {{"path", facts.settings_path},
          {"loaded_realtime_ns", facts.settings_loaded_realtime_ns},
          {"reload_error", facts.reload_error}}},
        {"state", capture_state_name(controller.state(), controller.merges().is_running())},
        {"pending", pending},
        {"capture", capture},
        {"cool_down",
         cool_down_report(controller.state(), seconds_left, controller.hourly_limit_reached())},
        {"captures", captures_report(controller.counts(), controller.merges().counts(),
                                     parties_without_captures_report(
                                         controller.parties_without_captures(), now))},
        {"last_bundle", last_bundle_report(controller.merges().last_bundle())},
        {"merge_held_up", held_up_report(controller.merges().held_up())},
        {"events", std::move(events)},
        {"batches", batches_report(reporter.totals(), reporter.problem())},
        {"spool", spool_report(keeper.kept())},
        {"budget", budget_report(overhead.status())},
        {"unwinder", unwinder_report(unwinder.status())},
        {"history",
         {{"early", early_report(controller.monitor().breaches().early(),
                                 controller.monitor().events(), monotonic_ns())},
          {"window", window_report(controller.history(), settings.history)},
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
                        {"tables_held", memory.holds.tables},
                        {"merges_held", memory.holds.merges},
                        {"disabled_count", memory.disabled_count},
                        {"killed", memory.killed}};
}

}  // namespace lagtrap::daemon
