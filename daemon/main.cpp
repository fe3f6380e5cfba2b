// lagtrapd: watches the events in a settings file and records the machine when one of them is too
// slow.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <spdlog/spdlog.h>

#include "binaries/reader/file_reader.hpp"
#include "core/clock.hpp"
#include "core/heap.hpp"
#include "core/log.hpp"
#include "core/program_log.hpp"
#include "daemon/control/client_link.hpp"
#include "daemon/events/goroutine_looks.hpp"
#include "daemon/processes/inspector_pool.hpp"
#include "daemon/processes/inspector_service.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/service.hpp"
#include "daemon/thresholds/history_file.hpp"
#include "daemon/thresholds/rehearsal_text.hpp"
#include "sandbox/confinement.hpp"
#include "settings/parser.hpp"

namespace {

// Exit statuses that packaging/systemd/lagtrapd.service relies on.
constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr int exit_bad_settings = 3;

// Finds the lagtrap-merge of the same build or installation.
std::string find_merge_program() {
    std::error_code ignored;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const auto& candidate : {own / "lagtrap-merge", own / "../trace/lagtrap-merge",
                                  own / "../libexec/lagtrap/lagtrap-merge"})
        if (std::filesystem::exists(candidate, ignored))
            return std::filesystem::weakly_canonical(candidate, ignored).string();
    return LAGTRAP_LIBEXEC_DIR "/lagtrap-merge";
}

int check_settings(const std::string& path, const lagtrap::settings::ParseOutcome& outcome) {
    std::cerr << lagtrap::settings::format_notes(path, outcome);
    if (outcome.ok()) {
        std::cout << lagtrap::settings::success_line(path, outcome);
        return 0;
    }
    std::cerr << lagtrap::settings::format_diagnostics(path, outcome.settings.source_text,
                                                       outcome.diagnostics);
    return exit_bad_settings;
}

// Prints how many recordings the settings at `path` would have caused, next to those in use.
int rehearse(const std::string& path, const std::string& path_in_use, bool json) {
    using lagtrap::settings::BinaryCheck;
    const auto next = lagtrap::settings::load_settings(path, BinaryCheck::Skip);
    if (!next.ok()) return check_settings(path, next);
    const auto in_use = lagtrap::settings::load_settings(path_in_use, BinaryCheck::Skip);
    if (!in_use.ok()) return check_settings(path_in_use, in_use);
    const auto file = lagtrap::daemon::history_file_of(in_use.settings.spool.path);
    auto stored = lagtrap::daemon::read_history(file);
    if (!stored) {
        std::cerr << "the history of runs in " << file.string()
                  << " cannot be read: " << stored.error().message << "\n";
        return exit_failure;
    }
    const lagtrap::daemon::RunHistory history(std::move(stored->runs),
                                              lagtrap::ClockSnapshot::take().realtime_ns);
    const auto rehearsed = lagtrap::daemon::rehearse(next.settings, history);
    const auto current = lagtrap::daemon::rehearse(in_use.settings, history);
    if (json)
        std::cout << boost::json::serialize(lagtrap::daemon::rehearsal_json(rehearsed, current))
                  << "\n";
    else
        std::cout << lagtrap::daemon::rehearsal_text(rehearsed, current);
    return 0;
}

// Logs path, cause and remedy, and returns the exit status. Nothing can be watched without the
// reader.
int report_missing_reader(const lagtrap::Error& error) {
    spdlog::error("{}; reinstall lagtrapd, or give the path with --reader-program", error.message);
    const bool not_executable = error.system_errno == ENOENT || error.system_errno == EACCES ||
                                error.system_errno == ENOEXEC || error.system_errno == ENOTDIR;
    return not_executable ? exit_usage : exit_failure;
}

// What a child of the service must not inherit from it: its priority, supervisor and log. If memory
// is short, the child ends before the service does.
void leave_the_service() {
    (void)::prctl(PR_SET_NAME, "lagtrapd");  // not that of /proc/self/exe
    lagtrap::become_first_oom_victim();
    (void)::setpriority(PRIO_PROCESS, 0, 0);
    for (const char* const name :
         {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM"})
        ::unsetenv(name);
    using lagtrap::daemon::ClientLink;
    for (const int fd : {ClientLink::client_fd, ClientLink::service_fd})
        (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// The service does it too, unless it has gone.
void remove_folder_of(const std::filesystem::path& settings) {
    std::error_code ignored;
    std::filesystem::remove_all(settings.parent_path(), ignored);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == lagtrap::daemon::inspector_argument)
        return lagtrap::daemon::run_inspector();
    lagtrap::keep_heap_small();
    CLI::App app("Watch operations, and record the machine when one is too slow");
    std::string settings_path = "/etc/lagtrap/settings.xml";
    std::string checked_path;
    std::string rehearsed_path;
    bool json = false;
    std::string merge_program = find_merge_program();
    std::string reader_program =
        lagtrap::binaries::find_reader_program(LAGTRAP_LIBEXEC_DIR "/lagtrap-reader");
    app.add_option("--settings", settings_path, "Settings file")->capture_default_str();
    app.add_option("--check,--check-settings", checked_path,
                   "Check a settings file and the programs it names, then exit");
    auto* rehearsed =
        app.add_option("--rehearse", rehearsed_path,
                       "Say how many recordings a settings file would have caused, then exit");
    app.add_flag("--json", json, "With --rehearse: print JSON")->needs(rehearsed);
    app.add_option("--merge-program", merge_program, "lagtrap-merge program to use");
    app.add_option("--reader-program", reader_program, "lagtrap-reader program to use");
    bool for_client = false;
    app.add_flag(lagtrap::daemon::for_client_option, for_client,
                 "Watch a temporary event of the service's client")
        ->group("");  // not for people
    app.set_version_flag("--version", LAGTRAP_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? 0 : exit_usage;
    }

    if (for_client) leave_the_service();
    if (!rehearsed_path.empty()) return rehearse(rehearsed_path, settings_path, json);

    // This process never parses watched binaries; lagtrap-reader does.
    lagtrap::binaries::FileReader reader({.program = reader_program});
    lagtrap::binaries::read_files_by(&reader);
    using lagtrap::settings::BinaryCheck;
    lagtrap::start_program_log();
    if (const auto started = reader.try_start(); !started)
        return report_missing_reader(started.error());
    if (!checked_path.empty())
        return check_settings(checked_path,
                              lagtrap::settings::load_settings(checked_path, BinaryCheck::Look));

    // Nor does it access processes that could block it; helpers do.
    lagtrap::daemon::InspectorPool inspectors({});
    lagtrap::daemon::inspect_processes_by(&inspectors);
    lagtrap::daemon::copy_code_files_by(&inspectors);
    lagtrap::daemon::GoroutineLooks goroutines(inspectors);
    lagtrap::daemon::look_at_goroutines_by(&goroutines);

    const lagtrap::Log log([](lagtrap::Log::Level level, const std::string& line) {
        spdlog::log(
            level == lagtrap::Log::Level::Warning ? spdlog::level::warn : spdlog::level::info,
            line);
    });

    const auto outcome = lagtrap::settings::load_settings(settings_path, BinaryCheck::Skip);
    if (!outcome.ok()) return check_settings(settings_path, outcome);
    auto service = lagtrap::daemon::Service::create(
        outcome.settings,
        {settings_path, merge_program, reader_program, &inspectors, log, for_client});
    if (!service) {
        spdlog::error(service.error().message);
        return exit_failure;
    }
    spdlog::info("lagtrapd {} watches {} events", LAGTRAP_VERSION, outcome.settings.events.size());
    (*service)->run();
    service->reset();
    if (for_client) remove_folder_of(settings_path);
    return 0;
}
