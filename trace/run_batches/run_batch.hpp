// A batch of runs: how the daemon sends the server events that are recorded run by run. In the
// spool it is a file `ID.runs.zst`: one zstd-compressed protobuf message. docs/formats.md lists its
// fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/run_batches/time_parts.hpp"

namespace lagtrap::trace {

inline constexpr std::size_t run_batch_limit_bytes = 1 << 20;            // compressed
inline constexpr std::size_t run_batch_unpacked_limit_bytes = 16 << 20;  // the message itself
inline constexpr std::size_t run_batch_runs_limit = 20'000;

// Texts are empty if unknown.
struct RunFrame {
    std::string module;
    std::string build_id;      // hexadecimal
    std::uint64_t offset = 0;  // in the module's file
    std::string function;
    std::string file;
    std::uint32_t line = 0;

    bool operator==(const RunFrame&) const = default;
};

using RunStack = std::vector<RunFrame>;  // innermost first

enum class StartKind : std::uint8_t { Unknown, Cold, Warm };

// Why a run's duration says nothing about the program. Bits of RecordedRun::dirty_reasons.
enum DirtyReason : std::uint32_t {
    DirtySuspended = 1,     // the machine was suspended while the run was open
    DirtyClockStepped = 2,  // the wall clock was set while the run was open
    DirtyMissingStage = 4,  // a stage named in the event's settings is missing
    DirtyAborted = 8,       // the thread exited while the run was open
    // ended at a marker for failure: a quick error does not make an operation fast
    DirtyFailed = 16,
    DirtyCancelled = 32  // ended at a marker for cancellation
};

// A marker between begin and end. A stage lasts until the next marker.
struct RunStage {
    std::string name;
    std::uint64_t at_ns = 0;  // since the begin of the run
    std::uint32_t tid = 0;
    std::uint32_t stack = 0;  // index into RunBatch::stacks, plus 1; 0 if there is none

    bool operator==(const RunStage&) const = default;
};

// Where the time of the run's threads went. What is missing from the duration is unknown.
struct RunTimes {
    TimeParts parts;
    std::uint64_t handed_over_ns = 0;  // between two consecutive markers on different threads

    bool operator==(const RunTimes&) const = default;
};

struct RecordedRun {
    std::string event;
    std::uint64_t begin_realtime_ns = 0;  // wall clock, since 1970
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint64_t key = 0;  // 0 if the thread is the key
    std::uint32_t pid = 0;
    std::uint32_t begin_tid = 0;
    std::uint32_t end_tid = 0;
    std::string thread;
    std::string process;
    std::string executable;
    std::string build_id;
    std::string user;
    StartKind start = StartKind::Unknown;
    bool delay = false;
    bool aborted = false;
    std::uint32_t weight = 1;       // number of runs this one stands for, at least 1
    std::uint32_t begin_stack = 0;  // as RunStage::stack
    std::uint32_t end_stack = 0;
    std::vector<RunStage> stages;
    std::uint32_t dirty_reasons = 0;  // enum DirtyReason
    std::optional<RunTimes> times;    // nullopt if not counted
    std::string unit;                 // or container, GroupWords::brief; empty if unknown
    bool without_stages = false;      // stages were not watched all the time, so there are none

    bool operator==(const RecordedRun&) const = default;
};

// Part of the object trace of a process (calls/object_stream.hpp), for somebody who follows it on
// another machine.
struct ObjectsPart {
    std::string watch_id;      // UUID, shared by all parts of one watch
    std::uint32_t number = 0;  // of the part, from 1
    std::uint32_t pid = 0;
    std::string process;
    std::uint64_t lost_lines = 0;  // since the previous part, for lack of room
    bool last = false;
    std::string lines;  // JSON, each with its line end

    bool operator==(const ObjectsPart&) const = default;
};
inline constexpr std::size_t objects_part_limit_bytes = 8 << 20;  // of the lines

struct RunBatch {
    std::string batch_id;  // a UUID
    std::string host;
    std::string boot_id;
    std::string session_hint;  // id of the capture in progress, if any
    std::string version;       // of lagtrap
    std::uint64_t made_realtime_ns = 0;
    std::vector<RunStack> stacks;
    std::vector<RecordedRun> runs;
    // Since the previous batch: runs counted in `weight` in addition to the runs listed, and runs
    // about which only their number is known.
    std::uint64_t runs_sampled_away = 0;
    std::uint64_t runs_lost = 0;
    std::optional<ObjectsPart> objects;

    bool operator==(const RunBatch&) const = default;
};

// Returns the compressed bytes; equal batches give equal bytes. Makes texts printable.
// ErrorKind::TooLarge beyond any limit above, ErrorKind::Invalid if read_run_batch() would refuse
// it.
[[nodiscard]] Result<std::string> write_run_batch(const RunBatch& batch);

// For untrusted batches: unpacks at most the limits above, checks every index and range, and makes
// sure that texts are printable UTF-8. Uses at most about 100 MiB whatever the bytes are.
[[nodiscard]] Result<RunBatch> read_run_batch(std::string_view compressed);

}  // namespace lagtrap::trace
