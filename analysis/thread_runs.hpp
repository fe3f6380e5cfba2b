// What the threads of processes did during a recording. Treats each thread's time in it as a
// delayed run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/delay_cause.hpp"
#include "analysis/idle_waits.hpp"
#include "analysis/recording.hpp"
#include "analysis/stack_times.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct ThreadRun {
    // the thread's lifetime within the recording; open if it outlived the recording
    trace::Delay delay;
    TimeSplit split;
    DelayCauses causes;
    std::vector<StackTime> stacks;  // longest first; at most 3
    // nearly always blocked for events, a signal or a timer: probably by design
    bool waits_for_work = false;
    bool of_runtime = false;         // a service of Java, such as a garbage collector
    InWork in_work = InWork::No;     // if it waits like that, but probably in the middle of work
    std::vector<ThreadName> others;  // threads of the process with the same causes
};

struct ProcessRuns {
    std::vector<ThreadRun> runs;  // most informative first; those that wait for work last
    std::size_t threads = 0;      // of the processes, including `others` and `left_out`
    std::size_t left_out = 0;     // beyond thread_runs_limit
};

inline constexpr std::size_t thread_runs_limit = 1000;

// The thread's time in the recording. Its duration is 0 if nothing is known about the thread.
[[nodiscard]] trace::Delay run_of_thread(const Recording& recording, const Thread& thread);

// The threads of all `pids`. Those with the same causes become one run with `others`. Empty if none
// of the processes is in the recording.
[[nodiscard]] ProcessRuns runs_of_processes(const Recording& recording,
                                            const std::set<std::uint32_t>& pids);

}  // namespace lagtrap::analysis
