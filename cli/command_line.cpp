#include "cli/command_line.hpp"

#include <functional>
#include <new>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace lagtrap::cli {

namespace {

constexpr const char* default_socket = "/run/lagtrap/control.sock";
constexpr const char* default_spool = "/var/lib/lagtrap/spool";
constexpr const char* default_settings = "/etc/lagtrap/settings.xml";

// All options of all commands, and the command that was chosen.
struct Choice {
    ControlOptions control;
    CheckOptions check;
    DoctorOptions doctor;
    MarkerOptions markers;
    ReportOptions report;
    ExportOptions exports;
    SymbolizeOptions symbolize;
    UploadOptions upload;
    std::optional<std::size_t> delay;
    std::string format = "folded";
    std::function<int(Console&)> run;
};

void add_control(CLI::App& app, Choice& choice) {
    choice.control.socket = default_socket;
    const auto add = [&](const char* name, const char* help, int (*command)(const ControlOptions&, Console&)) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->add_option("--socket", choice.control.socket, "The daemon's control socket")
            ->envname("LAGTRAP_SOCKET")
            ->capture_default_str();
        sub->add_flag("--json", choice.control.json, "Print the daemon's answer as JSON");
        sub->callback([&choice, command] {
            choice.run = [&choice, command](Console& console) { return command(choice.control, console); };
        });
        return sub;
    };
    add("status", "Show what the daemon watches, has seen and has recorded", show_status);
    add("metrics", "Print the same figures for Prometheus", show_metrics);
    CLI::App* explain = add("explain", "Say why an event has no delay, and what to do", explain_event);
    explain->add_option("event", choice.control.event, "An event of the settings")->required();
    CLI::App* trigger = add("trigger", "Start a recording by hand", trigger_recording);
    trigger->add_option("event", choice.control.event, "An event of the settings")->required();
    add("approve", "Let the recording begin that the daemon asks about", approve_recording);
    add("decline", "Do not record the breach that the daemon asks about", decline_recording);
}

void add_settings(CLI::App& app, Choice& choice) {
    CLI::App* check = app.add_subcommand("check", "Check a settings file and the programs it names");
    choice.check.file = default_settings;
    check->add_option("file", choice.check.file, "Settings file")->capture_default_str();
    check->add_flag("--json", choice.check.json, "Print JSON");
    check->callback(
        [&choice] { choice.run = [&choice](Console& console) { return check_settings(choice.check, console); }; });

    CLI::App* markers = app.add_subcommand("list-markers", "List what can be watched in a program, process or kernel");
    markers->add_option("target", choice.markers.target,
                        "Path of a program or library, or a process id; with --tracepoints, names to look for");
    auto* functions = markers->add_flag("--functions", choice.markers.functions, "List functions too");
    markers->add_flag("--tracepoints", choice.markers.tracepoints, "List tracepoints of the kernel, system calls too")
        ->excludes(functions);
    markers->add_flag("--json", choice.markers.json, "Print JSON");
    markers->callback(
        [&choice] { choice.run = [&choice](Console& console) { return list_markers(choice.markers, console); }; });
}

void add_doctor(CLI::App& app, Choice& choice) {
    CLI::App* doctor = app.add_subcommand("doctor", "Say what works on this machine, what lacks, and what to do");
    DoctorOptions& options = choice.doctor;
    options.settings = default_settings;
    options.socket = default_socket;
    doctor->add_option("--settings", options.settings, "Settings file")->capture_default_str();
    doctor->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    doctor->add_flag("--server", options.server, "Look whether the server of the settings takes connections");
    doctor->add_flag("--json", options.json, "Print JSON");
    doctor->callback(
        [&choice] { choice.run = [&choice](Console& console) { return examine_machine(choice.doctor, console); }; });
}

void add_bundle_options(CLI::App& sub, std::string& bundle, std::string& spool, std::optional<std::size_t>& delay) {
    spool = default_spool;
    sub.add_option("bundle", bundle,
                   "A bundle, a merged trace, or the beginning of a session's id; default: the newest in the spool");
    sub.add_option("--spool", spool, "Where bundles are looked up")->envname("LAGTRAP_SPOOL")->capture_default_str();
    sub.add_option("--delay", delay, "Number of a delay, as the report counts them");
}

void add_symbolize(CLI::App& app, Choice& choice) {
    CLI::App* sub = app.add_subcommand("symbolize", "Find names and source lines that a recording lacks");
    SymbolizeOptions& options = choice.symbolize;
    options.spool = default_spool;
    sub->add_option("bundle", options.bundle,
                    "A bundle, a merged trace, or the beginning of a session's id; default: the newest in the spool");
    sub->add_option("--spool", options.spool, "Where bundles are looked up")
        ->envname("LAGTRAP_SPOOL")
        ->capture_default_str();
    sub->add_option("-o,--output", options.output, "Bundle to write, or a folder; default: the current folder");
    sub->add_option("--debug-dir", options.debug_folders,
                    "A folder of debug files or programs, searched before /usr/lib/debug; may be given several times")
        ->allow_extra_args(false);
    sub->add_flag("--debuginfod", options.debuginfod, "Ask the servers that DEBUGINFOD_URLS names, too");
    sub->add_flag("--json", options.json, "Print JSON");
    sub->callback([&choice] {
        choice.run = [&choice](Console& console) { return symbolize_bundle(choice.symbolize, console); };
    });
}

void add_recordings(CLI::App& app, Choice& choice) {
    CLI::App* report = app.add_subcommand("report", "Explain the delays of a recording");
    add_bundle_options(*report, choice.report.bundle, choice.report.spool, choice.delay);
    report->add_flag("--json", choice.report.json, "Print JSON");
    report->add_flag("--all", choice.report.all, "Leave out no function, stack, waker or process");
    report->callback([&choice] {
        choice.report.delay = choice.delay;
        choice.run = [&choice](Console& console) { return show_report(choice.report, console); };
    });

    static const std::map<std::string, ExportFormat> formats{
        {"folded", ExportFormat::Folded}, {"pftrace", ExportFormat::Trace}, {"system", ExportFormat::System}};
    CLI::App* exports = app.add_subcommand("export", "Write a recording in another form");
    add_bundle_options(*exports, choice.exports.bundle, choice.exports.spool, choice.delay);
    exports->add_option("--format", choice.format, "Folded stacks, the Perfetto trace, or the system file")
        ->check(CLI::IsMember({"folded", "pftrace", "system"}))
        ->capture_default_str();
    exports->add_flag("--off-cpu", choice.exports.off_cpu, "Folded stacks of blocked time instead of CPU time");
    exports->add_option("-o,--output", choice.exports.output, "File to write; default: standard output");
    exports->callback([&choice] {
        choice.exports.delay = choice.delay;
        choice.exports.format = formats.at(choice.format);
        choice.run = [&choice](Console& console) { return export_recording(choice.exports, console); };
    });

    CLI::App* upload = app.add_subcommand("upload", "Send bundles now, with lagtrap-uploader");
    choice.upload.settings = default_settings;
    upload->add_option("bundles", choice.upload.bundles, "Bundles; default: all that wait in the spool");
    upload->add_option("--settings", choice.upload.settings, "Settings file")->capture_default_str();
    upload->add_option("--spool", choice.upload.spool, "The spool; default: the settings' one")
        ->envname("LAGTRAP_SPOOL");
    upload->callback(
        [&choice] { choice.run = [&choice](Console& console) { return upload_bundles(choice.upload, console); }; });
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Console& console) {
    CLI::App app("Shows, steers and explains what lagtrapd watches and records", "lagtrap");
    app.set_version_flag("--version", "lagtrap " LAGTRAP_VERSION);
    app.require_subcommand(1);
    Choice choice;
    add_control(app, choice);
    add_settings(app, choice);
    add_doctor(app, choice);
    add_recordings(app, choice);
    add_symbolize(app, choice);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem, console.out, console.err) == 0 ? exit_done : exit_usage;
    }
    try {
        return choice.run(console);
    } catch (const std::bad_alloc&) {
        return console.fail("this takes more memory than is allowed: half of the machine's, and 8 GiB at the most");
    }
}

}  // namespace lagtrap::cli
