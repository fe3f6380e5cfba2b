// The system file: `system.xml` lists the delays of a recording with the facts of the machine.
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

// Of one text; a path of the kernel may be longer once its bytes are made printable.
inline constexpr std::size_t text_limit_bytes = 4096;

struct StageTime {
    std::string name;
    std::uint64_t offset_ns = 0;  // after the run's begin
    std::uint32_t tid = 0;
};

inline constexpr std::uint32_t system_file_version = 1;

// One run over its threshold. Times are CLOCK_BOOTTIME nanoseconds, as in the merged trace.
struct Delay {
    std::uint64_t run_id = 0;  // the "run" annotation of its slice in the merged trace
    std::string event;
    std::uint64_t threshold_ns = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t duration_ns = 0;  // so far, where `open`
    bool open = false;              // had not ended when the recording did
    bool first = false;             // the run whose breach started the recording
    bool earlier_begin = false;     // the begin came with the marker
    std::uint64_t queued_ns = 0;    // from that begin to the begin marker
    std::uint64_t key = 0;
    bool in_go = false;           // of goroutines: what its threads did between its markers may be others'
    std::uint64_t goroutine = 0;  // of these, the one that began and ended it, by number; 0: several may have
    std::uint32_t begin_pid = 0, begin_tid = 0, end_pid = 0, end_tid = 0;
    std::string process;  // name of the process
    std::string thread;   // name of the beginning thread
    std::string program;  // path of its program
    std::string program_build_id;
    std::string program_version;  // of the package that owns it, where the machine knows; else empty
    std::string control_group;    // of the process, a path; empty: not known
    std::string unit;             // or container of the process, as group_words() has it, whole; empty: not known
    std::string user;             // of the process, by name, or by number where the machine has none; empty: not known
    std::vector<StageTime> stages;
    bool without_stages = false;  // they were not watched all the while, so there are none
    RunSoFar so_far;              // of the time that the recording does not know
    TraceContext trace;           // that its begin marker carried
    std::string no_trace;         // what that carried, where it is no id of a trace
};

// A file that was mapped executable by some process of the recording.
struct Module {
    std::string path;
    std::string build_id;  // hexadecimal; empty where the file has none or was gone
};

// User stacks, each counted as often as a sample or a switch has it.
struct StackWalks {
    std::uint64_t stacks = 0;
    std::uint64_t complete = 0;           // known to reach the thread's first frame
    std::uint64_t by_frame_pointers = 0;  // of these, those that needed frame pointers: likely, not certain
    std::uint64_t late = 0;               // and those that the merge walked, from copies
};

// What kept other stacks from being complete.
struct StackStop {
    std::string module;  // whose code the walk could not leave; empty where the stack itself was lost
    std::string reason;  // stack_end_name() of stack_quality.hpp, or "lost"
    std::uint64_t on_cpu = 0;
    std::uint64_t off_cpu = 0;
    [[nodiscard]] std::uint64_t count() const { return on_cpu + off_cpu; }
};

// What became of the naming of functions.
struct NamingQuality {
    std::uint64_t modules = 0;           // with frames in the recording's stacks
    std::uint64_t modules_gone = 0;      // whose file could not be found again, or is another one now
    std::uint64_t modules_damaged = 0;   // whose file could not be read
    std::uint64_t modules_left_out = 0;  // that the budget left without names, wholly or in part
    std::uint64_t places_left_out = 0;   // in their code
    std::uint64_t lines_left_out = 0;    // places that the budget left without lines and inlined functions
};

// What became of the stacks and the frames. Frames count as often as their stacks.
struct StackQuality {
    std::uint64_t user_stacks = 0;           // on CPU and off CPU
    std::uint64_t user_stacks_complete = 0;  // known to reach the thread's first frame
    std::uint64_t frames = 0;                // user's and kernel's, inlined functions too
    std::uint64_t frames_named = 0;
    std::uint64_t frames_located = 0;  // have a source file
    StackWalks on_cpu;                 // of samples
    StackWalks off_cpu;                // of switches
    StackWalks delayed;                // of both, of the processes that began delays
    std::vector<StackStop> stops;      // most frequent first; at most 20
    StackStop other_stops;             // the sum of the rest
    NamingQuality naming;
};

// A marker of an event: of its begin first, of its end last, of its stages in between.
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
    std::uint64_t started_realtime_ns = 0;  // wall clock at which the recording began
    std::uint64_t started_boottime_ns = 0;
    std::uint64_t length_ns = 0;
    // As the settings had it: at least, and at most while the run that started it goes on. 0: not known.
    std::uint64_t trace_length_ns = 0;
    std::uint64_t trace_length_limit_ns = 0;
    std::uint64_t history_length_ns = 0;  // as Session has them
    std::uint64_t history_interval_ns = 0;
    RecordingEnd end = RecordingEnd::Unknown;
    std::uint64_t sample_interval_ns = 0;
    std::string stack_method;
    std::string trigger_reason;  // "deadline", "end", "manual"
    std::string trigger_event;
    std::uint64_t breach_boottime_ns = 0;
    bool partial = false;  // the capture was cut short (the daemon died, a log was torn)
    SessionQuality quality;
    StackQuality stacks;
    std::map<std::string, RunCounts> runs;                    // by event
    std::map<std::string, std::vector<EventMarker>> markers;  // the same; none where they are not known
    std::vector<Delay> delays;                                // by begin; at most 100,000
    std::uint64_t delays_left_out = 0;                        // beyond those; `runs` counts them too
    std::vector<Module> modules;                              // by path
    std::optional<FunctionCounts> functions;                  // of one process, where the event wants them
    static constexpr std::size_t object_lines_limit = 16;
    std::vector<std::string> objects;  // what objects of a process did, as lines (trace/merge/recorded_objects.hpp)
};

// XML text, UTF-8, no byte that XML forbids.
[[nodiscard]] std::string write_system_file(const SystemFile& file);

// The reverse, for files from elsewhere: bounded (16 MiB, 100,000 delays, 100,000 modules), every value checked.
[[nodiscard]] Result<SystemFile> read_system_file(std::string_view text);

}  // namespace lagtrap::trace
