// What the CPUs and the threads of the whole machine did around a delay, as finely as a picture can show it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// Which part, and how finely. Times are after the delay's begin; before it they are negative.
struct MachineWindow {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;     // after from_ns
    std::uint32_t columns = 0;  // at least 1; states that are shorter than one of so many equal parts are joined
};

enum class MachineState : std::uint8_t { OnCpu, Runnable, Throttled, Blocked, Several };

// A stretch of a thread's time. What lies in no cell is not known, or the thread did not live.
struct MachineCell {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    MachineState state = MachineState::Several;
    std::uint32_t cpu = 0;          // OnCpu
    StackId stack = 0;              // Blocked: where; 0: not known
    std::uint64_t on_cpu_ns = 0;    // Several: how much of it
    std::uint64_t runnable_ns = 0;  // the same, throttled or not
};

// A stretch of a CPU's time. What lies in none is not known.
struct CpuCell {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    std::uint32_t tid = 0;      // who had it, of several the one that had it longest; 0: idle
    bool several = false;       // threads, or one and idle time
    std::uint64_t busy_ns = 0;  // of all threads
};

// The end of a wait.
struct MachineWake {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;        // who was woken
    std::uint32_t waker_tid = 0;  // 0: no thread did it, or it is not known
    WakeCause cause = WakeCause::Unknown;
    NameId device = 0;
};

struct MachineThread {
    const Thread* thread = nullptr;
    bool of_delay = false;  // it met one of the delay's markers
    std::uint64_t on_cpu_ns = 0, runnable_ns = 0, blocked_ns = 0;
    std::vector<MachineCell> cells{};  // by time
    std::vector<Sample> samples{};     // by time, at most one a column
};

struct MachineTimeline {
    std::uint64_t begin_ns = 0;  // of the delay; CLOCK_BOOTTIME, as all times here
    std::uint64_t from_ns = 0;   // what was asked for, as far as it was recorded
    std::uint64_t to_ns = 0;
    std::uint64_t finest_ns = 0;  // states that are shorter may be joined
    std::vector<std::vector<CpuCell>> cpus;
    std::vector<MachineThread> threads;  // those of the delay, of its process, then by time on and for a CPU
    std::vector<MachineWake> wakes;      // of waits that have a cell of their own
    std::vector<const Run*> runs;        // that touch the window, longest first
    std::uint64_t asleep = 0;            // threads that slept throughout and have no row
    std::uint64_t threads_left_out = 0, wakes_left_out = 0, samples_left_out = 0, runs_left_out = 0;
};

// Bounds of an answer; what is beyond is joined more coarsely (cells) or left out and counted.
struct MachineLimits {
    std::size_t threads = 300;
    std::size_t cells = 100'000;
    std::size_t wakes = 20'000;
    std::size_t samples = 20'000;
    std::size_t runs = 300;
};

// It points into the recording.
[[nodiscard]] MachineTimeline machine_timeline(const Recording& recording, const trace::Delay& delay,
                                               MachineWindow window, const MachineLimits& limits = {});

}  // namespace lagtrap::analysis
