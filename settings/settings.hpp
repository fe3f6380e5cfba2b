// The settings in force, as plain values. Made only by settings/parser.hpp, which has checked every one of
// them; immutable afterwards and free to be read from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calls/object_rule.hpp"

namespace lagtrap::settings {

// RunQueue: a thread begins to wait for a CPU, or has one.
enum class MarkerKind { Usdt, Function, Tracepoint, Library, RunQueue };

// Which side of a function a marker is.
enum class FunctionSide { Entry, Return };

// What pairs the markers of one run.
enum class KeyKind { Thread, Argument };

// A value that a marker carries: USDT argument, function parameter (both counted from 0), or a
// tracepoint's field by name. A key may be two fields, which are equal only where both are.
struct ArgumentRef {
    std::uint32_t index = 0;
    std::string field;
    std::string second_field;  // empty: there is none
};

struct Marker {
    MarkerKind kind = MarkerKind::Usdt;
    std::string binary;    // program or library, as settings/program_name.hpp has it; empty for tracepoints
    std::string provider;  // usdt: provider; tracepoint: category ("syscalls"); library: "lagtrap"
    std::string name;      // usdt and tracepoint: name; function: symbol or demangled name;
                           // library: "EVENT__begin", "EVENT__stage__STAGE", "EVENT__end"; run queue: "begins", "ends"
    FunctionSide side = FunctionSide::Entry;
    std::optional<ArgumentRef> key;
    std::uint32_t line = 0;  // where the settings file says it, from 1
    std::uint32_t column = 0;
};

struct Stage {
    std::string name;
    Marker marker;
    bool expected = false;  // a run that never reaches this stage is dirty
};

// What an end says of its run.
enum class EndMeaning { Done, Failed, Cancelled };

// A run that ends here is counted apart from those that were done.
struct OtherEnd {
    Marker marker;
    EndMeaning meaning = EndMeaning::Failed;
};

// A stage of one of these names says what kind of start its run was; it is no stage beside that.
inline constexpr const char* cold_stage = "cold";
inline constexpr const char* warm_stage = "warm";

// What is kept of an event: its delays, or each of its runs too.
enum class RecordMode { Delays, Runs };

// Which markers of recorded runs have the call stack taken.
enum class StackMode { None, Markers };

// When a recorded run is a cold start; else it is a warm one. Without either nobody knows, but for the markers.
struct ColdRule {
    bool first_of_process = false;
    std::optional<std::chrono::nanoseconds> after;  // so long since the program's last run
};

// When a delay is noticed: at the deadline, while the run is open, or at its end.
enum class BreachMode { Deadline, End };

// What a begin means while a run of the same key is open: a run inside it, part of it, or its replacement
// (the old one counts as a begin without end).
enum class Nesting { Each, Outermost, Restart };

// Whose key values are the same key: one process's (default), or the whole machine's (runs across processes).
enum class KeyScope { Process, Machine };

// Control groups by what they belong to; texts with * and ?. All of what is not empty must hold.
struct GroupScope {
    std::string unit, control_group, container, image, pod, pod_namespace, label;
    bool operator==(const GroupScope&) const = default;
    [[nodiscard]] bool empty() const { return *this == GroupScope{}; }
};

// Whom an event watches; all of what is set must hold.
struct Scope {
    std::optional<std::uint32_t> pid;
    std::optional<std::uint32_t> uid;
    std::string binary;  // processes whose program is this file; empty: any
    GroupScope groups;
};

// What is recorded of the calls of an event's function after a breach: each slow one with what it calls (docs/calls.md).
struct RecordedCalls {
    std::uint32_t depth = 3;            // levels below the function
    std::string match;                  // a regular expression of functions or files; empty: all
    std::uint64_t share_ppm = 100'000;  // of one CPU, for the probes; millionths
};

// A trace of the functions of an event's process, after a breach or always (docs/calls.md).
struct TracedFunctions {
    bool standing = false;
    std::chrono::nanoseconds window =
        std::chrono::seconds(5);   // of a standing one: the time before a breach that is kept
    std::string include, exclude;  // regular expressions of functions or files; empty: none
    std::chrono::nanoseconds least = std::chrono::microseconds(20);  // shorter calls are only counted
    std::uint64_t bytes_per_second = 200'000;                        // of calls that are told
    std::uint64_t share_ppm = 100'000;                               // of one CPU, for the probes; millionths
    bool operator==(const TracedFunctions&) const = default;
};

// Of all events together: as many as the programs in the kernel know.
inline constexpr std::size_t markers_limit = 4096;
// The same of events whose runs are waits for a CPU.
inline constexpr std::size_t run_queue_events_limit = 8;

struct Event {
    std::string name;
    std::chrono::nanoseconds threshold{};
    std::chrono::nanoseconds trace_length{};
    std::chrono::nanoseconds trace_length_limit{};  // while a run that was noticed at its deadline goes on; not shorter
    BreachMode breach = BreachMode::Deadline;
    Nesting nesting = Nesting::Each;
    KeyKind key = KeyKind::Thread;
    KeyScope key_scope = KeyScope::Process;
    RecordMode record = RecordMode::Delays;
    StackMode stacks = StackMode::None;  // counts with RecordMode::Runs alone, as does `cold`
    ColdRule cold;
    std::optional<ArgumentRef> begin_time;  // of the begin marker: CLOCK_MONOTONIC nanoseconds
    std::optional<ArgumentRef> trace_id;    // of the begin marker: address of the text of a trace's id
    bool copies = true;  // of binaries that are paths: those in other views of the file system are watched too
    Scope scope;
    Marker begin;
    std::vector<Stage> stages;
    Marker end;
    std::vector<OtherEnd> other_ends;        // in the same program as `end`
    std::optional<RecordedCalls> calls;      // of events that are a function
    std::vector<calls::ObjectRule> objects;  // that are followed after a breach
    std::optional<TracedFunctions> functions;
};

struct Recording {
    std::chrono::nanoseconds sample_interval{1'000'000};
    std::chrono::nanoseconds cool_down{30'000'000'000};  // after a capture, no other begins for so long
    std::uint32_t captures_per_hour = 12;
    std::uint64_t capture_size_limit_bytes = 512ULL << 20;
    std::chrono::nanoseconds merge_limit = std::chrono::minutes(10);  // by the wall clock
    std::uint64_t stack_copies_bytes = 64ULL << 20;                   // of stacks that only the merge can walk
    bool scheduling = true;                                           // context switches, wakings and off-CPU stacks
};

// What it may cost to walk the stacks of programs that keep no frame pointers.
struct Unwinding {
    std::uint64_t memory_bytes = 64ULL << 20;  // tables of all programs together
    std::string cache_path = "/var/cache/lagtrap/unwind";
    std::uint64_t cache_limit_bytes = 512ULL << 20;
};

// How recorded runs are gathered and told to the server.
struct Runs {
    std::chrono::nanoseconds batch_interval{10'000'000'000};  // a batch is sent when its first run is so old
    std::uint64_t batch_size_bytes = 256ULL << 10;            // or when its runs take so much, before compression
    std::uint32_t limit_per_second = 2000;                    // of one event; what is beyond is sampled down
};

// What is given up when lagtrap costs more than it may.
enum class Shed {
    Switches,  // in a recording: the programs' part of stacks of threads that block
    Samples,   // in a recording: call stacks, which are then taken less often
    History,   // while watching: what is kept of the time before a breach
    Times,     // while watching: where the time of runs goes
    Stacks,    // while watching: the stacks at markers of an event
    Stages,    // while watching: the stages of an event
    Events,    // while watching: an event as a whole
};

// What lagtrap may cost (docs/decisions/0017).
struct Budget {
    std::uint64_t share_ppm = 100'000;            // of one CPU, while watching; millionths
    std::uint64_t recording_share_ppm = 200'000;  // of all CPUs, during a recording
    std::chrono::nanoseconds interval{2'000'000'000};
    std::vector<Shed> shed{Shed::Switches, Shed::Samples, Shed::History, Shed::Times,
                           Shed::Stacks,   Shed::Stages,  Shed::Events};  // in this order; empty: nothing
    std::chrono::nanoseconds pause{60'000'000'000};  // before what was shed while watching is tried again
};

// What is kept of the time before a breach, in memory until there is one.
struct History {
    std::chrono::nanoseconds length{5'000'000'000};        // of the window; 0: none is kept
    std::chrono::nanoseconds sample_interval{20'000'000};  // in the window
    std::uint64_t early_share_ppm = 20'000;  // of the time, for recordings that begin before a breach; 0: none do
    bool times = true;                       // whether it is counted where the time of each run goes
};

// The daemon announces a breach and waits so long for `lagtrap approve` or `decline`.
struct Confirm {
    std::chrono::nanoseconds wait{10'000'000'000};
};

struct Spool {
    std::string path = "/var/lib/lagtrap/spool";
    std::uint64_t size_limit_bytes = 2ULL << 30;
    std::chrono::nanoseconds age_limit{30LL * 86400 * 1'000'000'000};
};

struct Upload {
    std::string url;         // https://host[:port][/path]; http only where the settings say so
    std::string token_file;  // empty: no token
    std::string ca_file;     // empty: the system's certificates
    std::string proxy;       // empty: none
    std::chrono::nanoseconds timeout{300'000'000'000};
};

enum class CommandLines { Masked, Program, All };

struct Privacy {
    CommandLines command_lines = CommandLines::Masked;  // of processes in recordings
};

enum class Callers { Root, Group, Anyone };  // root always may

struct Control {
    std::string socket = "/run/lagtrap/control.sock";
    std::string group;                // that Callers::Group means; empty: root alone
    Callers read = Callers::Group;    // the status
    Callers change = Callers::Group;  // start a recording, approve or decline one
    Callers trace = Callers::Root;    // calls, functions and objects of every process, and so what is in its memory
};

struct Settings {
    std::vector<Event> events;
    Recording recording;
    Unwinding unwinding;
    Runs runs;
    Budget budget;
    History history;
    std::optional<Confirm> confirm;
    Privacy privacy;
    Spool spool;
    std::optional<Upload> upload;
    std::optional<Upload> otlp;  // an OpenTelemetry collector, to which delays go as spans
    Control control;
    std::string source_text;  // the file as read, for the bundle
};

}  // namespace lagtrap::settings
