// What is known of a capture beside its logs: `session.json` in the capture's folder. Written when the capture
// begins and again when it ends, so that a capture cut short can still be merged.
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
    std::string program;                      // the binary its markers are in; empty for kernel tracepoints
    std::vector<std::string> markers{};       // of begin, each stage and end: "tracepoint block:block_rq_issue"
    std::uint64_t trace_length_limit_ns = 0;  // while the run that started the recording goes on; 0: not known
};

enum class TriggerReason { Deadline, End, Manual };

// Why the capture was started: the first breach, or a person.
struct SessionTrigger {
    TriggerReason reason = TriggerReason::End;
    std::uint32_t event = 0;  // index into events
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string comm;
    std::uint64_t begin_ns = 0;
    std::uint64_t breach_ns = 0;    // when the delay was noticed (for Manual: when it was asked for)
    std::uint64_t reported_ns = 0;  // when the listener told the collector
    bool of_goroutine = false;      // the run may end on another thread; not kept in files
};

// Why a recording ended when it did.
enum class RecordingEnd {
    Unknown,  // it runs, failed, or is older than this field
    Length,   // recorded as long as planned; a run noticed at its deadline had ended before
    RunEnd,   // as soon as the run that started it had ended, later than planned
    RunGone,  // the same; that run will never end, as its thread or process is gone
    Limit,    // that run goes on; the longest length was reached
    Size,     // its files reached their limit
};

// "length", "run-end", "run-gone", "limit", "size"; empty for Unknown, which also stands for every other text.
[[nodiscard]] std::string_view recording_end_name(RecordingEnd end);
[[nodiscard]] RecordingEnd recording_end_named(std::string_view name);

inline constexpr std::size_t shed_limit = 64;
inline constexpr std::size_t session_containers_limit = 512;

// Losses and costs, by name; all monotonic counts over the capture.
struct SessionQuality {
    std::uint64_t samples_taken = 0;
    std::uint64_t samples_lost = 0;
    std::uint64_t switches_lost = 0;
    std::uint64_t wakings_lost = 0;
    std::uint64_t stacks_lost = 0;
    std::uint64_t stack_copies = 0;           // made of stacks that only the merge can walk
    std::uint64_t stack_copies_left_out = 0;  // for want of budget or room
    std::uint64_t runs_lost = 0;
    std::uint64_t task_changes_lost = 0;  // exec, mmap, exit records the kernel dropped
    std::uint64_t code_files_lost = 0;    // what programs tell of JIT code: refused, cut or unreadable
    std::uint64_t bpf_run_time_ns = 0;    // 0 where the kernel does not count it
    std::uint64_t daemon_cpu_ns = 0;
    bool truncated_by_size = false;
    std::vector<std::string> shed;  // what was given up because it cost too much, a sentence each; at most shed_limit
};

struct Session {
    std::string id;  // UUID
    std::string lagtrap_version;
    std::string boot_id;  // of the boot it was recorded in, by running_boot_id(); empty: not known
    ClockSnapshot clocks;
    std::uint64_t started_ns = 0;           // monotonic; recording was on
    std::uint64_t ended_ns = 0;             // 0 while it runs, or if the daemon died
    std::uint64_t history_length_ns = 0;    // before started_ns, of which samples and waits were kept; 0: none
    std::uint64_t history_interval_ns = 0;  // between its samples of one CPU
    std::uint64_t planned_length_ns = 0;    // at least
    std::uint64_t longest_length_ns = 0;    // while the run that started it goes on; 0: not known
    RecordingEnd end = RecordingEnd::Unknown;
    std::uint64_t sample_interval_ns = 1'000'000;
    std::uint32_t cpu_count = 0;
    std::string stack_method;  // "eh-frame", "frame-pointer"
    std::vector<SessionEvent> events;
    SessionTrigger trigger;
    SessionQuality quality;
    ContainerNames containers;  // of processes that were there; at most session_containers_limit
    bool finished = false;
};

// Which boot of the machine this is (/proc/sys/kernel/random/boot_id); empty where the kernel does not say.
[[nodiscard]] std::string running_boot_id(const std::filesystem::path& proc_root = "/proc");

// Durable write and bounded read (1 MiB) of DIRECTORY/session.json. Reading checks every field's type and range.
[[nodiscard]] Status write_session(const std::filesystem::path& directory, const Session& session);
[[nodiscard]] Result<Session> read_session(const std::filesystem::path& directory);

}  // namespace lagtrap::trace
