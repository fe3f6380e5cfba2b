// The answer to "where did the time go": one report per delay, and what the machine and the recording were like.
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

// From a hit to the next one. The first has no name: from the begin to the first stage's hit.
struct StageReport {
    std::string name;
    std::uint64_t offset_ns = 0;  // after the delay's begin
    std::uint64_t duration_ns = 0;
    std::uint32_t tid = 0;
    TimeSplit split;
};

// Who ended waits of the delay, and what it did while the delay waited: for a lock, its holder.
struct WakerReport {
    bool interrupt = false;  // no thread did; then nothing is known from `pid` on but times, count and reason
    WakeCause cause = WakeCause::Unknown;
    std::string device;             // name of the network device, disk or interrupt; empty: none, or not known
    std::uint64_t shortest_ns = 0;  // of these waits
    std::uint64_t longest_ns = 0;
    bool longest_is_cut = false;  // it began before the recording, or before the delay: it was longer
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string process;
    std::string thread;
    std::uint64_t blocked_ns = 0;  // the delay's waits that it ended
    std::uint64_t count = 0;
    std::string reason;                   // the longest reason of these waits
    TimeSplit split;                      // of the waker's time during these waits
    std::vector<FunctionTime> functions;  // of the waker during these waits; at most 20
    std::vector<CallLine> calls;          // the same as a tree; at most 20 lines
};

// The thread that ended a run which another one had begun, over the time of which no marker tells whose it was.
struct ReceiverReport {
    std::uint32_t tid = 0;  // 0: there is none
    std::string thread;
    TimeSplit split;
    std::vector<CallLine> calls;  // at most 200 lines
};

struct DelayReport {
    trace::Delay delay;
    TimeSplit split;
    DelayCauses causes;
    std::uint64_t samples = 0;
    std::vector<StageReport> stages;             // add up to the delay; empty where the event has none
    std::vector<CallLine> calls;                 // the program's calls as a tree; at most 200 lines
    std::vector<CallLine> innermost;             // where the time was in the end; at most 50
    std::vector<FunctionTime> functions;         // of programs and libraries; at most 50
    std::vector<FunctionTime> kernel_functions;  // at most 50
    std::vector<StackTime> stacks;               // at most 500
    std::vector<WakerReport> wakers;             // longest first; at most 10
    ReceiverReport receiver;

    // A time as share (0 to 1) of the part of the delay of which it is known where it went, with or without stacks.
    [[nodiscard]] double share_of_known(std::uint64_t time_ns) const {
        const std::uint64_t known_ns = split.wall_ns - split.not_recorded_ns;
        return known_ns > 0 ? static_cast<double>(time_ns) / static_cast<double>(known_ns) : 0;
    }
    // A time as share (0 to 1) of the part of the delay that was recorded; 0 where nothing was.
    [[nodiscard]] double share(std::uint64_t time_ns) const {
        return split.recorded_ns() > 0 ? static_cast<double>(time_ns) / static_cast<double>(split.recorded_ns()) : 0;
    }
};

[[nodiscard]] DelayReport report_delay(const Recording& recording, const trace::Delay& delay);

struct ProcessTime {
    std::uint32_t pid = 0;
    std::string name;
    std::uint64_t cpu_ns = 0;
};

// The whole machine over the whole recording.
struct MachineReport {
    std::uint64_t length_ns = 0;
    std::uint32_t cpu_count = 0;
    std::uint64_t busy_ns = 0;           // over all CPUs, at most length times CPUs
    std::vector<ProcessTime> processes;  // by CPU time, longest first; at most 20

    [[nodiscard]] double share(std::uint64_t cpu_ns) const {
        const double whole = static_cast<double>(length_ns) * cpu_count;
        return whole > 0 ? static_cast<double>(cpu_ns) / whole : 0;
    }
};

[[nodiscard]] MachineReport report_machine(const Recording& recording);

// A kind of record of which some were lost.
struct LossCount {
    std::string what;
    std::uint64_t count = 0;
};

// A reason for which stacks are not complete, and whose code it was in.
struct StopReport {
    std::string module;  // path; empty where no module is to blame
    std::string reason;  // as the system file has it
    double share = 0;    // of all user stacks, 0 to 1
};

struct QualityReport {
    std::uint64_t samples = 0;
    std::vector<LossCount> lost;  // only what was
    bool partial = false;
    bool truncated_by_size = false;
    std::vector<std::string> shed;  // what was given up because it cost too much, a sentence each
    // Shares, 0 to 1, of user stacks that are known to reach the thread's first frame. Each use of a stack counts.
    double stacks_complete = 0;
    std::optional<double> on_cpu_complete;   // of samples; nothing where there were none, or where it is not known
    std::optional<double> off_cpu_complete;  // of waits
    double by_frame_pointers = 0;            // share of the complete ones that needed frame pointers
    double late = 0;  // share of the complete ones that the merge walked, from copies of their memory
    std::optional<double> delayed_complete;  // of the processes with delays; nothing where it is not known
    std::uint64_t delayed_stacks = 0;        // of which that is the share
    std::vector<StopReport> stops;           // most frequent first; at most 20
    double other_stops = 0;                  // share of the rest
    double frames_named = 0;                 // share of all frames, 0 to 1
    double frames_located = 0;               // with a source line
    trace::NamingQuality naming;
    double own_cost = 0;  // daemon and BPF programs, as share of all CPUs
};

// "no unwind table" for "no-table": what ended a walk, in words. What is not known stays as it is.
[[nodiscard]] std::string stop_reason_in_words(const std::string& reason);

[[nodiscard]] QualityReport report_quality(const Recording& recording);

}  // namespace lagtrap::analysis
