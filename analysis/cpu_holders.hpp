// Who had the CPU while a thread waited for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// A process, by the threads of it that ran; of the process that waited itself, a thread that had the CPU for long.
struct CpuHolder {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // the only thread, or that which ran most
    std::string process;
    std::string thread;  // of `tid`
    std::string unit;    // or container, of the process; empty: not known
    std::uint32_t threads = 0;
    std::uint64_t time_ns = 0;
    std::string function;                  // in which `tid` was for most of it; empty: not looked for, or not known
    std::string caller;                    // the function that called that one; empty: not known
    std::uint16_t priority = no_priority;  // of `tid`; below 100 it is a real-time one

    // 1 to 99 as programs set it (99 the most urgent); 0: not a real-time thread, or not known.
    [[nodiscard]] std::uint32_t real_time_priority() const { return priority < 100 ? 99U - priority : 0; }
};

struct CpuWaits {
    std::uint64_t time_ns = 0;        // all waits
    std::uint64_t idle_ns = 0;        // of it the CPU had nothing to do: something else kept the thread from it
    std::uint64_t elsewhere_ns = 0;   // of waits that ended on another CPU than that looked at: not certain
    std::uint64_t unknown_ns = 0;     // nothing is known of the CPU
    std::vector<std::uint16_t> cpus;  // that were waited for, ascending
    std::vector<CpuHolder> holders;   // longest first; at most 10
};

// Looks at the Runnable ones of `intervals`. A thread that was preempted waits for the CPU on which it was, one that was
// woken for that on which it runs next.
[[nodiscard]] CpuWaits cpu_waits_of(const Recording& recording, const std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
