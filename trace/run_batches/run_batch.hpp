// A batch of runs: what the daemon tells the server of events that are recorded run by run. A file of the spool,
// `ID.runs.zst`: zstd of one protobuf message, whose fields docs/formats.md lists.
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

// Texts may be empty: not known.
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

// Why a run's duration does not speak of the program. Bits of RecordedRun::dirty_reasons.
enum DirtyReason : std::uint32_t {
    DirtySuspended = 1,     // the machine slept while the run was open
    DirtyClockStepped = 2,  // the wall clock was set while the run was open
    DirtyMissingStage = 4,  // a stage that the event's settings name never came
    DirtyAborted = 8,       // the thread exited while the run was open
    DirtyFailed = 16,       // it ended at a marker that says so: a quick error does not make an operation fast
    DirtyCancelled = 32     // the same
};

// A marker between begin and end. A stage lasts until the next marker.
struct RunStage {
    std::string name;
    std::uint64_t at_ns = 0;  // after the begin of the run
    std::uint32_t tid = 0;
    std::uint32_t stack = 0;  // index into RunBatch::stacks + 1; 0: none

    bool operator==(const RunStage&) const = default;
};

// Where the time of the run's threads went. What is missing to the duration is not known.
struct RunTimes {
    TimeParts parts;
    std::uint64_t handed_over_ns = 0;  // between markers that two threads met one after the other

    bool operator==(const RunTimes&) const = default;
};

struct RecordedRun {
    std::string event;
    std::uint64_t begin_realtime_ns = 0;  // wall clock, since 1970
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint64_t key = 0;  // 0 where the thread is the key
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
    std::uint32_t weight = 1;       // how many runs this one stands for, at least 1
    std::uint32_t begin_stack = 0;  // as RunStage::stack
    std::uint32_t end_stack = 0;
    std::vector<RunStage> stages;
    std::uint32_t dirty_reasons = 0;  // enum DirtyReason
    std::optional<RunTimes> times;    // nothing: they were not counted
    std::string unit;                 // or container, as group_words() has it, brief; empty: not known
    bool without_stages = false;      // they were not watched all the while, so it has none

    bool operator==(const RecordedRun&) const = default;
};

// A part of what the daemon tells of objects of a process (calls/object_stream.hpp), on its way to somebody who follows it on
// another machine.
struct ObjectsPart {
    std::string watch_id;      // a UUID; the parts of one watch have it
    std::uint32_t number = 0;  // of the part, from 1
    std::uint32_t pid = 0;
    std::string process;
    std::uint64_t lost_lines = 0;  // since the part before, for want of room
    bool last = false;
    std::string lines;  // of JSON, each with its end

    bool operator==(const ObjectsPart&) const = default;
};
inline constexpr std::size_t objects_part_limit_bytes = 8 << 20;  // of the lines

struct RunBatch {
    std::string batch_id;  // a UUID
    std::string host;
    std::string boot_id;
    std::string session_hint;  // id of the capture that was being recorded, if any
    std::string version;       // of lagtrap
    std::uint64_t made_realtime_ns = 0;
    std::vector<RunStack> stacks;
    std::vector<RecordedRun> runs;
    // Since the batch before: runs that `weight` stands for beyond the runs themselves, and runs of which nothing
    // is known but that they were.
    std::uint64_t runs_sampled_away = 0;
    std::uint64_t runs_lost = 0;
    std::optional<ObjectsPart> objects;

    bool operator==(const RunBatch&) const = default;
};

// The compressed bytes; the same batch gives the same bytes. Texts are made printable. ErrorKind::TooLarge beyond any
// of the limits above, ErrorKind::Invalid where read_run_batch() would refuse it.
[[nodiscard]] Result<std::string> write_run_batch(const RunBatch& batch);

// For batches from elsewhere: at most the limits above are unpacked, every index and range is checked, and texts are
// printable UTF-8. Holds at most about 100 MiB whatever the bytes say.
[[nodiscard]] Result<RunBatch> read_run_batch(std::string_view compressed);

}  // namespace lagtrap::trace
