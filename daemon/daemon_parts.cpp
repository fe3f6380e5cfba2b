#include "daemon/daemon_parts.hpp"

#include <utility>

#include "core/clock.hpp"
#include "daemon/applied_settings.hpp"
#include "daemon/thresholds/history_file.hpp"

namespace lagtrap::daemon {

Status DaemonParts::create(boost::asio::io_context& context, const settings::Settings& wanted,
                           CaptureSurroundings& surroundings) {
    TRY_ASSIGN(spool::Spool spool,
               spool::Spool::create(wanted.spool.path, spool::group_of_writers()));
    // before the first scan of all processes
    (void)mapped_files.want(files_to_track(wanted));
    TRY_ASSIGN(unwinder,
               Unwinder::create({wanted.unwinding.memory_bytes, wanted.unwinding.cache_path,
                                 wanted.unwinding.cache_limit_bytes},
                                *options.inspectors, mapped_files));
    if (!unwinder->cache_problem().empty())
        options.log.warn("unwind tables cannot be cached on disk: " + unwinder->cache_problem());
    TRY_ASSIGN(reporter,
               RunReporter::create(
                   spool, [this] { unwinder->look_soon(); },
                   [this](const std::string& id) { return names.name_of(id); }, options.log));
    keeper = std::make_unique<SpoolKeeper>(spool, retention_of(wanted), options.log);
    call_traces = std::make_unique<CallTraces>(*options.inspectors, *unwinder);
    functions = std::make_unique<EventFunctions>(
        context, *call_traces,
        [this](std::uint32_t event) { return controller->monitor().processes_of(event); },
        options.log);
    const auto history = history_file_of(spool.path());
    controller = std::make_unique<CaptureController>(
        context, std::move(spool), surroundings,
        CaptureController::Options{
            options.merge_program,
            std::filesystem::path(wanted.control.socket).replace_extension("unanswered"),
            options.log});
    thresholds = std::make_unique<ThresholdWatch>(*controller, history, options.log);
    budgets = std::make_unique<BudgetKeeper>(context, *controller, *unwinder, options.log);
    facts.started_realtime_ns = ClockSnapshot::take().realtime_ns;
    facts.settings_path = options.settings_path.string();
    return success();
}

}  // namespace lagtrap::daemon
