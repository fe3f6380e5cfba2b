#include "cli/command_line.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "formats/format_table.hpp"

namespace lagtrap::cli {

namespace {

constexpr const char* default_socket = "/run/lagtrap/control.sock";
constexpr const char* default_spool = "/var/lib/lagtrap/spool";
constexpr const char* default_settings = "/etc/lagtrap/settings.xml";

// All options of all commands, and the command that was chosen.
struct Choice {
    ControlOptions control;
    LiveOptions live;
    unsigned live_seconds = 1;
    CallsOptions calls;
    FunctionsOptions functions;
    ObjectsOptions objects;
    CheckOptions check;
    DoctorOptions doctor;
    MarkerOptions markers;
    PresetOptions presets;
    AddOptions add;
    WhyOptions why;
    WatchOptions watch;
    ReportOptions report;
    ExportOptions exports;
    SymbolizeOptions symbolize;
    UploadOptions upload;
    std::optional<std::size_t> delay;
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
    CLI::App* metrics = add("metrics", "Print the same figures for Prometheus", show_metrics);
    metrics->add_option("-o,--output", choice.control.output,
                        "File to replace at once, as node_exporter's textfile collector wants it; default: standard "
                        "output");
    CLI::App* explain = add("explain", "Say why an event has no delay, and what to do", explain_event);
    explain->add_option("event", choice.control.event, "An event of the settings")->required();
    CLI::App* trigger = add("trigger", "Start a recording by hand", trigger_recording);
    trigger->add_option("event", choice.control.event, "An event of the settings")->required();
    trigger->add_flag("--wait", choice.control.wait,
                      "Wait for the bundle, and print the name by which other commands find it");
    add("approve", "Let the recording begin that the daemon asks about", approve_recording);
    add("decline", "Do not record the breach that the daemon asks about", decline_recording);
}

void add_live(CLI::App& app, Choice& choice) {
    CLI::App* live = app.add_subcommand("live", "Show the events as they run, on the whole screen");
    LiveOptions& options = choice.live;
    options.socket = default_socket;
    options.spool = default_spool;
    live->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    live->add_option("--spool", options.spool, "Where bundles are looked up if the daemon made none")
        ->envname("LAGTRAP_SPOOL")
        ->capture_default_str();
    constexpr unsigned longest_seconds = 60;
    live->add_option("--interval", choice.live_seconds, "Seconds between two looks, 1 to 60")
        ->check(CLI::Range(1U, longest_seconds))
        ->capture_default_str();
    live->callback([&choice] {
        choice.live.interval = std::chrono::seconds(choice.live_seconds);
        choice.run = [&choice](Console& console) { return show_live(choice.live, console); };
    });
}

void add_calls(CLI::App& app, Choice& choice) {
    CLI::App* calls =
        app.add_subcommand("calls", "Show calls of a function of a running process with all that they call");
    CallsOptions& options = choice.calls;
    options.socket = default_socket;
    calls->add_option("--process", options.process, "Its number, or its name if no other has it")->required();
    calls->add_option("--function", options.function, "Each call of it is a tree")->required();
    calls->add_option("--depth", options.depth, "Levels of calls below it")->capture_default_str();
    calls->add_option("--match", options.match,
                      "Of those below it, only functions whose name or file this regular expression finds");
    calls->add_option("--only", options.only, "Only these functions, wherever they are called from: f,g,h")
        ->delimiter(',');
    calls->add_option("--min", options.least, "Leave out calls that took less: 5ms");
    calls->add_option("--count", options.count, "End after so many; 0: any number")->capture_default_str();
    calls->add_option("--for", options.length, "End after this time")->capture_default_str();
    calls->add_option("--budget", options.budget_percent, "What the probes may take, in percent of a CPU")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 10'000.0));
    calls->add_option("--output", options.output, "Write the calls to this file, which opens in Perfetto");
    calls->add_flag("--summary", options.summary, "Add the calls up, and show that at the end");
    calls->add_flag("--all", options.all, "Show each call, and why functions are not watched");
    calls->add_flag("--json", options.json, "Print JSON, an object a line");
    calls->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    calls->callback(
        [&choice] { choice.run = [&choice](Console& console) { return trace_calls(choice.calls, console); }; });
}

void add_functions(CLI::App& app, Choice& choice) {
    CLI::App* functions =
        app.add_subcommand("functions", "Trace all functions of a running process, at a bounded cost");
    FunctionsOptions& options = choice.functions;
    options.socket = default_socket;
    functions->add_option("--process", options.process, "Its number, or its name if no other has it")->required();
    functions->add_option("--include", options.include,
                          "Functions or files of the system to watch too, as a regular expression");
    functions->add_option("--exclude", options.exclude, "The application's own not to watch, the same");
    functions->add_option("--min", options.least, "Count shorter calls, and tell nothing more of them")
        ->capture_default_str();
    functions->add_option("--for", options.length, "End after this time")->capture_default_str();
    functions->add_option("--budget", options.budget_percent, "What the probes may take, in percent of a CPU")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 10'000.0));
    functions->add_option("--rate", options.bytes_per_second, "What may be told a second")->capture_default_str();
    functions->add_option("--top", options.top, "Functions to list")->capture_default_str();
    functions->add_option("--output", options.output, "Write the calls to this file, which opens in Perfetto");
    functions->add_flag("--all", options.all, "Say why functions are not watched");
    functions->add_flag("--json", options.json, "Print JSON, an object a line");
    functions->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    functions->callback(
        [&choice] { choice.run = [&choice](Console& console) { return trace_functions(choice.functions, console); }; });
}

// Seen on one machine, shown on another.
void add_distant_objects(CLI::App& objects, ObjectsOptions& options, CLI::Option& read) {
    CLI::Option* send =
        objects.add_flag("--send", options.send, "Send what is seen to the server, where --connect follows it");
    send->excludes(&read);
    options.settings = default_settings;
    objects.add_option("--settings", options.settings, "Settings, which say where the spool is")->capture_default_str();
    objects.add_option("--spool", options.spool, "The spool, in place of the settings' one");
    CLI::Option* connect =
        objects.add_option("--connect", options.connect, "Follow what a machine sends to the server of this address");
    connect->excludes(send)->excludes(&read);
    objects.add_option("--token-file", options.token_file, "With --connect: a file with a token that may read")
        ->needs(connect);
    objects.add_option("--ca", options.ca_file, "With --connect: certificates to trust, not the system's")
        ->needs(connect);
    objects.add_option("--watch", options.watch, "With --connect: the id that --send has printed; else the newest")
        ->needs(connect);
    objects.add_option("--host", options.host, "With --connect: the newest of this machine")->needs(connect);
}

void add_objects(CLI::App& app, Choice& choice) {
    CLI::App* objects =
        app.add_subcommand("objects", "Follow objects of a running process: created, used, released, failed");
    ObjectsOptions& options = choice.objects;
    options.socket = default_socket;
    objects->add_option("--process", options.process, "Its number, or its name if no other has it");
    objects->add_option("--class", options.classes, "A class of C++, or a regular expression of names of classes");
    objects->add_option("--preset", options.presets, "Objects of a known library");
    objects->add_flag("--list-presets", options.list_presets, "List the presets");
    objects->add_option("--name", options.name, "Of objects of C: what they are called")->capture_default_str();
    objects->add_option("--library", options.library, "Pattern of the name of the file that has the functions");
    objects->add_option("--create", options.create, "Functions that create one: FUNCTION:result, FUNCTION:arg0*");
    objects->add_option("--use", options.use, "Functions that use one: FUNCTION:arg0");
    objects->add_option("--release", options.release, "Functions that release one: FUNCTION:arg0");
    objects->add_option("--message", options.message, "Functions that give the text of an error: FUNCTION:result");
    objects->add_option("--error", options.error,
                        "Results that are failures: never, negative, null, nonzero, not-positive, errno");
    objects->add_option("--success", options.success, "Results that are none all the same, as \"100 101\"");
    objects->add_option("--except", options.except,
                        "With errno: those of its names that are no failures, as \"EAGAIN EINPROGRESS\"");
    objects->add_option("--title", options.title, "The argument of creations that names the object, as arg0");
    objects->add_option("--include", options.include,
                        "Of functions that use objects, those that this expression finds");
    objects->add_option("--exclude", options.exclude, "Functions that use objects not to watch, the same");
    objects->add_option("--min", options.least, "Count shorter calls that succeed, and tell nothing more of them")
        ->capture_default_str();
    objects->add_option("--mark", options.mark, "Calls that take as long stand out")->capture_default_str();
    objects->add_option("--for", options.length, "End after this time; 0s: at Ctrl-C")->capture_default_str();
    objects
        ->add_option("--patience", options.patience,
                     "Wait at most so long until stacks of the process can be walked, before the watch begins")
        ->capture_default_str();
    objects->add_option("--rate", options.calls_per_second, "Calls that may be told a second")->capture_default_str();
    objects->add_option("--budget", options.budget_percent, "What the probes may take, in percent of a CPU")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 10'000.0));
    objects->add_flag("--no-memory", options.no_memory, "Do not count memory: the allocator is not watched");
    objects->add_flag("--tree", options.tree, "Show each outermost call with what it called, as it ends");
    objects->add_option("--top", options.top, "Functions and failures to list")->capture_default_str();
    CLI::Option* record = objects->add_option("--record", options.record, "Write what is seen to this file");
    CLI::Option* read =
        objects->add_option("--read", options.read, "Show such a file, or - for standard input, in place of a process")
            ->excludes(record);
    add_distant_objects(*objects, options, *read);
    objects->add_flag("--all", options.all, "Leave nothing out");
    objects->add_flag("--json", options.json, "Print JSON, an object a line; another machine's --read takes it");
    objects->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    objects->callback(
        [&choice] { choice.run = [&choice](Console& console) { return trace_objects(choice.objects, console); }; });
}

void add_settings(CLI::App& app, Choice& choice) {
    CLI::App* check = app.add_subcommand("check", "Check a settings file and the programs it names");
    choice.check.file = default_settings;
    check->add_option("file", choice.check.file, "Settings file")->capture_default_str();
    auto* json = check->add_flag("--json", choice.check.json, "Print JSON");
    auto* reference = check
                          ->add_flag("--reference", choice.check.reference,
                                     "Print all that settings may hold, with ranges and defaults")
                          ->excludes(json);
    check->add_flag("--schema", choice.check.schema, "Print the XML schema of settings, for editors")
        ->excludes(json)
        ->excludes(reference);
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

void add_presets(CLI::App& app, Choice& choice) {
    CLI::App* presets = app.add_subcommand("presets", "List events of known programs, ready for use");
    presets->add_option("name", choice.presets.name, "Show this one whole: its name, or a file (with a slash)");
    presets->add_flag("--json", choice.presets.json, "Print JSON");
    presets->callback(
        [&choice] { choice.run = [&choice](Console& console) { return show_presets(choice.presets, console); }; });
}

void add_add(CLI::App& app, Choice& choice) {
    CLI::App* add = app.add_subcommand("add", "Look at a program for some seconds and propose what to watch in it");
    AddOptions& options = choice.add;
    options.settings = default_settings;
    options.socket = default_socket;
    add->add_option("target", options.target, "A program, the number or name of a process, or a unit")->required();
    add->add_option("--for", options.length, "How long to look at it; 0s: not at all")->capture_default_str();
    add->add_option("--choose", options.choose, "Take this one of what is offered, without asking")
        ->check(CLI::Range(1, 1000));
    add->add_option("--threshold", options.threshold, "Instead of the one that is proposed");
    add->add_option("--prefix", options.prefix, "Stands before the names of the events");
    add->add_flag("--functions", options.functions, "Look for functions even if there is a preset");
    add->add_flag("--write", options.write, "Write it into the settings, and have the daemon read them");
    add->add_option("--settings", options.settings, "Settings file")->capture_default_str();
    add->add_option("--socket", options.socket, "The daemon's control socket")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    add->add_flag("--json", options.json, "Print JSON");
    add->callback([&choice] { choice.run = [&choice](Console& console) { return add_events(choice.add, console); }; });
}

void add_why(CLI::App& app, Choice& choice) {
    CLI::App* why = app.add_subcommand(
        "why", "Say what a process is doing or waiting for right now, or why a command takes so long");
    WhyOptions& options = choice.why;
    options.socket = default_socket;
    why->add_option("process", options.target, "Its number, or its name if no other has it");
    why->add_option("--for", options.length, "How long to record the machine")->capture_default_str();
    why->add_option("--limit", options.limit, "Of a command: how much of it to record at most")->capture_default_str();
    why->add_flag("--all", options.all, "Show every thread in full");
    why->add_flag("--json", options.json, "Print JSON");
    why->add_option("--socket", options.socket, "Socket of a daemon that may record; without one, why runs its own")
        ->envname("LAGTRAP_SOCKET")
        ->capture_default_str();
    why->footer("lagtrap why [OPTIONS] -- COMMAND [ARGUMENTS] runs a command and says where its time went.");
    why->callback([&choice] {
        if (choice.why.target.empty() == choice.why.command.empty())
            throw CLI::RequiredError("Either a process or, after --, a command");
        choice.run = [&choice](Console& console) { return say_why(choice.why, console); };
    });
}

void add_watch(CLI::App& app, Choice& choice) {
    CLI::App* watch = app.add_subcommand("watch", "Wait for a slow run of something, and explain it as it happens");
    WatchOptions& options = choice.watch;
    watch->add_option("--function", options.function, "Calls of a function");
    watch->add_option("--usdt", options.usdt, "From a USDT probe to its end: PROVIDER:NAME");
    watch->add_option("--syscall", options.syscall, "A system call, such as fsync");
    watch->add_option("--preset", options.preset, "The events of a preset");
    watch->add_option("--in", options.in, "A program, the number or name of a process, or a unit");
    watch->add_option("--over", options.over, "What takes longer is slow, such as 50ms; a preset has its own");
    watch->add_option("--count", options.count, "End after so many slow runs")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    watch->add_flag("--full", options.full, "Show the whole report of each, not only its beginning");
    watch->add_flag("--save", options.save, "Print the event for the settings at the end");
    watch->callback(
        [&choice] { choice.run = [&choice](Console& console) { return watch_event(choice.watch, console); }; });
}

void add_doctor(CLI::App& app, Choice& choice) {
    CLI::App* doctor = app.add_subcommand("doctor", "Say what works on this machine, what is missing, and what to do");
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

void add_export(CLI::App& app, Choice& choice) {
    CLI::App* sub = app.add_subcommand("export", "Write a recording in another form");
    ExportOptions& options = choice.exports;
    add_bundle_options(*sub, options.bundle, options.spool, choice.delay);
    std::vector<std::string> names;
    for (const formats::Format& format : formats::formats()) names.emplace_back(format.name);
    sub->add_option("--format", options.format, "One of the forms below")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    sub->add_option("--thread", options.thread, "Of this thread alone: its id, or its name");
    const auto add_time = [&](const char* name, const char* help, formats::TimeChoice time) {
        return sub->add_flag_callback(
            name, [&options, time] { options.time = time; }, help);
    };
    CLI::Option* on = add_time("--on-cpu", "Time on a CPU alone", formats::TimeChoice::OnCpu);
    CLI::Option* off = add_time("--off-cpu", "Time blocked or waiting for a CPU alone", formats::TimeChoice::OffCpu);
    CLI::Option* all = add_time("--all", "All time", formats::TimeChoice::All);
    on->excludes(off)->excludes(all);
    off->excludes(all);
    sub->add_option("-o,--output", options.output, "File to write; default: standard output");
    sub->add_flag("--list-formats", options.list, "Say what forms there are");
    sub->footer("Forms:\n" + formats::list_formats());
    sub->callback([&choice] {
        choice.exports.delay = choice.delay;
        choice.run = [&choice](Console& console) { return export_recording(choice.exports, console); };
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

    add_export(app, choice);

    CLI::App* upload = app.add_subcommand("upload", "Send bundles now, with lagtrap-uploader");
    choice.upload.settings = default_settings;
    upload->add_option("bundles", choice.upload.bundles, "Bundles; default: all that wait in the spool");
    upload->add_option("--settings", choice.upload.settings, "Settings file")->capture_default_str();
    upload->add_option("--spool", choice.upload.spool, "The spool; default: the settings' one")
        ->envname("LAGTRAP_SPOOL");
    upload->callback(
        [&choice] { choice.run = [&choice](Console& console) { return upload_bundles(choice.upload, console); }; });
}

// Of "lagtrap why -- COMMAND ...", those before the "--": what follows is the command's.
int own_arguments(int argc, const char* const* argv) {
    if (argc < 2 || std::string_view(argv[1]) != "why") return argc;
    return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Console& console) {
    const int own_argc = own_arguments(argc, argv);
    CLI::App app("Shows, steers and explains what lagtrapd watches and records", "lagtrap");
    app.set_version_flag("--version", "lagtrap " LAGTRAP_VERSION);
    app.require_subcommand(1);
    Choice choice;
    add_why(app, choice);
    add_watch(app, choice);
    add_control(app, choice);
    add_live(app, choice);
    add_calls(app, choice);
    add_functions(app, choice);
    add_objects(app, choice);
    add_settings(app, choice);
    add_presets(app, choice);
    add_add(app, choice);
    add_doctor(app, choice);
    add_recordings(app, choice);
    add_symbolize(app, choice);
    try {
        choice.why.command.assign(argv + std::min(own_argc + 1, argc), argv + argc);
        app.parse(own_argc, argv);
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
