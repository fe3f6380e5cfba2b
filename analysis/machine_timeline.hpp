// What the CPUs and threads of the whole machine did around a delay, at the resolution of a
// picture.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// Part of the recording and its resolution. Times are relative to the delay's begin and may be
// negative.
struct MachineWindow {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;     // must be after from_ns
    std::uint32_t columns = 0;  // at least 1; states shorter than one column are merged
};

enum class MachineState : std::uint8_t { OnCpu, Runnable, Throttled, Blocked, Several };

// Part of a thread's time. Time in no cell is unknown, or the thread did not exist.
struct MachineCell {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    MachineState state = MachineState::Several;
    std::uint32_t cpu = 0;          // OnCpu
    StackId stack = 0;              // Blocked: the stack; 0 if unknown
    std::uint64_t on_cpu_ns = 0;    // Several: time on a CPU
    std::uint64_t runnable_ns = 0;  // Several: time runnable, throttled or not
};

// Part of a CPU's time. Time in no cell is unknown.
struct CpuCell {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    std::uint32_t tid = 0;      // thread on the CPU, or the longest of several; 0 if idle
    bool several = false;       // several threads, or one thread and idle time
    std::uint64_t busy_ns = 0;  // by all threads
};

// The end of a wait.
struct MachineWake {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;        // woken thread
    std::uint32_t waker_tid = 0;  // 0 if not a thread, or unknown
    WakeCause cause = WakeCause::Unknown;
    NameId device = 0;
};

struct MachineThread {
    const Thread* thread = nullptr;
    bool of_delay = false;  // it hit one of the delay's markers
    std::uint64_t on_cpu_ns = 0, runnable_ns = 0, blocked_ns = 0;
    std::vector<MachineCell> cells{};  // in time order
    std::vector<Sample> samples{};     // in time order, at most one per column
};

struct MachineTimeline {
    std::uint64_t begin_ns = 0;  // of the delay; CLOCK_BOOTTIME, as all times here
    std::uint64_t from_ns = 0;   // requested window, limited to the recording
    std::uint64_t to_ns = 0;
    std::uint64_t finest_ns = 0;  // shorter states may be merged
    std::vector<std::vector<CpuCell>> cpus;
    // First those of the delay, then its process, then by time on or waiting for a CPU.
    std::vector<MachineThread> threads;
    std::vector<MachineWake> wakes;  // for waits that have a cell of their own
    std::vector<const Run*> runs;    // overlap the window, longest first
    std::uint64_t asleep = 0;        // threads that slept throughout and have no row
    std::uint64_t threads_left_out = 0, wakes_left_out = 0, samples_left_out = 0, runs_left_out = 0;
};

// Limits of the result. Beyond them, cells are merged more coarsely; everything else is left out
// and counted.
struct MachineLimits {
    std::size_t threads = 300;
    std::size_t cells = 100'000;
    std::size_t wakes = 20'000;
    std::size_t samples = 20'000;
    std::size_t runs = 300;
};

// The result points into the recording.
[[nodiscard]] MachineTimeline machine_timeline(const Recording& recording,
                                               const trace::Delay& delay, MachineWindow window,
                                               const MachineLimits& limits = {});

}  // namespace lagtrap::analysis
