#include "settings/event_schema.hpp"

#include <array>

#include "settings/schema_units.hpp"

namespace lagtrap::settings {
namespace {

using enum ValueKind;
using enum Presence;
using namespace units;

constexpr AttributeSpec binary_of_marker{
    "binary", Program,
    Optional, "",
    "",       0,
    0,        "Program or library that contains the marker; default: the event's."};
constexpr AttributeSpec usdt_of_marker{"usdt", Usdt, Optional, "",
                                       "",     0,    0,        "The marker is this USDT probe."};
constexpr AttributeSpec function_of_marker{
    "function", Symbol, Optional, "",
    "",         0,      0,        "The marker is this function, by symbol or demangled name."};
constexpr AttributeSpec tracepoint_of_marker{
    "tracepoint", Tracepoint, Optional, "", "", 0, 0, "The marker is this kernel tracepoint."};
constexpr AttributeSpec side_of_marker{
    "side",
    Choice,
    Optional,
    "entry",
    "entry|return",
    0,
    0,
    "Whether the marker is at the entry or the return of the function."};
constexpr AttributeSpec key_of_marker{
    "key",
    Key,
    Optional,
    "",
    "",
    0,
    0,
    "The value that pairs the markers of a run: arg0 to arg11 of a USDT probe, arg0 to arg5 of a "
    "function, or one or two fields of a tracepoint (dev,sector). Either all markers of an event "
    "have one or none."};

constexpr AttributeSpec stage_name{
    "name", Name, Required, "", "", 0, 0, "The name in reports of the stage that starts here."};

constexpr AttributeSpec stage_expected{
    "expected", Choice, Optional, "no",
    "yes|no",   0,      0,        "Whether a recorded run that never reaches this stage is dirty."};

constexpr std::array scope_attributes{
    AttributeSpec{"pid", Count, Optional, "", "", 1, pid_limit, "Only this process."},
    AttributeSpec{"descendants", Choice, Optional, "no", "yes|no", 0, 0,
                  "With pid: also the processes that it starts, and those that these start."},
    AttributeSpec{"user", User, Optional, "", "", 0, 0, "Processes of this user."},
    AttributeSpec{"binary", Path, Optional, "", "", 0, 0, "Processes whose program is this file."},
    AttributeSpec{"unit", Pattern, Optional, "", "", 0, 0,
                  "Processes of this systemd unit, or of a group inside it."},
    AttributeSpec{"control-group", Pattern, Optional, "", "", 0, 0,
                  "Processes of this control group, as a path from the cgroup v2 root, or of a "
                  "group inside it."},
    AttributeSpec{"container", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers with this name, or whose id begins with this (at least "
                  "12 digits)."},
    AttributeSpec{"image", Pattern, Optional, "", "", 0, 0,
                  "Processes of containers of this image, by its full name, or its last component "
                  "without the tag."},
    AttributeSpec{"pod", Pattern, Optional, "", "", 0, 0,
                  "Processes of Kubernetes pods with this name."},
    AttributeSpec{"namespace", Pattern, Optional, "", "", 0, 0,
                  "Processes of pods in this Kubernetes namespace."},
    AttributeSpec{"label", Label, Optional, "", "", 0, 0,
                  "Processes of containers or pods with this label."}};

constexpr std::array key_attributes{
    AttributeSpec{"scope", Choice, Optional, "process", "process|machine", 0, 0,
                  "Whether equal keys match within one process only, or across the machine."}};

constexpr std::array begin_attributes{
    usdt_of_marker,
    function_of_marker,
    tracepoint_of_marker,
    binary_of_marker,
    side_of_marker,
    key_of_marker,
    AttributeSpec{"begin-time", Argument, Optional, "", "", 0, 0,
                  "A value of the marker with the real begin of the run, in nanoseconds of "
                  "CLOCK_MONOTONIC; used if it is earlier than the marker."},
    AttributeSpec{"trace-id", Argument, Optional, "", "", 0, 0,
                  "The argument with the address of the run's trace id: 32 hexadecimal digits or a "
                  "W3C traceparent."}};

constexpr std::array stage_attributes{stage_name,         stage_expected,       usdt_of_marker,
                                      function_of_marker, tracepoint_of_marker, binary_of_marker,
                                      side_of_marker,     key_of_marker};
constexpr AttributeSpec end_meaning{
    "as",
    Choice,
    Optional,
    "done",
    "done|failed|cancelled",
    0,
    0,
    "How the run ended. Failed and cancelled runs are counted separately."};
constexpr std::array end_attributes{usdt_of_marker,   function_of_marker, tracepoint_of_marker,
                                    binary_of_marker, side_of_marker,     key_of_marker,
                                    end_meaning};

constexpr std::array function_attributes{
    AttributeSpec{"name", Symbol, Required, "", "", 0, 0,
                  "The function, by symbol or demangled name."},
    binary_of_marker};

constexpr std::uint64_t max_call_depth = 32;
constexpr std::size_t objects_limit = 16;
constexpr std::array calls_attributes{
    AttributeSpec{"depth", Count, Optional, "3", "", 0, max_call_depth,
                  "Levels of callees to probe."},
    AttributeSpec{"match", Expression, Optional, "", "", 0, 0,
                  "Probe only callees whose name or file this matches; default: all."},
    AttributeSpec{
        "share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
        "CPU limit for the probes, in percent of one CPU; functions over budget are detached."}};

constexpr std::string_view object_errors = "never|negative|null|nonzero|not-positive|errno";
constexpr std::array object_attributes{
    AttributeSpec{"preset", Text, Optional, "", "", 0, 0,
                  "Objects of a known library. Allows no other attributes."},
    AttributeSpec{"name", Name, Optional, "", "", 0, 0,
                  "Name for the objects; default: the class, or object."},
    AttributeSpec{"class", Expression, Optional, "", "", 0, 0,
                  "Objects of C++ classes; must match the full class name or its last component."},
    AttributeSpec{"library", Pattern, Optional, "", "", 0, 0,
                  "Name of the file that contains the functions."},
    AttributeSpec{
        "create", Text, Optional, "", "", 0, 0,
        "C functions that create an object, and where it is: NAME:result, NAME:arg0, NAME:arg0*."},
    AttributeSpec{"use", Text, Optional, "", "", 0, 0,
                  "The same for functions that use an object."},
    AttributeSpec{"release", Text, Optional, "", "", 0, 0,
                  "The same for functions that release an object."},
    AttributeSpec{"message", Text, Optional, "", "", 0, 0,
                  "Functions that return an error text, and where it is."},
    AttributeSpec{"error", Choice, Optional, "", object_errors, 0, 0,
                  "Which return values are failures."},
    AttributeSpec{"create-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that create an object."},
    AttributeSpec{"use-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that use an object."},
    AttributeSpec{"release-error", Choice, Optional, "", object_errors, 0, 0,
                  "The same, only for functions that release an object."},
    AttributeSpec{"success", Text, Optional, "", "", 0, 0,
                  "Up to 4 return values to treat as success."},
    AttributeSpec{"except", Text, Optional, "", "", 0, 0,
                  "With errno: up to 4 errors to treat as success, such as EAGAIN EINPROGRESS."},
    AttributeSpec{"title", Text, Optional, "", "", 0, 0,
                  "The argument of the creating function that names the object: arg0."},
    AttributeSpec{"reused", Choice, Optional, "", "yes|no", 0, 0,
                  "Whether objects are numbers that are reused, such as file descriptors."}};

constexpr std::array functions_attributes{
    AttributeSpec{"standing", Choice, Optional, "no", "yes|no", 0, 0,
                  "Whether functions are traced all the time, in up to 4 processes, so that the "
                  "seconds before a breach are recorded too."},
    AttributeSpec{"window", Duration, Optional, "5s", "", s, 60 * s,
                  "With standing: how much time before a breach to keep."},
    AttributeSpec{"include", Expression, Optional, "", "", 0, 0,
                  "Also probe matching system functions and files."},
    AttributeSpec{"exclude", Expression, Optional, "", "", 0, 0,
                  "Do not probe matching functions and files of the application."},
    AttributeSpec{"min", Duration, Optional, "20us", "", us, 10 * s,
                  "Calls shorter than this are counted but not recorded."},
    AttributeSpec{"rate", ByteSize, Optional, "200kB", "", kibibyte, 10 * mebibyte,
                  "Maximum data rate per second; above it the minimum duration is raised."},
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "CPU limit for the probes, in percent of one CPU; processes traced all the time "
                  "share it. Functions over budget are detached."}};

constexpr std::array library_stage_attributes{stage_name, stage_expected};
constexpr std::array library_attributes{
    binary_of_marker,
    AttributeSpec{"event", Name, Optional, "", "", 0, 0,
                  "The event's name in the program; default: the name of this event."}};
constexpr std::array pair_attributes{
    AttributeSpec{"provider", Name, Required, "", "", 0, 0, "Provider of the two probes."},
    AttributeSpec{"name", Name, Required, "", "", 0, 0,
                  "What the names of both probes begin with: NAME__start."},
    AttributeSpec{"begin", Name, Optional, "start", "", 0, 0,
                  "What the name of the first probe ends with."},
    AttributeSpec{"end", Name, Optional, "done", "", 0, 0,
                  "What the name of the second probe ends with."},
    binary_of_marker,
    key_of_marker};

constexpr std::array event_attributes{
    AttributeSpec{"name", Name, Required, "", "", 0, 0,
                  "The event's name in commands and reports."},
    AttributeSpec{
        "threshold", Threshold, Required, "", "", us, hour,
        "A longer run is a delay. auto (the same as p99.9 x 3) or another percentile and factor: "
        "the threshold follows from the event's runs of the last days, see <auto-threshold>."},
    AttributeSpec{"threshold-floor", Duration, Optional, "", "", us, hour,
                  "The smallest value of a threshold that follows from the event's runs; default: "
                  "the floor of <auto-threshold>."},
    AttributeSpec{"trace-length", DurationRange, Optional, "", "", 10 * ms, 600 * s,
                  "How long to record the machine after a breach; default: four times the "
                  "threshold, from 2s to 20s, and 4s if the threshold follows from the event's "
                  "runs. With breach=\"deadline\", recording continues until the run ends, up to "
                  "the end of a range such as 4s..20s; by default four times as long."},
    AttributeSpec{"breach", Choice, Optional, "deadline", "deadline|end", 0, 0,
                  "When to notice a delay: while the run is still open, or at its end."},
    AttributeSpec{"nesting", Choice, Optional, "", "each|outermost|restart", 0, 0,
                  "What a begin means while a run with the same key is open: another run, a part "
                  "of the open run, or its replacement. Default: each if functions or <library> "
                  "begin the run, restart for usdt and tracepoint."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0,
                  "Program or library of the markers that name none."},
    AttributeSpec{"copies", Choice, Optional, "all", "all|none", 0, 0,
                  "Whether to watch files with the same path in containers and other mount "
                  "namespaces too, once a process maps them."},
    AttributeSpec{"record", Choice, Optional, "delays", "delays|runs", 0, 0,
                  "Whether to record and send every run to the server, not only delays."},
    AttributeSpec{"stacks", Choice, Optional, "none", "none|markers", 0, 0,
                  "Whether to record the call stack at each marker of recorded runs."},
    AttributeSpec{"cold", Choice, Optional, "", "first-of-process", 0, 0,
                  "Which recorded runs are cold starts: the first in each process."},
    AttributeSpec{"cold-after", Duration, Optional, "", "", ms, 365 * day,
                  "A recorded run this long after the program's previous run is a cold start."}};

constexpr ElementSpec key_element{
    "key",
    "How runs with a key on their markers pair, and that <library> has one.",
    key_attributes,
    {}};
constexpr ElementSpec begin_element{
    "begin", "The marker at which a run begins.", begin_attributes, {}};
constexpr ElementSpec stage_element{
    "stage", "A marker between begin and end.", stage_attributes, {}};
constexpr ElementSpec end_element{
    "end",
    "The marker at which a run ends; further ones mark failed and cancelled runs.",
    end_attributes,
    {}};
constexpr ElementSpec function_element{
    "function",
    "Instead of <begin> and <end>: each call of this function is a run.",
    function_attributes,
    {}};
constexpr ElementSpec calls_element{"calls",
                                    "With <function>: after a breach, record each slow call of the "
                                    "function with everything it calls, until the recording ends.",
                                    calls_attributes,
                                    {}};
constexpr ElementSpec functions_element{"functions",
                                        "After a breach, trace all functions of the process until "
                                        "the recording ends: count all calls, keep long ones.",
                                        functions_attributes,
                                        {}};
constexpr ElementSpec object_element{"object",
                                     "After a breach, follow objects of the process until the "
                                     "recording ends: creations, uses, releases, failures.",
                                     object_attributes,
                                     {}};
constexpr ElementSpec library_stage_element{
    "stage", "A stage marked with LAGTRAP_STAGE.", library_stage_attributes, {}};

constexpr std::array library_children{ChildSpec{&library_stage_element, stages_limit}};
constexpr ElementSpec library_element{
    "library",
    "Instead of <begin> and <end>: the lagtrap.h markers for this event. With <key>, the key is "
    "that of LAGTRAP_BEGIN_KEY.",
    library_attributes, library_children};

constexpr ElementSpec header_element{"header", "The same as <library>.", library_attributes,
                                     library_children};
constexpr ElementSpec pair_element{
    "usdt",
    "Instead of <begin> and <end>: from the USDT probe NAME__start to NAME__done.",
    pair_attributes,
    {}};

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

}  // namespace

constinit const ElementSpec scope_element{
    "scope",
    "Limits the event to some processes; all given attributes must match.",
    scope_attributes,
    {}};
constinit const ElementSpec event_element{"event",
                                          "An operation to watch. It holds <begin> and <end>, "
                                          "<usdt>, <function>, <header>, or <run-queue>.",
                                          event_attributes, event_children, true};

}  // namespace lagtrap::settings
