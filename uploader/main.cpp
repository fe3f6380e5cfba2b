// lagtrap-uploader sends bundles from the spool to the server. It needs no privileges except its
// group.
#include <csignal>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "core/heap.hpp"
#include "core/program_log.hpp"
#include "uploader/command_line.hpp"
#include "uploader/service.hpp"

namespace lagtrap::uploader {
namespace {

// With wrong_settings, the unit does not restart the program.
enum ExitCode { all_sent = 0, failed = 1, wrong_settings = 2 };

void block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

int fail(const Error& error, ExitCode code) {
    spdlog::error("{}", error.message);
    return code;
}

int run(const Arguments& arguments) {
    block_signals();
    start_program_log();
    auto settings = effective_settings(arguments);
    if (!settings) return fail(settings.error(), wrong_settings);
    auto service = Service::create(std::move(settings).value(),
                                   [arguments] { return effective_settings(arguments); });
    if (!service) return fail(service.error(), failed);
    if (arguments.once) {
        const auto outcome = service->run_once();
        if (!outcome) return fail(outcome.error(), failed);
        return *outcome ? all_sent : failed;
    }
    const Status status = service->run();
    return status ? all_sent : fail(status.error(), failed);
}

}  // namespace
}  // namespace lagtrap::uploader

int main(int argc, char** argv) {
    lagtrap::keep_heap_small();
    lagtrap::uploader::Arguments arguments;
    CLI::App app{"Send the bundles in lagtrap's spool to the server."};
    lagtrap::uploader::add_options(app, arguments);
    app.set_version_flag("--version", "lagtrap-uploader " LAGTRAP_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : lagtrap::uploader::wrong_settings;
    }
    return lagtrap::uploader::run(arguments);
}
