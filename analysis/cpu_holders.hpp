// Finds who had the CPU while a thread waited for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/request_context.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// A process, with those of its threads that ran. In the waiting thread's own process, threads that
// had the CPU for a fifth of the time or more are listed separately.
struct CpuHolder {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // the only thread, or the one that ran most
    std::string process;
    std::string thread;  // of `tid`
    std::string unit;    // or container, of the process; empty if unknown
    std::uint32_t threads = 0;
    std::uint64_t time_ns = 0;
    // where `tid` was for most of the time; empty if unknown or not looked for
    std::string function;
    std::string caller;                    // caller of `function`; empty if unknown
    std::uint16_t priority = no_priority;  // of `tid`; real-time if below 100
    // another one, that `tid` was in for most of that time; nullopt if none or not looked for
    std::optional<RequestPart> request;

    // 1 to 99 as programs set it, 99 being the most urgent; 0 if not a real-time thread or unknown.
    [[nodiscard]] std::uint32_t real_time_priority() const {
        return priority < 100 ? 99U - priority : 0;
    }
};

struct CpuWaits {
    std::uint64_t time_ns = 0;  // all waits
    // the CPU was idle: something else kept the thread from running
    std::uint64_t idle_ns = 0;
    std::uint64_t slow_wakeups_ns = 0;  // part of `idle_ns`: the thread had just been woken
    // in waits that began while the thread ran: another one took the CPU
    std::uint64_t preempted_ns = 0;
    // in waits that ended on a CPU other than the one examined: uncertain
    std::uint64_t elsewhere_ns = 0;
    std::uint64_t unknown_ns = 0;     // what the CPU did is unknown
    std::vector<std::uint16_t> cpus;  // CPUs waited for, ascending
    std::vector<CpuHolder> holders;   // longest first; at most 10
    // of the waiting thread, when it last came to a CPU; the kernel's, or idle_priority
    std::uint16_t priority = no_priority;
};

// Examines the Runnable `intervals`. A preempted thread is taken to wait for the CPU it was on, a
// woken one for the CPU it runs on next.
[[nodiscard]] CpuWaits cpu_waits_of(const Recording& recording,
                                    const std::vector<Interval>& intervals);

}  // namespace lagtrap::analysis
