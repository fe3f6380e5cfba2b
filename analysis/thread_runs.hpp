// What the threads of a process did over a recording: each thread's time there as if it were a run that is a delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"
#include "analysis/stack_times.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct ThreadRun {
    trace::Delay delay;  // the part of the recording in which the thread was there; open if it was there at its end
    TimeSplit split;
    DelayCauses causes;
    std::vector<StackTime> stacks;   // longest first; at most 3
    bool waits_for_work = false;     // nearly all the time for events, a signal or a time: by design, as it seems
    std::vector<ThreadName> others;  // threads of the process for which the same is to be said, by number
};

struct ProcessRuns {
    std::vector<ThreadRun> runs;  // those that tell most first; those that wait for work stand last
    std::size_t threads = 0;      // all of the process, with `others` and those left out
    std::size_t left_out = 0;     // beyond the limit
};

inline constexpr std::size_t thread_runs_limit = 1000;

// The thread's time in the recording; a duration of 0: nothing is known of it.
[[nodiscard]] trace::Delay run_of_thread(const Recording& recording, const Thread& thread);

// Threads with the same cause are one run with `others`. Empty: the recording knows no such process.
[[nodiscard]] ProcessRuns runs_of_process(const Recording& recording, std::uint32_t pid);

}  // namespace lagtrap::analysis
