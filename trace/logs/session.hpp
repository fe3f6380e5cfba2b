// What is known about a capture besides its logs: `session.json` in its folder. It is written when
// the capture starts and again when it ends, so that a capture that was cut short can still be
// merged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::trace {

struct SessionEvent {
    std::string name;
    std::uint64_t threshold_ns = 0;
    std::uint64_t trace_length_ns = 0;
    std::vector<std::string> stages;
    // the binary its markers are in; empty for kernel tracepoints
    std::string program;
    // of begin, each stage, and end: "tracepoint block:block_rq_issue"
    std::vector<std::string> markers{};
    // while the triggering run is still open; 0 if unknown
    std::uint64_t trace_length_limit_ns = 0;
};

enum class TriggerReason { Deadline, End, Manual };

// What started the capture: the first breach, or a person.
struct SessionTrigger {
    TriggerReason reason = TriggerReason::End;
    std::uint32_t event = 0;  // index into events
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string comm;
    std::uint64_t begin_ns = 0;
    // when the delay was detected (Manual: when the capture was requested)
    std::uint64_t breach_ns = 0;
    std::uint64_t reported_ns = 0;  // when the event monitor reported it
    bool of_goroutine = false;      // the run may end on another thread; not stored in files
};

// Why a recording ended.
enum class RecordingEnd {
    Unknown,  // still running, failed, or written before this field existed
    Length,   // recorded for the planned length; a run caught at its deadline had ended by then
    RunEnd,   // ended with the triggering run, later than planned
    RunGone,  // as RunEnd, but that run will never end: its thread or process is gone
    Limit,    // reached the maximum length with that run still open
    Size,     // the files reached their size limit
};

// "length", "run-end", "run-gone", "limit", "size"; empty for Unknown. Any other text means
// Unknown.
[[nodiscard]] std::string_view recording_end_name(RecordingEnd end);
[[nodiscard]] RecordingEnd recording_end_named(std::string_view name);

inline constexpr std::size_t omitted_limit = 64;
inline constexpr std::size_t session_containers_limit = 512;

// Losses and costs; each count covers the whole capture.
struct SessionQuality {
    std::uint64_t samples_taken = 0;
    std::uint64_t samples_lost = 0;
    std::uint64_t switches_lost = 0;
    std::uint64_t wakings_lost = 0;
    std::uint64_t stacks_lost = 0;
    std::uint64_t stack_copies = 0;           // copies of stacks that only the merge can walk
    std::uint64_t stack_copies_left_out = 0;  // copies not made, for lack of budget or room
    std::uint64_t runs_lost = 0;
    std::uint64_t task_changes_lost = 0;  // exec, mmap and exit records that the kernel dropped
    // files about JIT code that were refused, truncated or unreadable
    std::uint64_t code_files_lost = 0;
    std::uint64_t bpf_run_time_ns = 0;  // 0 if the kernel does not count it
    std::uint64_t daemon_cpu_ns = 0;
    bool truncated_by_size = false;
    // what was disabled to limit the cost, one sentence each; at most omitted_limit
    std::vector<std::string> omitted;
    std::uint64_t contexts_lost = 0;        // of threads, as their programs publish them
    std::uint64_t contexts_unreadable = 0;  // published at addresses that cannot be read
};

struct Session {
    std::string id;  // UUID
    std::string lagtrap_version;
    std::string boot_id;  // from running_boot_id(), of the recorded boot; empty if unknown
    ClockSnapshot clocks;
    std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC; recording was on
    std::uint64_t ended_ns = 0;    // 0 while recording, or if the daemon died
    // How long before started_ns samples and waits were kept; 0 if they were not.
    std::uint64_t history_length_ns = 0;
    std::uint64_t history_interval_ns = 0;  // between two of its samples of one CPU
    std::uint64_t planned_length_ns = 0;    // minimum
    // maximum while the triggering run is open; 0 if unknown
    std::uint64_t longest_length_ns = 0;
    RecordingEnd end = RecordingEnd::Unknown;
    std::uint64_t sample_interval_ns = 1'000'000;
    std::uint32_t cpu_count = 0;
    std::string stack_method;  // "eh-frame", "frame-pointer"
    std::vector<SessionEvent> events;
    SessionTrigger trigger;
    SessionQuality quality;
    ContainerNames containers;  // of processes in the recording; at most session_containers_limit
    bool finished = false;
};

// Identifies the running boot (/proc/sys/kernel/random/boot_id); empty if the kernel does not
// provide it.
[[nodiscard]] std::string running_boot_id(const std::filesystem::path& proc_root = "/proc");

// Writes DIRECTORY/session.json durably, and reads it (at most 1 MiB). Reading checks the type and
// range of every field.
[[nodiscard]] Status write_session(const std::filesystem::path& directory, const Session& session);
[[nodiscard]] Result<Session> read_session(const std::filesystem::path& directory);

}  // namespace lagtrap::trace
