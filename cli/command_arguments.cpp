#include "cli/command_arguments.hpp"

#include <chrono>

#include "cli/recording_arguments.hpp"
#include "cli/shared_arguments.hpp"
#include "cli/trace_arguments.hpp"

namespace lagtrap::cli {

namespace {

void add_control(CLI::App& app, Choice& choice) {
    const auto add = [&](const char* name, const char* help,
                         int (*command)(const ControlOptions&, Console&)) {
        CLI::App* sub = app.add_subcommand(name, help);
        add_socket(*sub, choice.control.socket);
        sub->add_flag("--json", choice.control.json, "Print the daemon's answer as JSON");
        set_run(*sub, choice, choice.control, command);
        return sub;
    };
    add("status", "Show the watched events, their delays, and the recordings", show_status);
    CLI::App* metrics =
        add("metrics", "Print the figures of `lagtrap status` in Prometheus' text format",
            show_metrics);
    metrics->add_option("-o,--output", choice.control.output,
                        "File to replace atomically, for node_exporter's textfile collector; "
                        "default: standard output");
    CLI::App* explain =
        add("explain", "Explain why an event has no delays, and what to do", explain_event);
    explain->add_option("event", choice.control.event, "An event in the settings")->required();
    CLI::App* trigger = add("trigger", "Start a recording by hand", trigger_recording);
    trigger->add_option("event", choice.control.event, "An event in the settings")->required();
    trigger->add_flag("--wait", choice.control.wait,
                      "Wait for the bundle and print its session id, which other commands accept");
    add("approve", "Keep the recording that the daemon asks about", approve_recording);
    add("decline", "Discard the recording that the daemon asks about", decline_recording);
}

void add_ask(CLI::App& app, Choice& choice) {
    CLI::App* ask = app.add_subcommand(
        "ask", "Ask a person about recordings that wait for an answer, with a command");
    AskOptions& options = choice.ask;
    ask->add_flag("--tell", options.tell, "The command only tells; its exit status is no answer");
    add_socket(*ask, options.socket);
    ask->footer(
        "lagtrap ask [OPTIONS] -- COMMAND [ARGUMENTS] runs the command for each question of "
        "<confirm>, with the\n"
        "question as its last argument. Exit status 0 keeps the recording, 1 discards it.");
    ask->callback([&choice] {
        if (choice.ask.command.empty()) throw CLI::RequiredError("After --, a command");
        choice.run = [&choice](Console& console) { return ask_person(choice.ask, console); };
    });
}

void add_live(CLI::App& app, Choice& choice) {
    CLI::App* live = app.add_subcommand("live", "Show the events as they run, full-screen");
    LiveOptions& options = choice.live;
    add_socket(*live, options.socket);
    add_spool(*live, options.spool, "Spool to search if the daemon has made no bundle");
    constexpr unsigned max_seconds = 60;
    live->add_option("--interval", choice.live_seconds, "Seconds between updates, 1 to 60")
        ->check(CLI::Range(1U, max_seconds))
        ->capture_default_str();
    live->callback([&choice] {
        choice.live.interval = std::chrono::seconds(choice.live_seconds);
        choice.run = [&choice](Console& console) { return show_live(choice.live, console); };
    });
}

void add_settings(CLI::App& app, Choice& choice) {
    CLI::App* check =
        app.add_subcommand("check", "Check a settings file and the programs it names");
    choice.check.file = default_settings;
    check->add_option("file", choice.check.file, "Settings file")->capture_default_str();
    auto* json = check->add_flag("--json", choice.check.json, "Print JSON");
    auto* reference = check
                          ->add_flag("--reference", choice.check.reference,
                                     "Print every element and attribute with range and default")
                          ->excludes(json);
    check
        ->add_flag("--schema", choice.check.schema,
                   "Print the XML schema of the settings, for editors")
        ->excludes(json)
        ->excludes(reference);
    set_run(*check, choice, choice.check, check_settings);

    CLI::App* rehearse =
        app.add_subcommand("rehearse", "Say how many recordings a settings file would have caused");
    choice.rehearse.settings = default_settings;
    rehearse->add_option("file", choice.rehearse.file, "The new settings file")->required();
    rehearse->add_option("--settings", choice.rehearse.settings, "Settings in use")
        ->capture_default_str();
    rehearse->add_flag("--json", choice.rehearse.json, "Print JSON");
    set_run(*rehearse, choice, choice.rehearse, rehearse_settings);

    CLI::App* markers = app.add_subcommand(
        "list-markers", "List what can be watched in a program, process or kernel");
    markers->add_option(
        "target", choice.markers.target,
        "Path of a program or library, or a process id; with --tracepoints, a pattern");
    auto* functions =
        markers->add_flag("--functions", choice.markers.functions, "Also list functions");
    markers
        ->add_flag("--tracepoints", choice.markers.tracepoints,
                   "List kernel tracepoints, including system calls")
        ->excludes(functions);
    markers->add_flag("--json", choice.markers.json, "Print JSON");
    set_run(*markers, choice, choice.markers, list_markers);
}

void add_presets(CLI::App& app, Choice& choice) {
    CLI::App* presets = app.add_subcommand("presets", "List ready-made events for known programs");
    presets->add_option("name", choice.presets.name,
                        "Show this preset in full: a name, or a file (with a slash)");
    presets->add_flag("--json", choice.presets.json, "Print JSON");
    set_run(*presets, choice, choice.presets, show_presets);
}

void add_add(CLI::App& app, Choice& choice) {
    CLI::App* add = app.add_subcommand("add", "Measure a program and propose events to watch");
    AddOptions& options = choice.add;
    options.settings = default_settings;
    add->add_option("target", options.target, "A program, a process id or name, or a unit")
        ->required();
    add->add_option("--for", options.length, "How long to measure; 0s: do not measure")
        ->capture_default_str();
    add->add_option("--choose", options.choose, "Use the proposal of this number, without asking")
        ->check(CLI::Range(1, 1000));
    add->add_option("--threshold", options.threshold,
                    "Use this threshold instead of the proposed one");
    add->add_option("--prefix", options.prefix, "Prefix for the event names");
    add->add_flag("--functions", options.functions,
                  "Search for functions even if there is a preset");
    add->add_flag("--write", options.write,
                  "Write the events into the settings and reload the daemon");
    add->add_option("--settings", options.settings, "Settings file")->capture_default_str();
    add_socket(*add, options.socket);
    add->add_flag("--json", options.json, "Print JSON");
    set_run(*add, choice, choice.add, add_events);
}

void add_why(CLI::App& app, Choice& choice) {
    CLI::App* why =
        app.add_subcommand("why", "Say what a process does or waits for, or why a command is slow");
    WhyOptions& options = choice.why;
    why->add_option("target", options.target, "A process id, the name of processes, or a unit");
    why->add_option("--for", options.length, "How long to record the machine")
        ->capture_default_str();
    why->add_option("--limit", options.limit, "With a command: maximum length of the recording")
        ->capture_default_str();
    why->add_flag("--all", options.all, "Show every thread in full");
    CLI::Option* watch = why->add_flag("--watch", options.watch, "Repeat until Ctrl-C");
    why->add_flag("--json", options.json, "Print JSON");
    why->add_option(
           "-o,--output", options.output,
           "File for the report; default: standard output, or standard error with a command")
        ->excludes(watch);
    add_socket(*why, options.socket,
               "Socket of lagtrapd; if it cannot record, and with --watch, why starts a "
               "temporary one");
    why->footer(
        "lagtrap why [OPTIONS] -- COMMAND [ARGUMENTS] runs a command and says where its time "
        "went.");
    why->callback([&choice] {
        if (choice.why.target.empty() == choice.why.command.empty())
            throw CLI::RequiredError("a process or unit or, after --, a command");
        if (choice.why.watch && !choice.why.command.empty())
            throw CLI::ValidationError("--watch",
                                       "works with a process or unit, not with a command");
        choice.run = [&choice](Console& console) { return say_why(choice.why, console); };
    });
}

void add_watch(CLI::App& app, Choice& choice) {
    CLI::App* watch = app.add_subcommand(
        "watch", "Wait for a slow run of something, and explain it as it happens");
    WatchOptions& options = choice.watch;
    watch->add_option("--function", options.function, "Watch calls of this function");
    watch->add_option("--usdt", options.usdt,
                      "Watch from this USDT probe to its end: PROVIDER:NAME");
    watch->add_option("--syscall", options.syscall, "Watch a system call, such as fsync");
    CLI::Option* tracepoint = watch->add_option("--tracepoint", options.tracepoint,
                                                "Watch from this tracepoint on: GROUP:NAME");
    watch->add_option("--until", options.until, "The tracepoint where such a run ends")
        ->needs(tracepoint);
    watch
        ->add_option("--key", options.key,
                     "Its fields that pair both, such as dev,sector; default: the thread")
        ->needs(tracepoint);
    watch->add_option("--preset", options.preset, "Watch the events of a preset");
    watch
        ->add_option("--stage", options.stages,
                     "Also show when a run reaches this function, probe or tracepoint; repeatable")
        ->type_name("FUNCTION")
        ->allow_extra_args(false);
    watch->add_option("--in", options.in,
                      "Where to watch: a program, a process id or name, or a unit");
    watch->add_option("--over", options.over,
                      "Runs that take longer are slow, such as 50ms; default: the preset's, or "
                      "chosen from the runs of ten seconds");
    watch->add_option("--count", options.count, "End after this many slow runs")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    watch->add_flag("--full", options.full, "Show whole reports, not only their beginning");
    watch->add_option("--keep", options.keep, "Folder in which to keep the recordings");
    watch->add_flag("--save", options.save, "Print the event for the settings at the end");
    watch->add_flag("--write", options.write,
                    "Write the event into the settings at the end, and reload the daemon");
    options.settings = default_settings;
    watch->add_option("--settings", options.settings, "Settings file")->capture_default_str();
    add_socket(*watch, options.socket,
               "Socket of lagtrapd; if it cannot watch, a temporary one does");
    watch->footer(
        "lagtrap watch [OPTIONS] -- COMMAND [ARGUMENTS] runs a command and watches it and what it "
        "starts.");
    set_run(*watch, choice, choice.watch, watch_event);
}

void add_doctor(CLI::App& app, Choice& choice) {
    CLI::App* doctor =
        app.add_subcommand("doctor", "Check what works on this machine and what is missing");
    DoctorOptions& options = choice.doctor;
    options.settings = default_settings;
    doctor->add_option("--settings", options.settings, "Settings file")->capture_default_str();
    add_socket(*doctor, options.socket);
    doctor->add_flag("--server", options.server,
                     "Test whether the server in the settings accepts connections");
    doctor->add_flag("--json", options.json, "Print JSON");
    set_run(*doctor, choice, choice.doctor, examine_machine);
}

void add_runs(CLI::App& app, Choice& choice) {
    CLI::App* runs =
        app.add_subcommand("runs", "Show how long the runs of an event and their stages took");
    RunsOptions& options = choice.runs;
    runs->add_option("event", options.event, "An event in the settings")->required();
    runs->add_option("--since", options.since, "Only runs that began within this time")
        ->capture_default_str();
    CLI::Option* stage =
        runs->add_option("--stage", options.stage,
                         "Only this stage; with --slowest, runs that spent most time in it");
    runs->add_option("--from", options.from,
                     "Only the time from this stage on; default: from the run's begin")
        ->excludes(stage);
    runs->add_option("--to", options.to,
                     "Only the time until this stage begins; default: until the run's end")
        ->excludes(stage);
    runs->add_flag("--slowest", options.slowest, "List the longest runs, not the newest");
    runs->add_flag("--json", options.json, "Print JSON");
    add_spool(*runs, options.spool, "Spool to search for runs");
    add_socket(*runs, options.socket);
    set_run(*runs, choice, choice.runs, show_runs);
}

}  // namespace

void add_commands(CLI::App& app, Choice& choice) {
    // In the order of `lagtrap --help`.
    add_why(app, choice);
    add_watch(app, choice);
    add_calls(app, choice);
    add_functions(app, choice);
    add_objects(app, choice);
    add_doctor(app, choice);
    add_add(app, choice);
    add_presets(app, choice);
    add_settings(app, choice);
    add_control(app, choice);
    add_live(app, choice);
    add_recordings(app, choice);
    add_runs(app, choice);
    add_ask(app, choice);
    add_fetch(app, choice);
    add_symbolize(app, choice);
}

}  // namespace lagtrap::cli
