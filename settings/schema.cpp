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
    "binary", Program, Optional, "", "", 0, 0, "Program or library that contains the marker; default: the event's."};
constexpr AttributeSpec usdt{"usdt", Usdt, Optional, "", "", 0, 0, "The marker is this USDT probe."};
constexpr AttributeSpec function{
    "function", Symbol, Optional, "", "", 0, 0, "The marker is this function, by symbol or demangled name."};
constexpr AttributeSpec tracepoint{"tracepoint", Tracepoint, Optional, "",
                                   "",           0,          0,        "The marker is this kernel tracepoint."};
constexpr AttributeSpec side{
    "side",         Choice, Optional, "entry",
    "entry|return", 0,      0,        "Whether the marker is at the entry or the return of the function."};
constexpr AttributeSpec key{
    "key",
    Key,
    Optional,
    "",
    "",
    0,
    0,
    "The value that pairs the markers of a run: arg0 to arg11 of a USDT probe, arg0 to arg5 of a function, or one or "
    "two fields of a tracepoint (dev,sector). Either all markers of an event have one or none."};

constexpr AttributeSpec stage_name{"name", Name, Required, "",
                                   "",     0,    0,        "The name in reports of the stage that starts here."};

constexpr AttributeSpec stage_expected{
    "expected", Choice, Optional, "no",
    "yes|no",   0,      0,        "Whether a recorded run that never reaches this stage is dirty."};

constexpr std::array scope_attributes{
    AttributeSpec{"pid", Count, Optional, "", "", 1, pid_limit, "Only this process."},
    AttributeSpec{"user", User, Optional, "", "", 0, 0, "Processes of this user."},
    AttributeSpec{"binary", Path, Optional, "", "", 0, 0, "Processes whose program is this file."},
    AttributeSpec{"unit", Pattern, Optional, "", "", 0, 0, "Processes of this systemd unit, or of a group inside it."},
    AttributeSpec{"control-group", Pattern, Optional, "", "", 0, 0,
                  "Processes of this control group, as a path from the cgroup v2 root, or of a group inside it."},
    AttributeSpec{"container", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers with this name, or whose id begins with this (at least 12 digits)."},
    AttributeSpec{"image", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers of this image, by its full name, or its last component without the tag."},
    AttributeSpec{"pod", Pattern, Optional, "", "", 0, 0, "Processes of Kubernetes pods with this name."},
    AttributeSpec{"namespace", Pattern, Optional, "", "", 0, 0, "Processes of pods in this Kubernetes namespace."},
    AttributeSpec{"label", Label, Optional, "", "", 0, 0, "Processes of containers or pods with this label."}};

constexpr std::array key_attributes{
    AttributeSpec{"scope", Choice, Optional, "process", "process|machine", 0, 0,
                  "Whether equal keys match within one process only, or across the machine."}};

constexpr std::array begin_attributes{
    usdt,
    function,
    tracepoint,
    binary_of_marker,
    side,
    key,
    AttributeSpec{"begin-time", Argument, Optional, "", "", 0, 0,
                  "A value of the marker with the real begin of the run, in nanoseconds of CLOCK_MONOTONIC; used if it "
                  "is earlier than the marker."},
    AttributeSpec{"trace-id", Argument, Optional, "", "", 0, 0,
                  "The argument with the address of the run's trace id: 32 hexadecimal digits or a W3C traceparent."}};

constexpr std::array stage_attributes{stage_name, stage_expected,   usdt, function,
                                      tracepoint, binary_of_marker, side, key};
constexpr AttributeSpec end_meaning{"as",
                                    Choice,
                                    Optional,
                                    "done",
                                    "done|failed|cancelled",
                                    0,
                                    0,
                                    "How the run ended. Failed and cancelled runs are counted separately."};
constexpr std::array end_attributes{usdt, function, tracepoint, binary_of_marker, side, key, end_meaning};

constexpr std::array function_attributes{
    AttributeSpec{"name", Symbol, Required, "", "", 0, 0, "The function, by symbol or demangled name."},
    binary_of_marker};

constexpr std::uint64_t max_call_depth = 32;
constexpr std::size_t objects_limit = 16;
constexpr std::array calls_attributes{
    AttributeSpec{"depth", Count, Optional, "3", "", 0, max_call_depth, "Levels of callees to probe."},
    AttributeSpec{"match", Expression, Optional, "", "", 0, 0,
                  "Probe only callees whose name or file this matches; default: all."},
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "CPU limit for the probes, in percent of one CPU; functions over budget are detached."}};

constexpr std::string_view object_errors = "never|negative|null|nonzero|not-positive|errno";
constexpr std::array object_attributes{
    AttributeSpec{"preset", Text, Optional, "", "", 0, 0, "Objects of a known library. Allows no other attributes."},
    AttributeSpec{"name", Name, Optional, "", "", 0, 0, "Name for the objects; default: the class, or object."},
    AttributeSpec{"class", Expression, Optional, "", "", 0, 0,
                  "Objects of C++ classes; must match the full class name or its last component."},
    AttributeSpec{"library", Pattern, Optional, "", "", 0, 0, "Name of the file that contains the functions."},
    AttributeSpec{"create", Text, Optional, "", "", 0, 0,
                  "C functions that create an object, and where it is: NAME:result, NAME:arg0, NAME:arg0*."},
    AttributeSpec{"use", Text, Optional, "", "", 0, 0, "The same for functions that use an object."},
    AttributeSpec{"release", Text, Optional, "", "", 0, 0, "The same for functions that release an object."},
    AttributeSpec{"message", Text, Optional, "", "", 0, 0, "Functions that return an error text, and where it is."},
    AttributeSpec{"error", Choice, Optional, "", object_errors, 0, 0, "Which return values are failures."},
    AttributeSpec{"create-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that create an object."},
    AttributeSpec{"use-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that use an object."},
    AttributeSpec{"release-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that release an object."},
    AttributeSpec{"success", Text, Optional, "", "", 0, 0, "Up to 4 return values to treat as success."},
    AttributeSpec{"except", Text, Optional, "", "", 0, 0,
                  "With errno: up to 4 errors to treat as success, such as EAGAIN EINPROGRESS."},
    AttributeSpec{"title", Text, Optional, "", "", 0, 0,
                  "The argument of the creating function that names the object: arg0."},
    AttributeSpec{"reused", Choice, Optional, "", "yes|no", 0, 0,
                  "Whether objects are numbers that are reused, such as file descriptors."}};

constexpr std::array functions_attributes{
    AttributeSpec{"standing", Choice, Optional, "no", "yes|no", 0, 0,
                  "Whether functions are traced all the time, in up to 4 processes, so that the seconds before a "
                  "breach are recorded too."},
    AttributeSpec{"window", Duration, Optional, "5s", "", s, 60 * s,
                  "With standing: how much time before a breach to keep."},
    AttributeSpec{"include", Expression, Optional, "", "", 0, 0, "Also probe matching system functions and files."},
    AttributeSpec{"exclude", Expression, Optional, "", "", 0, 0,
                  "Do not probe matching functions and files of the application."},
    AttributeSpec{"min", Duration, Optional, "20us", "", us, 10 * s,
                  "Calls shorter than this are counted but not recorded."},
    AttributeSpec{"rate", ByteSize, Optional, "200kB", "", kibibyte, 10 * mebibyte,
                  "Maximum data rate per second; above it the minimum duration is raised."},
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "CPU limit for the probes, in percent of one CPU; processes traced all the time share it. Functions "
                  "over budget are detached."}};

constexpr std::array library_stage_attributes{stage_name, stage_expected};
constexpr std::array library_attributes{
    binary_of_marker, AttributeSpec{"event", Name, Optional, "", "", 0, 0,
                                    "The event's name in the program; default: the name of this event."}};
constexpr std::array pair_attributes{
    AttributeSpec{"provider", Name, Required, "", "", 0, 0, "Provider of the two probes."},
    AttributeSpec{"name", Name, Required, "", "", 0, 0, "What the names of both probes begin with: NAME__start."},
    AttributeSpec{"begin", Name, Optional, "start", "", 0, 0, "What the name of the first probe ends with."},
    AttributeSpec{"end", Name, Optional, "done", "", 0, 0, "What the name of the second probe ends with."},
    binary_of_marker,
    key};

constexpr std::array event_attributes{
    AttributeSpec{"name", Name, Required, "", "", 0, 0, "The event's name in commands and reports."},
    AttributeSpec{"threshold", Threshold, Required, "", "", us, hour,
                  "A longer run is a delay. auto (the same as p99.9 x 3) or another percentile and factor: the "
                  "threshold follows from the event's runs of the last days, see <auto-threshold>."},
    AttributeSpec{"threshold-floor", Duration, Optional, "", "", us, hour,
                  "The smallest value of a threshold that follows from the event's runs; default: the floor of "
                  "<auto-threshold>."},
    AttributeSpec{"trace-length", DurationRange, Required, "", "", 10 * ms, 600 * s,
                  "How long to record the machine after a breach. With breach=\"deadline\", recording continues until "
                  "the run ends, up to the end of a range such as 4s..20s; by default four times as long."},
    AttributeSpec{"breach", Choice, Optional, "deadline", "deadline|end", 0, 0,
                  "When to notice a delay: while the run is still open, or at its end."},
    AttributeSpec{
        "nesting", Choice, Optional, "", "each|outermost|restart", 0, 0,
        "What a begin means while a run with the same key is open: another run, a part of the open run, or its "
        "replacement. Default: each if functions or <library> begin the run, restart for usdt and tracepoint."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0, "Program or library of the markers that name none."},
    AttributeSpec{"copies", Choice, Optional, "all", "all|none", 0, 0,
                  "Whether to watch files with the same path in containers and other mount namespaces too, once a "
                  "process maps them."},
    AttributeSpec{"record", Choice, Optional, "delays", "delays|runs", 0, 0,
                  "Whether to record and send every run to the server, not only delays."},
    AttributeSpec{"stacks", Choice, Optional, "none", "none|markers", 0, 0,
                  "Whether to record the call stack at each marker of recorded runs."},
    AttributeSpec{"cold", Choice, Optional, "", "first-of-process", 0, 0,
                  "Which recorded runs are cold starts: the first in each process."},
    AttributeSpec{"cold-after", Duration, Optional, "", "", ms, 365 * day,
                  "A recorded run this long after the program's previous run is a cold start."}};

constexpr std::array recording_attributes{
    AttributeSpec{"sample-interval", Duration, Optional, "1ms", "", 100 * us, s,
                  "Time between two call stack samples of a CPU."},
    AttributeSpec{"cool-down", Duration, Optional, "30s", "", 0, day,
                  "Minimum pause between two recordings of an event."},
    AttributeSpec{"captures-per-hour", Count, Optional, "12", "", 1, 3600, "Maximum number of recordings per hour."},
    AttributeSpec{"capture-size-limit", ByteSize, Optional, "512MiB", "", mebibyte, 65536 * mebibyte,
                  "Maximum size of a recording; a larger one ends early and says so."},
    AttributeSpec{"merge-limit", Duration, Optional, "10min", "", s, day,
                  "Maximum time for merging a recording; after that it is merged again without function names."},
    AttributeSpec{"stack-copies", ByteSize, Optional, "64MiB", "", 0, 1024 * mebibyte,
                  "Maximum memory for copies of stacks that can only be unwound later; 0B: none."},
    AttributeSpec{"scheduling", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Record context switches, wakeups and the stacks of blocked threads."}};

constexpr std::array auto_threshold_attributes{
    AttributeSpec{"floor", Duration, Optional, "1ms", "", us, hour, "The smallest such threshold."},
    AttributeSpec{
        "min-runs", Count, Optional, "100", "", 10, 1'000'000'000,
        "Number of runs before an event gets its first threshold; until then only runs longer than an hour are "
        "delays."},
    AttributeSpec{"learn", Duration, Optional, "1h", "", 60 * s, 7 * day,
                  "Time to watch an event before it gets its first threshold."},
    AttributeSpec{"quiet", Duration, Optional, "6h", "", 60 * s, 7 * day,
                  "After this time without a delay, a threshold that delays have raised is halved, down to the value "
                  "that follows from the runs."},
    AttributeSpec{"captures-per-day", Count, Optional, "12", "", 1, 1000,
                  "Maximum number of recordings in any 24 hours for each event with such a threshold."}};

constexpr std::array confirm_attributes{AttributeSpec{"wait", Duration, Optional, "10s", "", s, hour,
                                                      "Without an answer, the recording is kept after this time."}};

constexpr std::array privacy_attributes{AttributeSpec{
    "command-lines", Choice, Optional, "masked", "masked|program|all", 0, 0,
    "Command lines in recordings: with recognized passwords, tokens and keys masked; only the program; or unchanged."}};

constexpr std::array spool_attributes{
    AttributeSpec{"path", Path, Optional, "/var/lib/lagtrap/spool", "", 0, 0, "Folder for recordings and bundles."},
    AttributeSpec{"size-limit", ByteSize, Optional, "2GiB", "", 16 * mebibyte, 16384 * 1024 * mebibyte,
                  "Maximum size of the folder; the oldest bundles are deleted first."},
    AttributeSpec{"age-limit", Duration, Optional, "30d", "", hour, 3650 * day, "Older bundles are deleted."},
    AttributeSpec{"keep-sent-runs", Duration, Optional, "6h", "", 0, 365 * day,
                  "How long `lagtrap runs` can read runs that were sent to a server; 0s deletes them at once."}};

constexpr std::array unwinding_attributes{
    AttributeSpec{"memory", ByteSize, Optional, "64MiB", "", 8 * mebibyte, 4096 * mebibyte,
                  "Maximum memory for the unwind tables of all programs."},
    AttributeSpec{"cache", Path, Optional, "/var/cache/lagtrap/unwind", "", 0, 0,
                  "Folder that keeps unwind tables across restarts."},
    AttributeSpec{"cache-limit", ByteSize, Optional, "512MiB", "", 16 * mebibyte, 65536 * mebibyte,
                  "Maximum size of the folder; the least recently used tables are deleted first."}};

constexpr std::array runs_attributes{
    AttributeSpec{"batch-interval", Duration, Optional, "10s", "", 100 * ms, hour, "Maximum batch age."},
    AttributeSpec{"batch-size", ByteSize, Optional, "256KiB", "", 16 * kibibyte, 8 * mebibyte,
                  "Approximate maximum batch size before compression."},
    AttributeSpec{"limit-per-second", Count, Optional, "2000", "", 1, 100'000,
                  "Maximum number of runs recorded per event and second; above it, each recorded run carries a weight "
                  "so that counts stay correct."}};

constexpr std::array budget_attributes{
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "CPU limit for watching, in percent of one CPU as in systemd's CPUQuota=. It includes the time "
                  "programs spend in markers and the daemon's own use."},
    AttributeSpec{"recording-share", Share, Optional, "20%", "", percent / 10, 100 * percent,
                  "CPU limit for a recording, in percent of all CPUs."},
    AttributeSpec{"interval", Duration, Optional, "2s", "", 100 * ms, 60 * s, "How often the cost is checked."},
    AttributeSpec{"shed", ChoiceList, Optional, "switches samples history times stacks stages events",
                  "switches|samples|history|times|stacks|stages|events|none", 0, 0,
                  "What to disable above a CPU limit, in this order. In recordings: user-space stacks of threads that "
                  "block (switches), and the full sampling rate (samples). While watching: the time before a breach "
                  "(history), the breakdown of run times (times), stacks at markers (stacks), stages (stages), and "
                  "events, most expensive first (events). Anything not listed stays enabled."},
    AttributeSpec{
        "pause", Duration, Optional, "1min", "", s, day,
        "Time until something disabled while watching is tried again; it doubles with each retry, up to a day."},
    AttributeSpec{"open-runs", Count, Optional, "", "", 1, 262'144,
                  "Runs of all events that may be open at the same time; default: as many as fit into 1/1024 of the "
                  "machine's memory, and at least 7,168. Each needs about 1.1 KB of the kernel's memory."}};

constexpr std::array history_attributes{
    AttributeSpec{"length", Duration, Optional, "5s", "", 0, 60 * s,
                  "How much time before a breach to keep in memory and add to the recording; 0s: none."},
    AttributeSpec{"sample-interval", Duration, Optional, "20ms", "", 5 * ms, s,
                  "Time between two call stack samples of a CPU in this window; idle CPUs are not woken."},
    AttributeSpec{"early-share", Share, Optional, "2%", "", 0, 50 * percent,
                  "Maximum share of the time spent on recordings that begin before a breach, when a run is slower "
                  "than nearly all others; 0%: none."},
    AttributeSpec{"times", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Whether to count where the time of each run goes: on a CPU, waiting for one, blocked."}};

constexpr std::array upload_attributes{
    AttributeSpec{"url", Url, Required, "", "", 0, 0, "Address of lagtrap-server."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0, "File with the token for the server."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0, "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0, "Proxy for the connection to the server; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "5min", "", s, day, "Maximum time of an upload."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array otlp_attributes{
    AttributeSpec{"url", Url, Required, "", "", 0, 0,
                  "The collector's OTLP/HTTP address without /v1/traces, such as http://localhost:4318."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0, "File with a bearer token for the collector."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0, "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0,
                  "Proxy for the connection to the collector; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "30s", "", s, day, "Maximum time of a request."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array control_attributes{
    AttributeSpec{"socket", SocketPath, Optional, "/run/lagtrap/control.sock", "", 0, 0,
                  "Where the lagtrap command reaches the daemon."},
    AttributeSpec{"group", Group, Optional, "", "", 0, 0,
                  "Group that may use the socket, within read, change and trace; default: only root."},
    AttributeSpec{"read", Choice, Optional, "group", "root|group|anyone", 0, 0,
                  "Who may read the status; root always may."},
    AttributeSpec{"change", Choice, Optional, "group", "root|group", 0, 0,
                  "Who may start, approve or decline a recording; root always may."},
    AttributeSpec{"trace", Choice, Optional, "root", "root|group", 0, 0,
                  "Who may trace calls, functions and objects of any process, which is as powerful as reading its "
                  "memory; root always may, and users with read access may trace their own processes."}};

constexpr std::array use_attributes{
    AttributeSpec{"preset", Name, Required, "", "", 0, 0, "The name of the preset; `lagtrap presets` lists them."},
    AttributeSpec{"events", Names, Optional, "", "", 0, 0, "Which of its events to use; default: all."},
    AttributeSpec{"threshold", Threshold, Optional, "", "", us, hour, "Replaces the value of each of these events."},
    AttributeSpec{"threshold-floor", Duration, Optional, "", "", us, hour,
                  "Replaces the value of each of these events."},
    AttributeSpec{"trace-length", DurationRange, Optional, "", "", 10 * ms, 600 * s,
                  "Replaces the value of each of these events."},
    AttributeSpec{"prefix", Name, Optional, "", "", 0, 0,
                  "Prefix for the event names, so that a preset can be used twice: shop- makes shop-query."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0,
                  "Replaces the preset's program or library; default: every file with its name that a process uses."},
    AttributeSpec{"record", Choice, Optional, "", "delays|runs", 0, 0, "Replaces the value of each of these events."}};

constexpr std::array preset_program_attributes{
    AttributeSpec{"path", Program, Required, "", "", 0, 0, "Where packages install it; * is allowed."}};
constexpr std::array preset_limit_attributes{
    AttributeSpec{"text", Text, Required, "", "", 0, 0, "What the preset does not cover, and why."}};
constexpr std::array preset_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of the preset format."},
    AttributeSpec{"about", Text, Required, "", "", 0, 0, "What the preset watches, in one line."},
    AttributeSpec{"tried-with", Text, Required, "", "", 0, 0, "Programs and versions the preset was tested with."},
    AttributeSpec{"scope", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Whether <use> may have a <scope>; no if the kernel hits the markers in any process."}};

constexpr std::array root_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of the settings format."}};

constexpr ElementSpec scope_element{
    "scope", "Limits the event to some processes; all given attributes must match.", scope_attributes, {}};
constexpr ElementSpec key_element{
    "key", "How runs with a key on their markers pair, and that <library> has one.", key_attributes, {}};
constexpr ElementSpec begin_element{"begin", "The marker at which a run begins.", begin_attributes, {}};
constexpr ElementSpec stage_element{"stage", "A marker between begin and end.", stage_attributes, {}};
constexpr ElementSpec end_element{
    "end", "The marker at which a run ends; further ones mark failed and cancelled runs.", end_attributes, {}};
constexpr ElementSpec function_element{
    "function", "Instead of <begin> and <end>: each call of this function is a run.", function_attributes, {}};
constexpr ElementSpec calls_element{"calls",
                                    "With <function>: after a breach, record each slow call of the function with "
                                    "everything it calls, until the recording ends.",
                                    calls_attributes,
                                    {}};
constexpr ElementSpec functions_element{
    "functions",
    "After a breach, trace all functions of the process until the recording ends: count all calls, keep long ones.",
    functions_attributes,
    {}};
constexpr ElementSpec object_element{
    "object",
    "After a breach, follow objects of the process until the recording ends: creations, uses, releases, failures.",
    object_attributes,
    {}};
constexpr ElementSpec library_stage_element{
    "stage", "A stage marked with LAGTRAP_STAGE.", library_stage_attributes, {}};

constexpr std::array library_children{ChildSpec{&library_stage_element, stages_limit}};
constexpr ElementSpec library_element{"library",
                                      "Instead of <begin> and <end>: the lagtrap.h markers for this event. With <key>, "
                                      "the key is that of LAGTRAP_BEGIN_KEY.",
                                      library_attributes, library_children};

constexpr ElementSpec header_element{"header", "The same as <library>.", library_attributes, library_children};
constexpr ElementSpec pair_element{
    "usdt", "Instead of <begin> and <end>: from the USDT probe NAME__start to NAME__done.", pair_attributes, {}};

constexpr ElementSpec run_queue_element{
    "run-queue", "Instead of <begin> and <end>: each wait of a thread for a CPU is a run.", {}, {}};

constexpr std::array event_children{ChildSpec{&scope_element, 1},
                                    ChildSpec{&key_element, 1},
                                    ChildSpec{&begin_element, 1},
                                    ChildSpec{&stage_element, stages_limit},
                                    ChildSpec{&end_element, ends_limit},
                                    ChildSpec{&pair_element, 1},
                                    ChildSpec{&function_element, 1},
                                    ChildSpec{&header_element, 1},
                                    ChildSpec{&library_element, 1},
                                    ChildSpec{&run_queue_element, 1},
                                    ChildSpec{&calls_element, 1},
                                    ChildSpec{&functions_element, 1},
                                    ChildSpec{&object_element, objects_limit}};
constexpr ElementSpec event_element{
    "event", "An operation to watch. It holds <begin> and <end>, <usdt>, <function>, <header>, or <run-queue>.",
    event_attributes, event_children, true};
constexpr std::array use_children{ChildSpec{&scope_element, 1}};
constexpr ElementSpec use_element{"use", "Use the events of a preset.", use_attributes, use_children};
constexpr ElementSpec preset_program_element{
    "program", "A program or library that the preset supports.", preset_program_attributes, {}};
constexpr ElementSpec preset_limit_element{
    "limit", "Something that the preset does not cover.", preset_limit_attributes, {}};
constexpr std::array preset_children{ChildSpec{&preset_program_element, 16}, ChildSpec{&preset_limit_element, 16},
                                     ChildSpec{&event_element, stages_limit}};
constexpr ElementSpec preset_outermost{"preset", "The root element of a preset file, presets/NAME.xml.",
                                       preset_attributes, preset_children};
constexpr ElementSpec recording_element{"recording", "How to record, and how often.", recording_attributes, {}};
constexpr ElementSpec auto_threshold_element{
    "auto-threshold",
    "Thresholds that follow from an event's runs: threshold=\"auto\" or threshold=\"p99.9 x 3\".",
    auto_threshold_attributes,
    {}};
constexpr ElementSpec unwinding_element{
    "unwinding", "Limits for unwinding the stacks of programs without frame pointers.", unwinding_attributes, {}};
constexpr ElementSpec runs_element{
    "runs", "How to batch the runs of events with record=\"runs\" for the server.", runs_attributes, {}};
constexpr ElementSpec budget_element{
    "budget", "What lagtrap may cost, and what it disables above that.", budget_attributes, {}};
constexpr ElementSpec history_element{
    "history", "What to keep in memory from the time before a breach.", history_attributes, {}};
constexpr ElementSpec confirm_element{
    "confirm",
    "If present, recordings wait in memory for `lagtrap approve` or `lagtrap decline`.",
    confirm_attributes,
    {}};
constexpr ElementSpec privacy_element{
    "privacy", "What recordings contain of program arguments.", privacy_attributes, {}};
constexpr ElementSpec spool_element{"spool", "Where to keep recordings and bundles.", spool_attributes, {}};
constexpr ElementSpec upload_element{"upload", "If present, bundles are sent to a server.", upload_attributes, {}};
constexpr ElementSpec otlp_element{
    "otlp", "If present, delays are sent to an OpenTelemetry collector as spans.", otlp_attributes, {}};
constexpr ElementSpec control_element{"control", "The daemon's control socket.", control_attributes, {}};

constexpr std::array root_children{ChildSpec{&recording_element, 1},
                                   ChildSpec{&auto_threshold_element, 1},
                                   ChildSpec{&unwinding_element, 1},
                                   ChildSpec{&runs_element, 1},
                                   ChildSpec{&budget_element, 1},
                                   ChildSpec{&history_element, 1},
                                   ChildSpec{&confirm_element, 1},
                                   ChildSpec{&privacy_element, 1},
                                   ChildSpec{&spool_element, 1},
                                   ChildSpec{&upload_element, 1},
                                   ChildSpec{&otlp_element, 1},
                                   ChildSpec{&control_element, 1},
                                   ChildSpec{&event_element, events_limit},
                                   ChildSpec{&use_element, events_limit}};
constexpr ElementSpec lagtrap_element{"lagtrap", "The root element.", root_attributes, root_children};

// Writes the duration as a whole number of its largest possible unit: "1h", "100us".
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

// Wraps `text` at spaces to at most 80 columns; each line gets the indent.
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
    output += parent.empty() ? fmt::format("<{}>, the root element\n", element.name)
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
        case Name: return "1 to 63 letters, digits, _ and -, not beginning with a digit or -";
        case Names: return "names separated by spaces, each once";
        case Text: return "one line of text, 1 to 1000 bytes";
        case Choice: return listed(attribute.choices);
        case Duration:
            return fmt::format("a duration from {} to {}", whole_duration(attribute.low),
                               whole_duration(attribute.high));
        case Threshold:
            return fmt::format("a duration from {} to {}, auto, or a percentile and a factor such as p99.9 x 3",
                               whole_duration(attribute.low), whole_duration(attribute.high));
        case DurationRange:
            return fmt::format("a duration from {} to {}, or a range such as 4s..20s", whole_duration(attribute.low),
                               whole_duration(attribute.high));
        case ByteSize:
            return fmt::format("a size from {} to {}", whole_byte_size(attribute.low), whole_byte_size(attribute.high));
        case Share: return fmt::format("a share from {}% to {}%", attribute.low / 10'000.0, attribute.high / 10'000.0);
        case ChoiceList: return "one or more, each once, of " + listed(attribute.choices).substr(7);
        case Count: return fmt::format("a whole number from {} to {}", attribute.low, attribute.high);
        case Path: return "an absolute path";
        case Program:
            return "an absolute path, a path pattern such as */redis-server, build-id: and hexadecimal digits, or "
                   "package: and a Debian package name";
        case Pattern: return "1 to 512 bytes of text; * matches any characters, ? one";
        case Label: return "KEY=VALUE; in the value, * matches any characters, ? one";
        case SocketPath: return "an absolute path of at most 107 bytes";
        case Url: return "an address such as https://lagtrap.example:8443";
        case ProxyUrl: return "an address such as http://proxy.example:3128 or socks5h://proxy.example";
        case Usdt: return "a USDT probe as PROVIDER:NAME";
        case Symbol: return "a function name";
        case Expression: return "a regular expression of 1 to 1024 bytes";
        case Tracepoint: return "a tracepoint as CATEGORY:NAME";
        case Argument: return "argN or a field name";
        case Key: return "argN, a field name, or two field names separated by a comma";
        case User: return "a user name or id";
        case Group: return "a group name";
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
