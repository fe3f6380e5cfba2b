// The answer to `lagtrap status`, described in docs/formats.md.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "daemon/budget/memory_watch.hpp"
#include "daemon/budget/overhead_watch.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/merges/spool_keeper.hpp"
#include "daemon/runs/run_reporter.hpp"
#include "daemon/thresholds/threshold_report.hpp"
#include "daemon/tracing/event_functions.hpp"

namespace lagtrap::daemon {

// Facts about the daemon itself.
struct ServiceFacts {
    std::uint64_t started_realtime_ns = 0;
    std::string settings_path;
    std::uint64_t settings_loaded_realtime_ns = 0;
    std::string reload_error;  // of the last failed reload; empty after a successful one
};

[[nodiscard]] boost::json::object status_report(
    const CaptureController& controller, const Unwinder& unwinder, const RunReporter& reporter,
    const SpoolKeeper& keeper, const OverheadWatch& overhead, const ServiceFacts& facts,
    const settings::Settings& settings);

// Adds "functions" to each event; null if the event wants none.
void add_functions(boost::json::object& report, const EventFunctions& functions);

// Adds "auto_threshold" to each event; null if its threshold is fixed.
void add_thresholds(boost::json::object& report, const ThresholdKeeper& keeper);

// Adds "memory"; null if there is no limit.
void add_memory(boost::json::object& report, const MemoryStatus& memory);

}  // namespace lagtrap::daemon
