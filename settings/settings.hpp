// The settings in force, as plain values. Only settings/parser.hpp creates them, after checking
// each value. They do not change afterwards; any thread may read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calls/object_rule.hpp"

namespace lagtrap::settings {

// RunQueue: a thread starts to wait for a CPU, or gets one.
enum class MarkerKind { Usdt, Function, Tracepoint, Library, RunQueue };

// Which side of a function the marker is on.
enum class FunctionSide { Entry, Return };

// What pairs the markers of one run.
enum class KeyKind { Thread, Argument };

// A value carried by a marker: a USDT argument or function parameter, both counted from 0, or a
// tracepoint's field by name. A key may be two fields; two such keys are equal only if both fields
// are.
struct ArgumentRef {
    std::uint32_t index = 0;
    std::string field;
    std::string second_field;  // empty if there is none
};

struct Marker {
    MarkerKind kind = MarkerKind::Usdt;
    // program or library, as described in settings/program_name.hpp; empty for tracepoints
    std::string binary;
    std::string provider;  // usdt: provider; tracepoint: category ("syscalls"); library: "lagtrap"
    std::string name;      // usdt and tracepoint: name; function: symbol or demangled name;
                           // library: "EVENT__begin", "EVENT__stage__STAGE", "EVENT__end";
                           // run queue: "begins", "ends"
    FunctionSide side = FunctionSide::Entry;
    std::optional<ArgumentRef> key;
    std::uint32_t line = 0;  // place in the settings file, from 1
    std::uint32_t column = 0;
};

struct Stage {
    std::string name;
    Marker marker;
    bool expected = false;  // a run that never reaches this stage is dirty
};

// What an end says about its run.
enum class EndMeaning { Done, Failed, Cancelled };

// Runs that end here are counted separately from those that succeeded.
struct OtherEnd {
    Marker marker;
    EndMeaning meaning = EndMeaning::Failed;
};

// Stages with these names only mark the run as a cold or warm start; they are not reported as
// stages.
inline constexpr const char* cold_stage = "cold";
inline constexpr const char* warm_stage = "warm";

// Which runs of an event are kept: only delays, or all.
enum class RecordMode { Delays, Runs };

// At which markers of recorded runs the call stack is taken.
enum class StackMode { None, Markers };

// Which recorded runs are cold starts; the others are warm. If neither rule is set, only the
// markers can tell.
struct ColdRule {
    bool first_of_process = false;
    std::optional<std::chrono::nanoseconds> after;  // if the program had no run for this long
};

// When a delay is detected: at the deadline, while the run is open, or when it ends.
enum class BreachMode { Deadline, End };

// What a begin means while a run with the same key is open: a nested run, a part of the open run,
// or its replacement (the old run then counts as a begin without an end).
enum class Nesting { Each, Outermost, Restart };

// Where keys are unique: within a process (default), or on the whole machine (for runs across
// processes).
enum class KeyScope { Process, Machine };

// Selects control groups by what they belong to. Texts may contain * and ?. All that are not empty
// must match.
struct GroupScope {
    std::string unit, control_group, container, image, pod, pod_namespace, label;
    bool operator==(const GroupScope&) const = default;
    [[nodiscard]] bool empty() const { return *this == GroupScope{}; }
};

// Which processes an event watches. All conditions that are set must hold.
struct Scope {
    std::optional<std::uint32_t> pid;
    bool descendants = false;  // of `pid` count too
    std::optional<std::uint32_t> uid;
    std::string binary;  // processes that run this file; empty for any
    GroupScope groups;
};

// Which calls of an event's function are recorded after a breach: each slow one with its callees
// (docs/calls.md).
struct RecordedCalls {
    std::uint32_t depth = 3;            // levels below the function
    std::string match;                  // regular expression for functions or files; empty for all
    std::uint64_t share_ppm = 100'000;  // CPU limit for the probes, in millionths of one CPU
};

// Tracing of the functions of an event's process, after a breach or always (docs/calls.md).
struct TracedFunctions {
    bool standing = false;
    // if standing: how much time before a breach is kept
    std::chrono::nanoseconds window = std::chrono::seconds(5);
    std::string include, exclude;  // regular expressions for functions or files; empty if not set
    // shorter calls are only counted
    std::chrono::nanoseconds least = std::chrono::microseconds(20);
    std::uint64_t bytes_per_second = 200'000;  // limit for recorded calls
    // for the probes, in millionths of one CPU
    std::uint64_t share_ppm = 100'000;
    bool operator==(const TracedFunctions&) const = default;
};

// For all events together; a limit of the BPF programs.
inline constexpr std::size_t markers_limit = 4096;
// The same, for events whose runs are waits for a CPU.
inline constexpr std::size_t run_queue_events_limit = 8;
// The same, for markers on one tracepoint.
inline constexpr std::size_t tracepoint_markers_limit = 4;

// A threshold that follows from the event's runs: a percentile of their durations, times a factor.
struct ThresholdRule {
    std::uint32_t percentile_ppm = 999'000;  // millionths of the runs
    std::uint32_t factor_hundredths = 300;
    std::optional<std::chrono::nanoseconds> floor;  // nullopt: that of AutoThreshold
    bool operator==(const ThresholdRule&) const = default;
};

// The threshold of events with a rule, until their runs are known.
inline constexpr std::chrono::nanoseconds max_threshold = std::chrono::hours(1);

struct Event {
    std::string name;
    // with a rule: the longest one; the daemon finds the value in force
    std::chrono::nanoseconds threshold{};
    std::optional<ThresholdRule> threshold_rule;
    std::chrono::nanoseconds trace_length{};
    // while a run detected at its deadline is open; >= trace_length
    std::chrono::nanoseconds trace_length_limit{};
    BreachMode breach = BreachMode::Deadline;
    Nesting nesting = Nesting::Each;
    KeyKind key = KeyKind::Thread;
    KeyScope key_scope = KeyScope::Process;
    RecordMode record = RecordMode::Delays;
    StackMode stacks = StackMode::None;  // this and `cold` apply only to RecordMode::Runs
    ColdRule cold;
    // argument of the begin marker: CLOCK_MONOTONIC nanoseconds
    std::optional<ArgumentRef> begin_time;
    // argument of the begin marker: address of a trace id's text
    std::optional<ArgumentRef> trace_id;
    bool copies = true;  // also watch the same path in other mount namespaces
    Scope scope;
    Marker begin;
    std::vector<Stage> stages;
    Marker end;
    std::vector<OtherEnd> other_ends;        // in the same program as `end`
    std::optional<RecordedCalls> calls;      // for events that are a function
    std::vector<calls::ObjectRule> objects;  // objects to follow after a breach
    std::optional<TracedFunctions> functions;
};

struct Recording {
    std::chrono::nanoseconds sample_interval{1'000'000};
    // after a capture, minimum time before the next
    std::chrono::nanoseconds cool_down{30'000'000'000};
    std::uint32_t captures_per_hour = 12;
    std::uint64_t capture_size_limit_bytes = 512ULL << 20;
    std::chrono::nanoseconds merge_limit = std::chrono::minutes(10);  // wall-clock time
    // for stacks that only the merge can unwind
    std::uint64_t stack_copies_bytes = 64ULL << 20;
    // context switches, wakeups and off-CPU stacks
    bool scheduling = true;
};

// For all events whose threshold follows from their runs.
struct AutoThreshold {
    std::chrono::nanoseconds floor = std::chrono::milliseconds(1);
    std::uint32_t min_runs = 100;                            // before the first threshold
    std::chrono::nanoseconds learn = std::chrono::hours(1);  // likewise
    // without a delay, before a raised threshold is halved
    std::chrono::nanoseconds quiet = std::chrono::hours(6);
    std::uint32_t captures_per_day = 12;  // of each such event
};

// Resources for unwinding stacks of programs without frame pointers.
struct Unwinding {
    std::uint64_t memory_bytes = 64ULL << 20;  // tables of all programs together
    std::string cache_path = "/var/cache/lagtrap/unwind";
    std::uint64_t cache_limit_bytes = 512ULL << 20;
};

// How recorded runs are collected and sent to the server.
struct Runs {
    // maximum batch age, from its first run
    std::chrono::nanoseconds batch_interval{10'000'000'000};
    // maximum batch size, before compression
    std::uint64_t batch_size_bytes = 256ULL << 10;
    // per event; above it, runs are sampled
    std::uint32_t limit_per_second = 2000;
};

// What is disabled when lagtrap exceeds its budget.
enum class BudgetPart {
    Switches,  // in a recording: user-space stacks of threads that block
    Samples,   // in a recording: call stacks, which are then taken less often
    History,   // while watching: what is kept from before a breach
    Times,     // while watching: the breakdown of each run's time
    Stacks,    // while watching: an event's stacks at markers
    Stages,    // while watching: an event's stages
    Events,    // while watching: an event as a whole
};

// How much CPU time lagtrap may use (docs/decisions/0017).
struct Budget {
    std::uint64_t share_ppm = 100'000;            // of one CPU, while watching; millionths
    std::uint64_t recording_share_ppm = 200'000;  // of all CPUs, during a recording
    std::chrono::nanoseconds interval{2'000'000'000};
    std::vector<BudgetPart> disable{BudgetPart::Switches, BudgetPart::Samples, BudgetPart::History,
                                    BudgetPart::Times,    BudgetPart::Stacks,  BudgetPart::Stages,
                                    BudgetPart::Events};  // in this order; empty: nothing is
                                                          // disabled
    // before retrying what was disabled while watching
    std::chrono::nanoseconds pause{60'000'000'000};
    // of all events together; 0: as many as 1/1024 of the machine's memory holds
    std::uint64_t open_runs = 0;
};

// What is kept in memory from before a breach.
struct History {
    std::chrono::nanoseconds length{5'000'000'000};        // of the window; 0: none
    std::chrono::nanoseconds sample_interval{20'000'000};  // in the window
    // share of the time that early recordings may take; 0: none
    std::uint64_t early_share_ppm = 20'000;
    bool times = true;  // whether each run's time is broken down
};

// Which requests threads work on, according to OpenTelemetry's thread context.
struct Context {
    bool read = true;
    std::vector<std::string> attributes{"http.route"};  // that recordings contain
};

// Recordings wait this long in memory for `lagtrap approve` or `decline`.
struct Confirm {
    std::chrono::nanoseconds wait{10'000'000'000};
};

struct Spool {
    std::string path = "/var/lib/lagtrap/spool";
    std::uint64_t size_limit_bytes = 2ULL << 30;
    std::chrono::nanoseconds age_limit{30LL * 86400 * 1'000'000'000};
    // 0: sent batches of runs are deleted
    std::chrono::nanoseconds sent_runs_age{6LL * 3600 * 1'000'000'000};
};

struct Upload {
    std::string url;         // https://host[:port][/path]; http only if the settings allow it
    std::string token_file;  // empty: no token
    std::string ca_file;     // empty: the system's certificates
    std::string proxy;       // empty: no proxy
    std::chrono::nanoseconds timeout{300'000'000'000};
};

enum class CommandLines { Masked, Program, All };

struct Privacy {
    CommandLines command_lines = CommandLines::Masked;  // of processes in recordings
};

enum class Callers { Root, Group, Anyone };  // root is always allowed

struct Control {
    std::string socket = "/run/lagtrap/control.sock";
    std::string group;                // the group that Callers::Group means; empty: only root
    Callers read = Callers::Group;    // read the status
    Callers change = Callers::Group;  // start a recording, approve or decline one
    // calls, functions and objects of any process, and so values in its memory
    Callers trace = Callers::Root;
};

struct Settings {
    std::vector<Event> events;
    Recording recording;
    AutoThreshold auto_threshold;
    Unwinding unwinding;
    Runs runs;
    Budget budget;
    History history;
    std::optional<Confirm> confirm;
    Context context;
    Privacy privacy;
    Spool spool;
    std::optional<Upload> upload;
    std::optional<Upload> otlp;  // an OpenTelemetry collector that receives delays as spans
    Control control;
    std::string source_text;  // the file as read, for the bundle
};

}  // namespace lagtrap::settings
