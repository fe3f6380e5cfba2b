// The parts of the daemon, in an order in which each may use those before it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/budget_keeper.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/capture/capture_surroundings.hpp"
#include "daemon/control/control_server.hpp"
#include "daemon/merges/spool_keeper.hpp"
#include "daemon/pairing_reports.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/inspector_pool.hpp"
#include "daemon/runs/run_reporter.hpp"
#include "daemon/status/status_report.hpp"
#include "daemon/temporary/temporary_events.hpp"
#include "daemon/thresholds/threshold_watch.hpp"
#include "daemon/tracing/call_traces.hpp"
#include "daemon/tracing/event_functions.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct DaemonOptions {
    std::filesystem::path settings_path;
    std::string merge_program;
    std::string reader_program;
    InspectorPool* inspectors;  // reads data of processes; must outlive the daemon
    Log log{};
    // The service started this daemon for a temporary event (client_link.hpp); it ends with the
    // client. Otherwise it starts such daemons itself.
    bool for_client = false;
};

// For the io_context's thread.
struct DaemonParts {
    explicit DaemonParts(DaemonOptions options_) : options(std::move(options_)) {}

    // Creates all parts but `control` and `temporary`, for settings that are not in effect yet.
    // `surroundings` must outlive them. Errors: BPF is refused, or the spool is unusable.
    [[nodiscard]] Status create(boost::asio::io_context& context,
                                const settings::Settings& settings,
                                CaptureSurroundings& surroundings);
    // The daemon's own cost, of one CPU.
    [[nodiscard]] std::uint64_t used_ppm() const { return budgets->overhead().status().used_ppm; }

    DaemonOptions options;
    settings::Settings settings;  // in effect
    ServiceFacts facts;
    PairingReports pairing_reports;
    ContainerNames names;
    MappedFiles mapped_files;
    std::unique_ptr<Unwinder> unwinder;
    std::unique_ptr<RunReporter> reporter;
    std::unique_ptr<SpoolKeeper> keeper;
    std::unique_ptr<CaptureController> controller;  // has event monitor and recorder
    std::unique_ptr<ThresholdWatch> thresholds;
    std::unique_ptr<BudgetKeeper> budgets;
    std::unique_ptr<ControlServer> control;
    std::unique_ptr<TemporaryEvents> temporary;  // null if this daemon watches one
    std::unique_ptr<EventFunctions> functions;
    std::unique_ptr<CallTraces> call_traces;  // its threads use all the others
};

}  // namespace lagtrap::daemon
