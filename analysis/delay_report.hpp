// Answers "where did the time go?": one report per delay, one on the machine, and one on the
// quality of the recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/call_tree.hpp"
#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"
#include "analysis/stack_times.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// From one marker hit to the next. The first, unnamed stage lasts from the begin to the first
// stage's hit.
struct StageReport {
    std::string name;
    std::uint64_t offset_ns = 0;  // since the delay's begin
    std::uint64_t duration_ns = 0;
    std::uint32_t tid = 0;
    TimeSplit split;
};

// A thread or interrupt that ended waits of the delay, and what the thread did in the meantime. For
// a lock, the holder.
struct WakerReport {
    // not a thread; then only times, count, reason, cause and device are set
    bool interrupt = false;
    WakeCause cause = WakeCause::Unknown;
    // name of the network device, disk or interrupt; empty if none or unknown
    std::string device;
    std::uint64_t shortest_ns = 0;  // of these waits
    std::uint64_t longest_ns = 0;
    bool longest_is_cut = false;  // it began before the recording or the delay, so it was longer
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string process;
    std::string thread;
    std::uint64_t blocked_ns = 0;  // total of the delay's waits it ended
    std::uint64_t count = 0;
    std::string reason;                   // longest reason of these waits
    TimeSplit split;                      // of the waker's time during these waits
    std::vector<FunctionTime> functions;  // of the waker, during these waits; at most 20
    std::vector<CallLine> calls;          // the same as a tree; at most 20 lines
};

// The thread that ended a run begun by another one, for the time that no marker assigns to either.
struct ReceiverReport {
    std::uint32_t tid = 0;  // 0 if there is none
    std::string thread;
    TimeSplit split;
    std::vector<CallLine> calls;  // at most 200 lines
};

struct DelayReport {
    trace::Delay delay;
    TimeSplit split;
    DelayCauses causes;
    std::uint64_t samples = 0;
    // add up to the delay; empty if the event has no stages
    std::vector<StageReport> stages;
    std::vector<CallLine> calls;                 // program's calls as a tree; at most 200 lines
    std::vector<CallLine> innermost;             // where the time ended up; at most 50
    std::vector<FunctionTime> functions;         // in programs and libraries; at most 50
    std::vector<FunctionTime> kernel_functions;  // at most 50
    std::vector<StackTime> stacks;               // at most 500
    std::vector<WakerReport> wakers;             // longest first; at most 10
    ReceiverReport receiver;

    // Share (0 to 1) of a time in the known part of the delay, with or without stacks.
    [[nodiscard]] double share_of_known(std::uint64_t time_ns) const {
        const std::uint64_t known_ns = split.wall_ns - split.not_recorded_ns;
        return known_ns > 0 ? static_cast<double>(time_ns) / static_cast<double>(known_ns) : 0;
    }
    // Share (0 to 1) of a time in the recorded part of the delay; 0 if nothing was recorded.
    [[nodiscard]] double share(std::uint64_t time_ns) const {
        return split.recorded_ns() > 0
                   ? static_cast<double>(time_ns) / static_cast<double>(split.recorded_ns())
                   : 0;
    }
};

[[nodiscard]] DelayReport report_delay(const Recording& recording, const trace::Delay& delay);

struct ProcessTime {
    std::uint32_t pid = 0;
    std::string name;
    std::uint64_t cpu_ns = 0;
};

// The whole machine, for the whole recording.
struct MachineReport {
    std::uint64_t length_ns = 0;
    std::uint32_t cpu_count = 0;
    std::uint64_t busy_ns = 0;           // sum over all CPUs, at most length times CPUs
    std::vector<ProcessTime> processes;  // by CPU time, longest first; at most 20

    [[nodiscard]] double share(std::uint64_t cpu_ns) const {
        const double whole = static_cast<double>(length_ns) * cpu_count;
        return whole > 0 ? static_cast<double>(cpu_ns) / whole : 0;
    }
};

[[nodiscard]] MachineReport report_machine(const Recording& recording);

// Records of one kind that were lost.
struct LossCount {
    std::string what;
    std::uint64_t count = 0;
    std::uint64_t of = 0;  // how many there were in all, as far as is known; 0 if that is unknown
};

// A reason for incomplete stacks, and the code it occurred in.
struct StopReport {
    std::string module;  // path; empty if no module is to blame
    std::string reason;  // as in the system file
    double share = 0;    // of all user stacks, 0 to 1
};

struct QualityReport {
    std::uint64_t samples = 0;
    std::vector<LossCount> lost;  // only kinds with losses
    bool partial = false;
    bool truncated_by_size = false;
    std::vector<std::string> omitted;  // what was disabled to limit the cost, one sentence each
    // Shares (0 to 1) of user stacks known to reach the thread's first frame. Each use of a stack
    // counts.
    double stacks_complete = 0;
    // for samples; nullopt if there were none or it is unknown
    std::optional<double> on_cpu_complete;
    std::optional<double> off_cpu_complete;  // for waits
    double by_frame_pointers = 0;            // of the complete ones, needed frame pointers
    // of the complete ones, walked by the merge, from copies of their memory
    double late = 0;
    std::optional<double> delayed_complete;  // for processes with delays; nullopt if unknown
    std::uint64_t delayed_stacks = 0;        // total for delayed_complete
    std::vector<StopReport> stops;           // most frequent first; at most 20
    double other_stops = 0;                  // share of the rest
    double frames_named = 0;                 // share of all frames, 0 to 1
    double frames_located = 0;               // with a source line
    trace::NamingQuality naming;
    double own_cost = 0;  // daemon and BPF programs, as a share of all CPUs
};

// Why a walk ended, in words: "no unwind table" for "no-table". Returns unknown reasons unchanged.
[[nodiscard]] std::string stop_reason_in_words(const std::string& reason);

[[nodiscard]] QualityReport report_quality(const Recording& recording);

}  // namespace lagtrap::analysis
