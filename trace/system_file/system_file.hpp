// The system file, `system.xml`: the delays of a recording and facts about the machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/logs/session.hpp"
#include "trace/system_file/function_counts.hpp"
#include "trace/system_file/run_so_far.hpp"
#include "trace/system_file/trace_context.hpp"

namespace lagtrap::trace {

// For one text. A path from the kernel can become longer when its bytes are made printable.
inline constexpr std::size_t text_limit_bytes = 4096;

struct StageTime {
    std::string name;
    std::uint64_t offset_ns = 0;  // since the run's begin
    std::uint32_t tid = 0;
};

inline constexpr std::uint32_t system_file_version = 1;

// One run over its threshold. Times are CLOCK_BOOTTIME nanoseconds, as in the merged trace.
struct Delay {
    std::uint64_t run_id = 0;  // the "run" annotation of its slice in the merged trace
    std::string event;
    std::uint64_t threshold_ns = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t duration_ns = 0;  // so far, if `open`
    bool open = false;              // had not ended when the recording did
    bool first = false;             // its breach started the recording
    bool earlier_begin = false;     // the marker carried the begin time
    std::uint64_t queued_ns = 0;    // from that begin time to the begin marker
    std::uint64_t key = 0;
    // of goroutines: between its markers, its threads may have run others
    bool in_go = false;
    std::uint64_t goroutine = 0;  // goroutine that began and ended it; 0 if it may be several
    std::uint32_t begin_pid = 0, begin_tid = 0, end_pid = 0, end_tid = 0;
    std::string process;  // name of the process
    std::string thread;   // name of the beginning thread
    std::string program;  // path of its program
    std::string program_build_id;
    std::string program_version;  // of the package that owns it; empty if unknown
    std::string control_group;    // path of the process's group; empty if unknown
    // or container of the process, GroupWords::whole; empty if unknown
    std::string unit;
    // name of the process's user, or number if it has no name; empty if unknown
    std::string user;
    std::vector<StageTime> stages;
    bool without_stages = false;  // stages were not watched all the time, so there are none
    RunSoFar so_far;              // what is known from before the recording
    TraceContext trace;           // carried by its begin marker
    std::string no_trace;         // what the marker carried, if it is not a trace id
};

// A file that a process of the recording had mapped executable.
struct Module {
    std::string path;
    std::string build_id;  // hexadecimal; empty if the file has none or was gone
};

// User stacks, counted once per sample or switch.
struct StackWalks {
    std::uint64_t stacks = 0;
    std::uint64_t complete = 0;  // known to reach the thread's first frame
    // of the complete ones, needed frame pointers: likely, not certain
    std::uint64_t by_frame_pointers = 0;
    std::uint64_t late = 0;  // of the complete ones, walked by the merge, from copies
};

// What kept the other stacks from being complete.
struct StackStop {
    std::string module;  // whose code the walk could not leave; empty if the stack itself was lost
    std::string reason;  // stack_end_name() of stack_quality.hpp, or "lost"
    std::uint64_t on_cpu = 0;
    std::uint64_t off_cpu = 0;
    [[nodiscard]] std::uint64_t count() const { return on_cpu + off_cpu; }
};

// Results of naming functions.
struct NamingQuality {
    std::uint64_t modules = 0;           // with frames in the recording's stacks
    std::uint64_t modules_gone = 0;      // file not found again, or replaced
    std::uint64_t modules_damaged = 0;   // file unreadable
    std::uint64_t modules_left_out = 0;  // not or only partly named, for lack of budget
    std::uint64_t places_left_out = 0;   // places in their code
    // places without lines and inlined functions, for lack of budget
    std::uint64_t lines_left_out = 0;
};

// Quality of stacks and frames. Frames count once per use of their stack.
struct StackQuality {
    std::uint64_t user_stacks = 0;           // on CPU and off CPU
    std::uint64_t user_stacks_complete = 0;  // known to reach the thread's first frame
    std::uint64_t frames = 0;                // user and kernel, including inlined functions
    std::uint64_t frames_named = 0;
    std::uint64_t frames_located = 0;  // with a source file
    StackWalks on_cpu;                 // of samples
    StackWalks off_cpu;                // of switches
    StackWalks delayed;                // both, for processes with delays
    std::vector<StackStop> stops;      // most frequent first; at most 20
    StackStop other_stops;             // the sum of the rest
    NamingQuality naming;
};

// A marker of an event: its begin first, its end last, its stages in between.
struct EventMarker {
    std::string stage;  // empty for begin and end
    std::string text;   // "tracepoint block:block_rq_issue"
};

struct RunCounts {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
};

struct SystemFile {
    std::string session_id;
    std::string lagtrap_version;
    std::string host;
    std::string machine_id;  // hash of /etc/machine-id, not the id itself
    std::string os_name;     // PRETTY_NAME of os-release
    std::string kernel_release;
    std::string architecture;
    std::uint32_t cpu_count = 0;
    std::string cpu_model;
    std::uint64_t memory_bytes = 0;
    std::uint64_t started_realtime_ns = 0;  // wall clock at the start of the recording
    std::uint64_t started_boottime_ns = 0;
    std::uint64_t length_ns = 0;
    // From the settings: minimum, and maximum while the triggering run is open. 0 if unknown.
    std::uint64_t trace_length_ns = 0;
    std::uint64_t trace_length_limit_ns = 0;
    std::uint64_t history_length_ns = 0;  // as in Session
    std::uint64_t history_interval_ns = 0;
    RecordingEnd end = RecordingEnd::Unknown;
    std::uint64_t sample_interval_ns = 0;
    std::string stack_method;
    std::string trigger_reason;  // "deadline", "end", "manual"
    std::string trigger_event;
    std::uint64_t breach_boottime_ns = 0;
    bool partial = false;  // the capture was cut short (daemon died, log torn)
    SessionQuality quality;
    StackQuality stacks;
    std::map<std::string, RunCounts> runs;                    // by event
    std::map<std::string, std::vector<EventMarker>> markers;  // by event; empty if unknown
    std::vector<Delay> delays;                                // by begin; at most 100,000
    // beyond the limit; `runs` includes them
    std::uint64_t delays_left_out = 0;
    std::vector<Module> modules;  // by path
    // of one process, if the event's settings ask for it
    std::optional<FunctionCounts> functions;
    static constexpr std::size_t object_lines_limit = 16;
    // object trace of a process, as lines (trace/merge/recorded_objects.hpp)
    std::vector<std::string> objects;
};

// Returns XML in UTF-8, without bytes that XML forbids.
[[nodiscard]] std::string write_system_file(const SystemFile& file);

// Parses an untrusted file: limited to 16 MiB, 100,000 delays and 100,000 modules; checks every
// value.
[[nodiscard]] Result<SystemFile> read_system_file(std::string_view text);

}  // namespace lagtrap::trace
