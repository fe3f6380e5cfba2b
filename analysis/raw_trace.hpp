// The decoder's result for a merged trace, before it is sorted by thread. For analysis/ only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// Linux thread ids are below this (the kernel's PID_MAX_LIMIT).
inline constexpr std::uint32_t tid_limit = 4 * 1024 * 1024;
inline constexpr std::uint32_t cpu_limit = 8192;
inline constexpr std::uint64_t record_limit = 128ULL << 20;
inline constexpr std::uint64_t name_bytes_limit = 1ULL << 30;

enum class SwitchOut : std::uint8_t { Runnable, Blocked, Exited };

// When the control group of a thread was last throttled on the CPU to which the thread now comes.
struct RawThrottling {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
};

struct RawSwitch {
    std::uint64_t at_ns = 0;
    std::uint32_t prev_tid = 0;
    std::uint32_t next_tid = 0;
    // of the next thread: index into RawTrace::throttlings, plus 1; 0 if none
    std::uint32_t throttling = 0;
    std::int16_t prev_priority = -1;  // the kernel's, 0 to 139; -1 if unknown
    std::int16_t next_priority = -1;  // or idle_priority
    SwitchOut out = SwitchOut::Runnable;
    bool prev_throttled = false;
    bool prev_yielded = false;  // in sched_yield
    // from what the next thread did; how the previous one stopped is unknown
    bool concluded = false;
};

struct RawWaking {
    std::uint64_t at_ns = 0;
    std::uint32_t waker_tid = 0;
    std::uint32_t wakee_tid = 0;
    NameId device = 0;
    WakeCause cause = WakeCause::Unknown;
    bool by_interrupt = false;
};

struct RawWaitFile {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    WaitedFile file;
};

struct RawSample {
    std::uint64_t at_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    StackId stack = 0;
    std::uint32_t cpu = 0;
    // of an off-CPU stack: what the thread waits for, numbered from 1; 0 if unknown
    std::uint32_t lock = 0;
    std::uint32_t lock_owner = 0;  // what the program's memory says; 0 if unknown
};

struct RawThread {
    std::uint32_t pid = 0;
    NameId name = 0;
    std::uint64_t first_seen_ns = UINT64_MAX;
    Creation creation;
};

// A place as in ModuleSymbols packets.
struct ModulePlace {
    NameId module = 0;
    NameId build_id = 0;
    std::uint64_t offset = 0;
    auto operator<=>(const ModulePlace&) const =
        default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// A name for a place that was found after the recording.
struct LaterSymbol {
    NameId function = 0;
    NameId source = 0;
    std::uint32_t line = 0;
};

struct RawTrace {
    // Moved into the recording unchanged.
    std::vector<std::string> names{""};
    std::vector<Frame> frames;
    // stack N is stack_frames[stack_ends[N - 1], stack_ends[N])
    std::vector<std::uint32_t> stack_ends{0};
    std::vector<std::uint32_t> stack_frames;
    std::unordered_map<std::uint32_t, Process> processes;
    std::vector<Run> runs;
    std::vector<RunCalls> run_calls;
    std::vector<calls::Function> called_functions;
    std::vector<EarlierSample> earlier_samples;
    std::vector<EarlierWait> earlier_waits;

    std::map<std::uint32_t, std::vector<RawSwitch>> switches;  // by CPU
    std::vector<RawThrottling> throttlings;
    std::vector<RawWaking> wakings;
    std::vector<RawWaitFile> wait_files;
    std::vector<FailedConnect> repeated_syns;
    std::vector<FailedConnect> refused_connects;
    std::vector<DiskLimit> disk_limits;
    std::vector<SocketOwner> socket_owners;
    std::vector<WrittenFile> written_files;
    std::vector<FileWriter> file_writers;
    std::unordered_map<std::uint32_t, std::vector<PublishedSpan>> spans;  // by tid
    GroupMemory group_memory;
    std::vector<RawSample> samples;
    std::vector<RawSample> off_cpu;
    std::unordered_map<std::uint32_t, RawThread> threads;  // by tid
    std::map<ModulePlace, std::vector<LaterSymbol>> later_symbols;
    std::uint64_t unreadable = 0;
    std::uint64_t records = 0;
    std::uint64_t name_bytes = 0;

    [[nodiscard]] NameId intern(std::string_view text);
    // Numbers the objects that threads wait for, from 1.
    [[nodiscard]] std::uint32_t lock_of(std::uint64_t object) {
        return locks_.try_emplace(object, static_cast<std::uint32_t>(locks_.size() + 1))
            .first->second;
    }
    [[nodiscard]] bool too_large() const {
        return records > record_limit || name_bytes > name_bytes_limit;
    }

  private:
    std::unordered_map<std::string, NameId> name_ids_;
    std::unordered_map<std::uint64_t, std::uint32_t> locks_;
};

[[nodiscard]] Result<RawTrace> decode_trace(std::string_view trace);

// Computes each thread's states from switches, wakeups and off-CPU stacks, and assigns the samples.
// Needs recording.begin_ns and end_ns; consumes parts of `raw`.
void build_timelines(RawTrace& raw, Recording& recording);

}  // namespace lagtrap::analysis
