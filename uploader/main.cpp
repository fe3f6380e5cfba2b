// lagtrap-uploader sends bundles from the spool to the server. It needs no privileges except its
// group.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "core/files.hpp"
#include "core/heap.hpp"
#include "core/program_log.hpp"
#include "settings/parser.hpp"
#include "uploader/service.hpp"

namespace lagtrap::uploader {
namespace {

constexpr const char* default_settings = "/etc/lagtrap/settings.xml";
constexpr std::uint64_t settings_limit_bytes = 16 << 20;
// With wrong_settings, the unit does not restart the program.
enum ExitCode { all_sent = 0, failed = 1, wrong_settings = 2 };

struct Arguments {
    std::string settings_file;
    std::string spool;
    std::string url;
    std::string token_file;
    std::string ca_file;
    bool allow_http = false;
    bool once = false;
};

Result<settings::Settings> read_settings(const Arguments& arguments) {
    // With --spool and --url, no settings file is needed.
    if (arguments.settings_file.empty() && !arguments.spool.empty() && !arguments.url.empty())
        return settings::Settings{};
    const std::string path =
        arguments.settings_file.empty() ? default_settings : arguments.settings_file;
    auto outcome = settings::load_settings(path, settings::BinaryCheck::Skip);
    if (!outcome.ok()) {
        const auto text = read_file(path, settings_limit_bytes);
        return make_error(
            ErrorKind::Invalid,
            settings::format_diagnostics(path, text ? *text : std::string(), outcome.diagnostics));
    }
    return std::move(outcome.settings);
}

// From the same build or installation.
std::string find_lagtrap() {
    std::error_code ignored;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const auto& candidate : {own / "lagtrap", own / "../cli/lagtrap"})
        if (std::filesystem::exists(candidate, ignored))
            return std::filesystem::weakly_canonical(candidate, ignored).string();
    return "/usr/bin/lagtrap";
}

// The settings file, overridden by the command line.
Result<ServiceSettings> effective_settings(const Arguments& arguments) {
    TRY_ASSIGN(const settings::Settings settings, read_settings(arguments));
    ServiceSettings effective;
    effective.spool_path = arguments.spool.empty() ? settings.spool.path : arguments.spool;
    effective.retention = {settings.spool.size_limit_bytes, settings.spool.age_limit, 0,
                           settings.spool.sent_runs_age};
    // The settings parser accepts plain http only where the settings allow it.
    if (settings.otlp) {
        TRY_ASSIGN(effective.collector, make_target(*settings.otlp, PlainHttp::Allow));
        effective.lagtrap_program = find_lagtrap();
    }
    settings::Upload upload = settings.upload.value_or(settings::Upload{});
    if (!arguments.url.empty()) upload.url = arguments.url;
    if (!arguments.token_file.empty()) upload.token_file = arguments.token_file;
    if (!arguments.ca_file.empty()) upload.ca_file = arguments.ca_file;
    if (upload.url.empty()) return effective;
    // The settings parser accepts plain http only where the settings allow it.
    const bool allowed = arguments.allow_http || arguments.url.empty();
    TRY_ASSIGN(effective.target,
               make_target(upload, allowed ? PlainHttp::Allow : PlainHttp::Refuse));
    return effective;
}

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
    app.add_option("--settings", arguments.settings_file,
                   "Settings file; default: /etc/lagtrap/settings.xml");
    app.add_option("--spool", arguments.spool,
                   "Spool folder to use instead of <spool> in the settings");
    app.add_option("--url", arguments.url,
                   "Server address to use instead of <upload> in the settings");
    app.add_option("--token-file", arguments.token_file,
                   "File with the token; must not be readable by others");
    app.add_option("--ca-file", arguments.ca_file, "Certificates to trust instead of the system's");
    app.add_flag("--allow-http", arguments.allow_http,
                 "Allow --url to be plain HTTP to another machine");
    app.add_flag("--once", arguments.once,
                 "Try each ready bundle once, print one line for each, and exit");
    app.set_version_flag("--version", "lagtrap-uploader " LAGTRAP_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : lagtrap::uploader::wrong_settings;
    }
    return lagtrap::uploader::run(arguments);
}
