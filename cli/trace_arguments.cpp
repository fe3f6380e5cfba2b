#include "cli/trace_arguments.hpp"

#include "cli/shared_arguments.hpp"

namespace lagtrap::cli {
namespace {

void add_budget(CLI::App& command, double& percent) {
    command.add_option("--budget", percent, "CPU limit for the probes, in percent of one CPU")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 10'000.0));
}

// Traces on one machine, shown on another.
void add_distant_objects(CLI::App& objects, ObjectsOptions& options, CLI::Option& read) {
    CLI::Option* send = objects.add_flag(
        "--send", options.send, "Send the trace to the server, where --connect can follow it");
    send->excludes(&read);
    options.settings = default_settings;
    objects.add_option("--settings", options.settings, "Settings file, which names the spool")
        ->capture_default_str();
    objects.add_option("--spool", options.spool, "Spool to use instead of the one in the settings");
    CLI::Option* connect = objects.add_option("--connect", options.connect,
                                              "Follow a trace through the server at this address");
    connect->excludes(send)->excludes(&read);
    objects
        .add_option("--token-file", options.token_file,
                    "With --connect: file with a token of scope read")
        ->needs(connect);
    objects
        .add_option("--ca", options.ca_file,
                    "With --connect: certificates to trust instead of the system's")
        ->needs(connect);
    objects
        .add_option("--watch", options.watch,
                    "With --connect: id that --send printed; default: the newest")
        ->needs(connect);
    objects.add_option("--host", options.host, "With --connect: the newest from this machine")
        ->needs(connect);
}

}  // namespace

void add_calls(CLI::App& app, Choice& choice) {
    CLI::App* calls =
        app.add_subcommand("calls", "Show calls of a function, with everything they call");
    CallsOptions& options = choice.calls;
    calls->add_option("--process", options.process, "Process id, or name if it is unique")
        ->required();
    calls->add_option("--function", options.function, "The function; each call is shown as a tree")
        ->required();
    calls->add_option("--depth", options.depth, "Levels of callees to probe")
        ->capture_default_str();
    calls->add_option("--match", options.match,
                      "Probe only callees whose name or file matches this regular expression");
    calls
        ->add_option("--only", options.only,
                     "Probe only these callees, wherever they are called from: f,g,h")
        ->delimiter(',');
    calls->add_option("--min", options.least, "Hide calls that took less, such as 5ms");
    calls->add_option("--count", options.count, "End after this many calls; 0: no limit")
        ->capture_default_str();
    calls->add_option("--for", options.length, "End after this time")->capture_default_str();
    add_budget(*calls, options.budget_percent);
    calls->add_option("--output", options.output,
                      "Write the calls to this file, as a Perfetto trace");
    calls->add_flag("--summary", options.summary,
                    "Show a summary at the end instead of single calls");
    calls->add_flag("--all", options.all, "Show every call, and why functions are not probed");
    calls->add_flag("--json", options.json, "Print JSON, one object per line");
    add_socket(*calls, options.socket);
    set_run(*calls, choice, choice.calls, trace_calls);
}

void add_functions(CLI::App& app, Choice& choice) {
    CLI::App* functions = app.add_subcommand(
        "functions", "Trace all functions of a running process at a limited cost");
    FunctionsOptions& options = choice.functions;
    functions->add_option("--process", options.process, "Process id, or name if it is unique")
        ->required();
    functions->add_option(
        "--include", options.include,
        "Also probe system functions and files that match this regular expression");
    functions->add_option("--exclude", options.exclude,
                          "Do not probe functions of the application that match");
    functions
        ->add_option("--min", options.least, "Calls shorter than this are counted but not shown")
        ->capture_default_str();
    functions->add_option("--for", options.length, "End after this time")->capture_default_str();
    add_budget(*functions, options.budget_percent);
    functions->add_option("--rate", options.bytes_per_second, "Maximum data rate per second")
        ->capture_default_str();
    functions->add_option("--top", options.top, "Number of functions to list")
        ->capture_default_str();
    functions->add_option("--output", options.output,
                          "Write the calls to this file, as a Perfetto trace");
    functions->add_flag("--all", options.all, "Say why functions are not probed");
    functions->add_flag("--json", options.json, "Print JSON, one object per line");
    add_socket(*functions, options.socket);
    set_run(*functions, choice, choice.functions, trace_functions);
}

void add_objects(CLI::App& app, Choice& choice) {
    CLI::App* objects =
        app.add_subcommand("objects", "Follow objects: created, used, released, failed");
    ObjectsOptions& options = choice.objects;
    objects->add_option("--process", options.process, "Process id, or name if it is unique");
    objects->add_option("--class", options.classes, "C++ class name or regular expression");
    objects->add_option("--preset", options.presets, "Objects of a known library, by preset name");
    objects->add_flag("--list-presets", options.list_presets, "List the presets");
    objects->add_option("--name", options.name, "Name for objects in C")->capture_default_str();
    objects->add_option("--library", options.library,
                        "Name or pattern of the file that contains the functions");
    objects->add_option("--create", options.create,
                        "Functions that create an object: FUNCTION:result, FUNCTION:arg0*");
    objects->add_option("--use", options.use, "Functions that use an object: FUNCTION:arg0");
    objects->add_option("--release", options.release,
                        "Functions that release an object: FUNCTION:arg0");
    objects->add_option("--message", options.message,
                        "Functions that return an error text: FUNCTION:result");
    objects->add_option(
        "--error", options.error,
        "Which return values are failures: never, negative, null, nonzero, not-positive, errno");
    objects->add_option("--success", options.success,
                        "Return values to treat as success: \"100 101\"");
    objects->add_option("--except", options.except,
                        "With errno: errors to treat as success: \"EAGAIN EINPROGRESS\"");
    objects->add_option("--title", options.title,
                        "Argument of the creating function that names the object: arg0");
    objects->add_option("--include", options.include,
                        "Count only uses by functions that match this regular expression");
    objects->add_option("--exclude", options.exclude, "Ignore uses by functions that match");
    objects
        ->add_option("--min", options.least,
                     "Successful calls shorter than this are counted but not shown")
        ->capture_default_str();
    objects->add_option("--mark", options.mark, "Highlight calls at least this long")
        ->capture_default_str();
    objects->add_option("--for", options.length, "End after this time; 0s: on Ctrl-C")
        ->capture_default_str();
    objects
        ->add_option("--timeout", options.timeout,
                     "Longest wait, before starting, until stacks of the process can be unwound")
        ->capture_default_str();
    objects
        ->add_option("--rate", options.calls_per_second,
                     "Maximum number of calls reported per second")
        ->capture_default_str();
    add_budget(*objects, options.budget_percent);
    objects->add_flag("--no-memory", options.no_memory,
                      "Do not probe the allocator, and do not count memory");
    objects->add_flag("--tree", options.tree,
                      "Show each outermost call with its callees as it ends");
    objects->add_option("--top", options.top, "Number of functions and failures to list")
        ->capture_default_str();
    CLI::Option* record =
        objects->add_option("--record", options.record, "Write the trace to this file");
    CLI::Option* read =
        objects
            ->add_option("--read", options.read,
                         "Read such a file, or - for standard input, instead of tracing a process")
            ->excludes(record);
    add_distant_objects(*objects, options, *read);
    objects->add_flag("--all", options.all, "Show everything");
    objects->add_flag("--json", options.json,
                      "Print JSON, one object per line, which --read accepts");
    add_socket(*objects, options.socket);
    set_run(*objects, choice, choice.objects, trace_objects);
}

}  // namespace lagtrap::cli
