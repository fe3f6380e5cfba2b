#include "settings/schema.hpp"

#include <array>
#include <vector>

#include <fmt/core.h>

namespace lagtrap::settings {
namespace {

using enum ValueKind;
using enum Presence;

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t ms = 1'000 * us;
constexpr std::uint64_t s = 1'000 * ms;
constexpr std::uint64_t hour = 3'600 * s;
constexpr std::uint64_t day = 24 * hour;
constexpr std::uint64_t kibibyte = 1ULL << 10;
constexpr std::uint64_t mebibyte = 1ULL << 20;
constexpr std::uint64_t percent = 10'000;        // millionths
constexpr std::uint64_t pid_limit = 1ULL << 22;  // the kernel's PID_MAX_LIMIT

constexpr AttributeSpec binary_of_marker{
    "binary", Program, Optional, "", "", 0, 0, "Program or library that holds the marker; default: the event's."};
constexpr AttributeSpec usdt{"usdt", Usdt, Optional, "", "", 0, 0, "The marker is this USDT probe."};
constexpr AttributeSpec function{
    "function", Symbol, Optional, "", "", 0, 0, "The marker is this function, by symbol or demangled name."};
constexpr AttributeSpec tracepoint{"tracepoint", Tracepoint, Optional, "",
                                   "",           0,          0,        "The marker is this tracepoint of the kernel."};
constexpr AttributeSpec side{"side",         Choice, Optional, "entry",
                             "entry|return", 0,      0,        "Which side of the function the marker is."};
constexpr AttributeSpec key{"key",
                            Key,
                            Optional,
                            "",
                            "",
                            0,
                            0,
                            "The value that pairs the markers of a run: arg0 to arg11 of a USDT probe, arg0 to "
                            "arg5 of a function, a field of a tracepoint, or two of them (dev,sector). On all "
                            "markers of an event or on none."};

constexpr AttributeSpec stage_name{"name", Name, Required, "", "", 0, 0, "What reports call this point of the run."};

constexpr AttributeSpec stage_expected{
    "expected", Choice, Optional, "no", "yes|no", 0, 0, "A recorded run that never reaches this stage is dirty."};

constexpr std::array scope_attributes{
    AttributeSpec{"pid", Count, Optional, "", "", 1, pid_limit, "This process alone."},
    AttributeSpec{"user", User, Optional, "", "", 0, 0, "Processes of this user."},
    AttributeSpec{"binary", Path, Optional, "", "", 0, 0, "Processes whose program is this file."},
    AttributeSpec{"unit", Pattern, Optional, "", "", 0, 0,
                  "Processes of this unit of systemd, or of one inside of it."},
    AttributeSpec{
        "control-group", Pattern, Optional, "", "", 0, 0,
        "Processes of this control group, as a path from the root of cgroup version 2, or of one inside of it."},
    AttributeSpec{"container", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers of this name, or whose id begins so (12 digits at least)."},
    AttributeSpec{"image", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers of this image, by its whole name, or by its last part without the tag."},
    AttributeSpec{"pod", Pattern, Optional, "", "", 0, 0, "Processes of Kubernetes pods of this name."},
    AttributeSpec{"namespace", Pattern, Optional, "", "", 0, 0, "Processes of pods of this Kubernetes namespace."},
    AttributeSpec{"label", Label, Optional, "", "", 0, 0, "Processes of containers, or pods, with this label."}};

constexpr std::array key_attributes{
    AttributeSpec{"scope", Choice, Optional, "process", "process|machine", 0, 0,
                  "Whose equal keys are one key: one process's, or those of all processes."}};

constexpr std::array begin_attributes{
    usdt,
    function,
    tracepoint,
    binary_of_marker,
    side,
    key,
    AttributeSpec{"begin-time", Argument, Optional, "", "", 0, 0,
                  "A value of the marker that says when the run really began, in nanoseconds of "
                  "CLOCK_MONOTONIC; counts if it is earlier than the marker."},
    AttributeSpec{"trace-id", Argument, Optional, "", "", 0, 0,
                  "An argument of the marker that is the address of a text: the id of the trace that the run belongs "
                  "to, 32 hexadecimal digits or a W3C traceparent."}};

constexpr std::array stage_attributes{stage_name, stage_expected,   usdt, function,
                                      tracepoint, binary_of_marker, side, key};
constexpr AttributeSpec end_meaning{
    "as",
    Choice,
    Optional,
    "done",
    "done|failed|cancelled",
    0,
    0,
    "What this end says of the run: that it was done, failed or was cancelled. The latter are counted apart."};
constexpr std::array end_attributes{usdt, function, tracepoint, binary_of_marker, side, key, end_meaning};

constexpr std::array function_attributes{
    AttributeSpec{"name", Symbol, Required, "", "", 0, 0, "The function, by symbol or demangled name."},
    binary_of_marker};

constexpr std::uint64_t most_call_depth = 32;
constexpr std::size_t objects_limit = 16;
constexpr std::array calls_attributes{
    AttributeSpec{"depth", Count, Optional, "3", "", 0, most_call_depth, "Levels of calls below the function."},
    AttributeSpec{"match", Expression, Optional, "", "", 0, 0,
                  "Of what it calls only functions, or files, whose names this matches somewhere; default: all."},
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "What the probes may take of one CPU; functions that are called too often for it are taken out."}};

constexpr std::string_view object_errors = "never|negative|null|nonzero|not-positive|errno";
constexpr std::array object_attributes{
    AttributeSpec{"preset", Text, Optional, "", "", 0, 0, "Objects of a known library; then nothing else is given."},
    AttributeSpec{"name", Name, Optional, "", "", 0, 0, "What they are called; default: the class, or object."},
    AttributeSpec{"class", Expression, Optional, "", "", 0, 0,
                  "Objects of the classes of C++ whose names, or last parts of names, this matches as a whole."},
    AttributeSpec{"library", Pattern, Optional, "", "", 0, 0, "The name of the file that has the functions."},
    AttributeSpec{"create", Text, Optional, "", "", 0, 0,
                  "Functions of C that create one, and where they have it: NAME:result, NAME:arg0, NAME:arg0*."},
    AttributeSpec{"use", Text, Optional, "", "", 0, 0, "The same of functions that use one."},
    AttributeSpec{"release", Text, Optional, "", "", 0, 0, "The same of functions that release one."},
    AttributeSpec{"message", Text, Optional, "", "", 0, 0, "Functions that give the text of an error, and where."},
    AttributeSpec{"error", Choice, Optional, "", object_errors, 0, 0, "Results that are failures."},
    AttributeSpec{"create-error", Choice, Optional, "", object_errors, 0, 0, "The same of creations alone."},
    AttributeSpec{"use-error", Choice, Optional, "", object_errors, 0, 0, "The same of uses alone."},
    AttributeSpec{"release-error", Choice, Optional, "", object_errors, 0, 0, "The same of releases alone."},
    AttributeSpec{"success", Text, Optional, "", "", 0, 0, "Up to 4 results that are no failures all the same."},
    AttributeSpec{"except", Text, Optional, "", "", 0, 0,
                  "With errno: up to 4 of its names that are no failures, as EAGAIN EINPROGRESS."},
    AttributeSpec{"title", Text, Optional, "", "", 0, 0, "The argument of creations that is a text: arg0."},
    AttributeSpec{"reused", Choice, Optional, "", "yes|no", 0, 0,
                  "Whether others use the same numbers, as of file descriptors."}};

constexpr std::array functions_attributes{
    AttributeSpec{"standing", Choice, Optional, "no", "yes|no", 0, 0,
                  "Whether functions are watched all the time, in up to 4 processes, so that the last seconds before a "
                  "breach are known too."},
    AttributeSpec{"window", Duration, Optional, "5s", "", s, 60 * s, "With standing: how many of them."},
    AttributeSpec{"include", Expression, Optional, "", "", 0, 0,
                  "Functions or files to watch too, though they are the system's."},
    AttributeSpec{"exclude", Expression, Optional, "", "", 0, 0,
                  "Functions or files not to watch, though they are the application's own."},
    AttributeSpec{"min", Duration, Optional, "20us", "", us, 10 * s, "Shorter calls are only counted."},
    AttributeSpec{"rate", ByteSize, Optional, "200kB", "", kibibyte, 10 * mebibyte,
                  "Bytes of calls a second that are kept at most; where there are more, the minimum is raised."},
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "What the probes may take of one CPU; processes that are watched all the time have it together. "
                  "Functions that are called too often for it are "
                  "taken out."}};

constexpr std::array library_stage_attributes{stage_name, stage_expected};
constexpr std::array library_attributes{binary_of_marker};

constexpr std::array event_attributes{
    AttributeSpec{"name", Name, Required, "", "", 0, 0, "What commands and reports call the event."},
    AttributeSpec{"threshold", Duration, Required, "", "", us, hour, "A longer run is a delay."},
    AttributeSpec{"trace-length", DurationRange, Required, "", "", 10 * ms, 600 * s,
                  "How long to record the machine after a breach. A run that is noticed at its deadline is recorded "
                  "to its end, up to the second of two durations; default: four times the first."},
    AttributeSpec{"breach", Choice, Optional, "deadline", "deadline|end", 0, 0,
                  "When a delay is noticed: while the run is still open, or at its end."},
    AttributeSpec{"nesting", Choice, Optional, "", "each|outermost|restart", 0, 0,
                  "What a begin means while a run of the same key is open: a run of its own, a part of the "
                  "open one, or its replacement. Default: each where functions or <library> begin the run, "
                  "restart for usdt and tracepoint."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0, "Where the markers are that name no binary."},
    AttributeSpec{"copies", Choice, Optional, "all", "all|none", 0, 0,
                  "Whether files of the same path in containers, and in other views of the file system, are watched "
                  "too, from when a process has them mapped."},
    AttributeSpec{"record", Choice, Optional, "delays", "delays|runs", 0, 0,
                  "Whether each run is recorded and sent to the server, not only what is known of delays."},
    AttributeSpec{"stacks", Choice, Optional, "none", "none|markers", 0, 0,
                  "Whether recorded runs have the call stack of each of their markers."},
    AttributeSpec{"cold", Choice, Optional, "", "first-of-process", 0, 0,
                  "Which recorded runs are cold starts: the first of each process."},
    AttributeSpec{"cold-after", Duration, Optional, "", "", ms, 365 * day,
                  "Recorded runs are cold starts so long after the program's last run."}};

constexpr std::array recording_attributes{
    AttributeSpec{"sample-interval", Duration, Optional, "1ms", "", 100 * us, s,
                  "Time between two call stacks of one CPU."},
    AttributeSpec{"cool-down", Duration, Optional, "30s", "", 0, day, "No other capture begins so long after one."},
    AttributeSpec{"captures-per-hour", Count, Optional, "12", "", 1, 3600, "No more captures than these."},
    AttributeSpec{"capture-size-limit", ByteSize, Optional, "512MiB", "", mebibyte, 65536 * mebibyte,
                  "A capture that grows larger ends early and says so."},
    AttributeSpec{"merge-limit", Duration, Optional, "10min", "", s, day,
                  "A merge that takes longer is ended, and done again without names of functions."},
    AttributeSpec{"stack-copies", ByteSize, Optional, "64MiB", "", 0, 1024 * mebibyte,
                  "Memory of stacks that a capture may copy, for stacks that can only be walked later; 0B: none."},
    AttributeSpec{"scheduling", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Record context switches, wakings and the stacks of blocked threads."}};

constexpr std::array confirm_attributes{
    AttributeSpec{"wait", Duration, Optional, "10s", "", s, hour, "Without an answer after this time it starts."}};

constexpr std::array privacy_attributes{
    AttributeSpec{"command-lines", Choice, Optional, "masked", "masked|program|all", 0, 0,
                  "Of processes in recordings: without passwords, tokens and keys, as far as their names say what they "
                  "are; the program alone; or all of them as they are."}};

constexpr std::array spool_attributes{
    AttributeSpec{"path", Path, Optional, "/var/lib/lagtrap/spool", "", 0, 0,
                  "Folder where captures and bundles wait."},
    AttributeSpec{"size-limit", ByteSize, Optional, "2GiB", "", 16 * mebibyte, 16384 * 1024 * mebibyte,
                  "The oldest bundles go when the folder grows larger."},
    AttributeSpec{"age-limit", Duration, Optional, "30d", "", hour, 3650 * day, "Older bundles go."}};

constexpr std::array unwinding_attributes{
    AttributeSpec{"memory", ByteSize, Optional, "64MiB", "", 8 * mebibyte, 4096 * mebibyte,
                  "For the tables by which stacks are walked, of all programs of the machine together."},
    AttributeSpec{"cache", Path, Optional, "/var/cache/lagtrap/unwind", "", 0, 0,
                  "Folder where these tables are kept, so that they need not be made again."},
    AttributeSpec{"cache-limit", ByteSize, Optional, "512MiB", "", 16 * mebibyte, 65536 * mebibyte,
                  "The tables not used for longest go when the folder grows larger."}};

constexpr std::array runs_attributes{
    AttributeSpec{"batch-interval", Duration, Optional, "10s", "", 100 * ms, hour,
                  "A batch is closed when its first run is so old."},
    AttributeSpec{"batch-size", ByteSize, Optional, "256KiB", "", 16 * kibibyte, 8 * mebibyte,
                  "A batch is closed when its runs take about so much, before compression."},
    AttributeSpec{"limit-per-second", Count, Optional, "2000", "", 1, 100'000,
                  "Of one event; as many may pass at once. Runs beyond it are counted by those that pass."}};

constexpr std::array budget_attributes{
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "What watching may cost, in shares of one CPU, as CPUQuota= of systemd counts: programs at markers, "
                  "and the daemon's own use."},
    AttributeSpec{"recording-share", Share, Optional, "20%", "", percent / 10, 100 * percent,
                  "What a recording may cost, in shares of all CPUs."},
    AttributeSpec{"interval", Duration, Optional, "2s", "", 100 * ms, 60 * s, "Time between two looks at the cost."},
    AttributeSpec{"shed", ChoiceList, Optional, "switches samples history times stacks stages events",
                  "switches|samples|history|times|stacks|stages|events|none", 0, 0,
                  "What is given up when a share is passed, and in which order. In recordings: what the programs of "
                  "threads that block were doing (switches), and call stacks as often as set (samples). While "
                  "watching: what is kept of the time before a breach (history), where the "
                  "time of runs goes (times), the stacks at markers (stacks), stages of runs (stages), and events, the "
                  "costliest first "
                  "(events). What is not named is kept."},
    AttributeSpec{
        "pause", Duration, Optional, "1min", "", s, day,
        "After this time what was given up while watching is tried again; each further time it takes twice as "
        "long, up to a day."}};

constexpr std::array history_attributes{
    AttributeSpec{
        "length", Duration, Optional, "5s", "", 0, 60 * s,
        "So much of what the machine did before a breach is kept in memory, and recorded with it; 0s: nothing."},
    AttributeSpec{"sample-interval", Duration, Optional, "20ms", "", 5 * ms, s,
                  "Time between two call stacks of one CPU meanwhile; CPUs that are idle stay asleep."},
    AttributeSpec{
        "early-share", Share, Optional, "2%", "", 0, 50 * percent,
        "Runs that are slower than nearly all others are recorded, in memory, before they pass their threshold; "
        "what of the time this may take. 0%: no recording begins before a breach."},
    AttributeSpec{"times", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Whether it is counted where the time of each run goes: on a CPU, waiting for one, blocked."}};

constexpr std::array upload_attributes{
    AttributeSpec{"url", Url, Required, "", "", 0, 0, "Address of lagtrap-server."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0, "File that holds the token for the server."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0, "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0, "Proxy on the way to the server; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "5min", "", s, day, "Longest time of one upload."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array otlp_attributes{
    AttributeSpec{"url", Url, Required, "", "", 0, 0,
                  "Address of the collector's OTLP over HTTP, without /v1/traces: http://localhost:4318."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0, "File that holds a bearer token for the collector."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0, "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0, "Proxy on the way to the collector; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "30s", "", s, day, "Longest time of one request."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array control_attributes{
    AttributeSpec{"socket", SocketPath, Optional, "/run/lagtrap/control.sock", "", 0, 0,
                  "Where the lagtrap command reaches the daemon."},
    AttributeSpec{"group", Group, Optional, "", "", 0, 0,
                  "Its members may use the socket, as far as read, change and trace say; default: root alone."},
    AttributeSpec{"read", Choice, Optional, "group", "root|group|anyone", 0, 0,
                  "Who may ask for the status; root always may."},
    AttributeSpec{"change", Choice, Optional, "group", "root|group", 0, 0,
                  "Who may start a recording, approve or decline one; root always may."},
    AttributeSpec{
        "trace", Choice, Optional, "root", "root|group", 0, 0,
        "Who may trace calls, functions and objects of every process, which is as much as reading its memory; "
        "root always may, and who may read may trace processes of their own."}};

constexpr std::array use_attributes{
    AttributeSpec{"preset", Name, Required, "", "", 0, 0, "Which preset; `lagtrap presets` lists them."},
    AttributeSpec{"events", Names, Optional, "", "", 0, 0, "Which of its events; default: all of them."},
    AttributeSpec{"threshold", Duration, Optional, "", "", us, hour, "Instead of the one of each of these events."},
    AttributeSpec{"trace-length", DurationRange, Optional, "", "", 10 * ms, 600 * s,
                  "Instead of the one of each of these events."},
    AttributeSpec{"prefix", Name, Optional, "", "", 0, 0,
                  "Stands before the names of the events, so that a preset can be used twice: shop- makes shop-query."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0,
                  "Instead of the preset's program or library; default: each file of its name that a process runs."},
    AttributeSpec{"record", Choice, Optional, "", "delays|runs", 0, 0, "Instead of the one of each of these events."}};

constexpr std::array preset_program_attributes{
    AttributeSpec{"path", Program, Required, "", "", 0, 0, "Where packages put it; * stands for a part of the path."}};
constexpr std::array preset_limit_attributes{
    AttributeSpec{"text", Text, Required, "", "", 0, 0, "What the preset does not see, and why."}};
constexpr std::array preset_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of this vocabulary."},
    AttributeSpec{"about", Text, Required, "", "", 0, 0, "What it watches, in a line."},
    AttributeSpec{"tried-with", Text, Required, "", "", 0, 0, "The programs and versions that it was tried with."},
    AttributeSpec{"scope", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Whether <use> may have a <scope>: not where the kernel meets the markers in any process."}};

constexpr std::array root_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of this vocabulary."}};

constexpr ElementSpec scope_element{
    "scope", "Whom the event watches; all that is given must hold.", scope_attributes, {}};
constexpr ElementSpec key_element{
    "key", "Runs are paired by the key of their markers, not by thread.", key_attributes, {}};
constexpr ElementSpec begin_element{"begin", "The marker at which a run begins.", begin_attributes, {}};
constexpr ElementSpec stage_element{"stage", "A marker between begin and end.", stage_attributes, {}};
constexpr ElementSpec end_element{
    "end", "The marker at which a run ends; further ones say that it failed or was cancelled.", end_attributes, {}};
constexpr ElementSpec function_element{
    "function", "Instead of <begin> and <end>: a call of this function is a run.", function_attributes, {}};
constexpr ElementSpec calls_element{"calls",
                                    "Beside <function>: after a breach each slow call of the function is recorded with "
                                    "all that it calls, for as long as "
                                    "the recording lasts.",
                                    calls_attributes,
                                    {}};
constexpr ElementSpec functions_element{"functions",
                                        "After a breach the functions of the process are traced for as long as the "
                                        "recording lasts: counted, and long calls "
                                        "kept.",
                                        functions_attributes,
                                        {}};
constexpr ElementSpec object_element{"object",
                                     "After a breach objects of the process are followed for as long as the recording "
                                     "lasts: created, used, released, failed.",
                                     object_attributes,
                                     {}};
constexpr ElementSpec library_stage_element{
    "stage", "A stage that the program marks with LAGTRAP_STAGE.", library_stage_attributes, {}};

constexpr std::array library_children{ChildSpec{&library_stage_element, stages_limit}};
constexpr ElementSpec library_element{
    "library",
    "Instead of <begin> and <end>: a program with markers of lagtrap.h that name this event. With <key>, "
    "the key is the one of LAGTRAP_BEGIN_KEY.",
    library_attributes, library_children};

constexpr ElementSpec run_queue_element{
    "run-queue", "Instead of <begin> and <end>: each wait of a thread for a CPU is a run.", {}, {}};

constexpr std::array event_children{ChildSpec{&scope_element, 1},
                                    ChildSpec{&key_element, 1},
                                    ChildSpec{&begin_element, 1},
                                    ChildSpec{&stage_element, stages_limit},
                                    ChildSpec{&end_element, ends_limit},
                                    ChildSpec{&function_element, 1},
                                    ChildSpec{&library_element, 1},
                                    ChildSpec{&run_queue_element, 1},
                                    ChildSpec{&calls_element, 1},
                                    ChildSpec{&functions_element, 1},
                                    ChildSpec{&object_element, objects_limit}};
constexpr ElementSpec event_element{"event",
                                    "An operation to watch. Holds <begin> and <end>, or <function>, or <library>.",
                                    event_attributes, event_children, true};
constexpr std::array use_children{ChildSpec{&scope_element, 1}};
constexpr ElementSpec use_element{"use", "The events of a preset, with what differs from it.", use_attributes,
                                  use_children};
constexpr ElementSpec preset_program_element{
    "program", "A program or library that the preset is for.", preset_program_attributes, {}};
constexpr ElementSpec preset_limit_element{"limit", "What the preset does not see.", preset_limit_attributes, {}};
constexpr std::array preset_children{ChildSpec{&preset_program_element, 16}, ChildSpec{&preset_limit_element, 16},
                                     ChildSpec{&event_element, stages_limit}};
constexpr ElementSpec preset_outermost{"preset", "The outermost element of a preset's file, in presets/NAME.xml.",
                                       preset_attributes, preset_children};
constexpr ElementSpec recording_element{"recording", "How captures are made, and how many.", recording_attributes, {}};
constexpr ElementSpec unwinding_element{
    "unwinding", "What it may cost to walk the stacks of programs without frame pointers.", unwinding_attributes, {}};
constexpr ElementSpec runs_element{
    "runs", "How the runs of events with record=\"runs\" are gathered.", runs_attributes, {}};
constexpr ElementSpec budget_element{
    "budget", "What lagtrap may cost, and what it gives up where it would cost more.", budget_attributes, {}};
constexpr ElementSpec history_element{
    "history", "What is kept of the time before a breach, in memory until there is one.", history_attributes, {}};
constexpr ElementSpec confirm_element{
    "confirm", "If present, a breach is announced and `lagtrap approve` or `decline` answers.", confirm_attributes, {}};
constexpr ElementSpec privacy_element{
    "privacy", "What recordings tell of programs' arguments.", privacy_attributes, {}};
constexpr ElementSpec spool_element{"spool", "Where captures and bundles are kept.", spool_attributes, {}};
constexpr ElementSpec upload_element{"upload", "If present, bundles are sent to a server.", upload_attributes, {}};
constexpr ElementSpec otlp_element{
    "otlp", "If present, delays are sent to an OpenTelemetry collector as spans.", otlp_attributes, {}};
constexpr ElementSpec control_element{"control", "The daemon's control socket.", control_attributes, {}};

constexpr std::array root_children{
    ChildSpec{&recording_element, 1},     ChildSpec{&unwinding_element, 1}, ChildSpec{&runs_element, 1},
    ChildSpec{&budget_element, 1},        ChildSpec{&history_element, 1},   ChildSpec{&confirm_element, 1},
    ChildSpec{&privacy_element, 1},       ChildSpec{&spool_element, 1},     ChildSpec{&upload_element, 1},
    ChildSpec{&otlp_element, 1},          ChildSpec{&control_element, 1},   ChildSpec{&event_element, events_limit},
    ChildSpec{&use_element, events_limit}};
constexpr ElementSpec lagtrap_element{"lagtrap", "The outermost element.", root_attributes, root_children};

// The largest unit that leaves a whole number: "1h", "100us".
std::string whole_duration(std::uint64_t nanoseconds) {
    if (nanoseconds == 0) return "0s";
    if (nanoseconds % day == 0) return fmt::format("{}d", nanoseconds / day);
    if (nanoseconds % hour == 0) return fmt::format("{}h", nanoseconds / hour);
    if (nanoseconds % (60 * s) == 0) return fmt::format("{}min", nanoseconds / (60 * s));
    if (nanoseconds % s == 0) return fmt::format("{}s", nanoseconds / s);
    if (nanoseconds % ms == 0) return fmt::format("{}ms", nanoseconds / ms);
    return fmt::format("{}us", nanoseconds / us);
}

std::string whole_byte_size(std::uint64_t bytes) {
    if (bytes == 0) return "0B";
    if (bytes % (mebibyte * mebibyte) == 0) return fmt::format("{}TiB", bytes / (mebibyte * mebibyte));
    if (bytes % (1024 * mebibyte) == 0) return fmt::format("{}GiB", bytes / (1024 * mebibyte));
    if (bytes % mebibyte != 0) return fmt::format("{}KiB", bytes / kibibyte);
    return fmt::format("{}MiB", bytes / mebibyte);
}

std::string listed(std::string_view choices) {
    std::string list;
    for (const char c : choices) list += c == '|' ? std::string(", ") : std::string(1, c);
    return list.find(',') == std::string::npos ? list : "one of " + list;
}

void collect_parents(const ElementSpec& element, std::string_view child, std::vector<std::string_view>& parents) {
    for (const ChildSpec& spec : element.children) {
        if (spec.element->name == child) parents.push_back(element.name);
        collect_parents(*spec.element, child, parents);
    }
}

// `text` broken at spaces so that no line passes 80 columns, each line with this indent.
std::string wrapped(std::string_view text, std::size_t indent) {
    std::string output;
    std::string line;
    const auto flush = [&] {
        if (!line.empty()) output += std::string(indent, ' ') + line + "\n";
        line.clear();
    };
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!line.empty() && indent + line.size() + 1 + word.size() > 80) flush();
        if (!line.empty()) line += ' ';
        line += word;
    }
    flush();
    return output;
}

std::string occurrence(std::size_t at_most) {
    return at_most == 1 ? "at most once" : fmt::format("up to {} times", at_most);
}

void describe_element(const ElementSpec& element, std::string_view parent, std::size_t at_most, std::string& output) {
    output += parent.empty() ? fmt::format("<{}>, the outermost element\n", element.name)
                             : fmt::format("\n<{}> in <{}>, {}\n", element.name, parent, occurrence(at_most));
    if (!parent.empty()) output += wrapped(element.meaning, 2);
    for (const AttributeSpec& attribute : element.attributes) {
        std::string facts = fmt::format("{}: {}", attribute.name, describe_values(attribute));
        if (attribute.presence == Required) facts += "; required";
        if (!attribute.default_text.empty()) facts += fmt::format("; default {}", attribute.default_text);
        output += wrapped(facts, 4) + wrapped(attribute.meaning, 8);
    }
    for (const ChildSpec& child : element.children)
        describe_element(*child.element, element.name, child.at_most, output);
}

}  // namespace

const ElementSpec& root_element() { return lagtrap_element; }

const ElementSpec& preset_element() { return preset_outermost; }

std::string parents_of(std::string_view child) {
    std::vector<std::string_view> parents;
    collect_parents(lagtrap_element, child, parents);
    std::string text;
    for (const std::string_view parent : parents) text += fmt::format("{}<{}>", text.empty() ? "" : " or ", parent);
    return text;
}

std::string describe_values(const AttributeSpec& attribute) {
    switch (attribute.kind) {
        case Name: return "a name of letters, digits, _ and -, at most 63, not beginning with a digit or -";
        case Names: return "names with spaces between, each once";
        case Text: return "a line of text of 1 to 1000 bytes";
        case Choice: return listed(attribute.choices);
        case Duration:
            return fmt::format("a duration from {} to {}", whole_duration(attribute.low),
                               whole_duration(attribute.high));
        case DurationRange:
            return fmt::format("a duration from {} to {}, or a range of them such as 4s..20s",
                               whole_duration(attribute.low), whole_duration(attribute.high));
        case ByteSize:
            return fmt::format("a size from {} to {}", whole_byte_size(attribute.low), whole_byte_size(attribute.high));
        case Share: return fmt::format("a share from {}% to {}%", attribute.low / 10'000.0, attribute.high / 10'000.0);
        case ChoiceList: return "one or more, each once, of " + listed(attribute.choices).substr(7);
        case Count: return fmt::format("a whole number from {} to {}", attribute.low, attribute.high);
        case Path: return "an absolute path";
        case Program:
            return "an absolute path, a pattern of paths such as */redis-server, build-id: and its hexadecimal "
                   "digits, or package: and the name of a Debian package";
        case Pattern: return "a text of 1 to 512 bytes; * stands for any characters, ? for one";
        case Label: return "KEY=VALUE; in the value * stands for any characters, ? for one";
        case SocketPath: return "an absolute path of at most 107 bytes";
        case Url: return "an address such as https://lagtrap.example:8443";
        case ProxyUrl: return "an address such as http://proxy.example:3128 or socks5h://proxy.example";
        case Usdt: return "PROVIDER:NAME of a USDT probe";
        case Symbol: return "the name of a function";
        case Expression: return "a regular expression of 1 to 1024 bytes";
        case Tracepoint: return "CATEGORY:NAME of a tracepoint";
        case Argument: return "argN or the name of a field";
        case Key: return "argN, the name of a field, or two names with a comma between them";
        case User: return "the name or number of a user";
        case Group: return "the name of a group";
    }
    return {};
}

std::string settings_reference() {
    std::string output;
    describe_element(lagtrap_element, "", 1, output);
    output += "\n";
    describe_element(preset_outermost, "", 1, output);
    output +=
        "\nDurations are a number and a unit: ns, us, ms, s, min, h, d. Sizes are a number\n"
        "and a unit: B, KiB, MiB, GiB, TiB, kB, MB, GB.\n";
    return output;
}

}  // namespace lagtrap::settings
