#include "uploader/command_line.hpp"

#include <filesystem>

#include "core/files.hpp"
#include "settings/parser.hpp"

namespace lagtrap::uploader {
namespace {

constexpr const char* default_settings = "/etc/lagtrap/settings.xml";
constexpr std::uint64_t settings_limit_bytes = 16 << 20;

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

}  // namespace

void add_options(CLI::App& app, Arguments& arguments) {
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
}

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

}  // namespace lagtrap::uploader
