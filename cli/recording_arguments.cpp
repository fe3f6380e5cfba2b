#include "cli/recording_arguments.hpp"

#include <string>
#include <vector>

#include "cli/shared_arguments.hpp"
#include "formats/format_table.hpp"

namespace lagtrap::cli {
namespace {

void add_bundle_options(CLI::App& sub, std::string& bundle, std::string& spool,
                        std::optional<std::size_t>& delay) {
    sub.add_option(
        "bundle", bundle,
        "A bundle, a merged trace, or the start of a session id; default: the newest in the spool");
    add_spool(sub, spool, "Spool to search for bundles");
    sub.add_option("--delay", delay, "Number of the delay in the report");
}

void add_export(CLI::App& app, Choice& choice) {
    CLI::App* sub = app.add_subcommand("export", "Convert a recording to another format");
    ExportOptions& options = choice.exports;
    add_bundle_options(*sub, options.bundle, options.spool, choice.delay);
    std::vector<std::string> names;
    for (const formats::Format& format : formats::formats()) names.emplace_back(format.name);
    sub->add_option("--format", options.format, "One of the formats below")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    sub->add_option("--thread", options.thread, "Only this thread, by id or name");
    const auto add_time = [&](const char* name, const char* help, formats::TimeChoice time) {
        return sub->add_flag_callback(
            name, [&options, time] { options.time = time; }, help);
    };
    CLI::Option* on = add_time("--on-cpu", "Only time on a CPU", formats::TimeChoice::OnCpu);
    CLI::Option* off = add_time("--off-cpu", "Only time blocked or waiting for a CPU",
                                formats::TimeChoice::OffCpu);
    CLI::Option* all = add_time("--all", "All time", formats::TimeChoice::All);
    on->excludes(off)->excludes(all);
    off->excludes(all);
    sub->add_option("-o,--output", options.output, "File to write; default: standard output");
    sub->add_flag("--list-formats", options.list, "List the formats");
    sub->footer("Formats:\n" + formats::list_formats());
    sub->callback([&choice] {
        choice.exports.delay = choice.delay;
        choice.run = [&choice](Console& console) {
            return export_recording(choice.exports, console);
        };
    });
}

}  // namespace

void add_recordings(CLI::App& app, Choice& choice) {
    CLI::App* report =
        app.add_subcommand("report", "Explain the delays of a recording, or compare several");
    report->add_option("bundle", choice.report.bundles,
                       "Bundles, merged traces, starts of session ids, or folders of bundles; "
                       "default: the newest bundle in the spool");
    add_spool(*report, choice.report.spool, "Spool to search for bundles");
    report->add_option("--delay", choice.delay, "Number of the delay in the report or the list");
    report->add_flag("--slowest", choice.report.slowest,
                     "Of several recordings, show the longest delay in full, not the newest; "
                     "default: the whole spool");
    CLI::Option* html = report->add_option("--html", choice.report.html,
                                           "Write the report to this file, as a page");
    report->add_flag("--json", choice.report.json, "Print JSON")->excludes(html);
    report->add_flag("--all", choice.report.all, "Show every function, stack, waker and process");
    report->callback([&choice] {
        choice.report.delay = choice.delay;
        choice.run = [&choice](Console& console) { return show_report(choice.report, console); };
    });

    add_export(app, choice);

    CLI::App* upload = app.add_subcommand("upload", "Send bundles now, with lagtrap-uploader");
    choice.upload.settings = default_settings;
    upload->add_option("bundles", choice.upload.bundles,
                       "Bundles to send; default: all that wait in the spool");
    upload->add_option("--settings", choice.upload.settings, "Settings file")
        ->capture_default_str();
    upload
        ->add_option("--spool", choice.upload.spool,
                     "Spool to use; default: the one in the settings")
        ->envname("LAGTRAP_SPOOL");
    set_run(*upload, choice, choice.upload, upload_bundles);
}

void add_fetch(CLI::App& app, Choice& choice) {
    CLI::App* fetch =
        app.add_subcommand("fetch", "Download bundles from a server, for `lagtrap report`");
    FetchOptions& options = choice.fetch;
    fetch->add_option("--server", options.server, "Address of the server")
        ->envname("LAGTRAP_SERVER")
        ->required();
    fetch->add_option("--token-file", options.token_file, "File with a token of scope read")
        ->envname("LAGTRAP_TOKEN_FILE");
    fetch->add_option("--ca", options.ca_file, "Certificates to trust instead of the system's");
    fetch->add_option("--event", options.event, "Only bundles of this event");
    fetch->add_option("--host", options.host, "Only bundles from this machine");
    fetch->add_option("--cause", options.cause,
                      "Only delays with this cause: its id, or a part of its title");
    fetch->add_option("--since", options.since,
                      "Only recordings that began within this time, such as 1d");
    fetch->add_option("--limit", options.limit, "Maximum number of bundles, the newest first")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    fetch
        ->add_option("-o,--output", options.folder,
                     "Folder for the bundles; default: the current folder")
        ->type_name("FOLDER");
    fetch->add_flag("--json", options.json, "Print JSON");
    set_run(*fetch, choice, choice.fetch, fetch_bundles);
}

void add_symbolize(CLI::App& app, Choice& choice) {
    CLI::App* sub =
        app.add_subcommand("symbolize", "Add missing names and source lines to a recording");
    SymbolizeOptions& options = choice.symbolize;
    sub->add_option(
        "bundle", options.bundle,
        "A bundle, a merged trace, or the start of a session id; default: the newest in the spool");
    add_spool(*sub, options.spool, "Spool to search for bundles");
    sub->add_option("-o,--output", options.output,
                    "Bundle to write, or its folder; default: the current folder");
    sub->add_option(
           "--debug-dir", options.debug_folders,
           "Folder with debug files or programs, searched before /usr/lib/debug; repeatable")
        ->allow_extra_args(false);
    sub->add_flag("--debuginfod", options.debuginfod, "Also ask the servers in DEBUGINFOD_URLS");
    sub->add_flag("--json", options.json, "Print JSON");
    set_run(*sub, choice, choice.symbolize, symbolize_bundle);
}

}  // namespace lagtrap::cli
