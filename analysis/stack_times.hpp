// Time by stack and by function: where a thread was while it ran or stood still.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Time in a function or in what it called ("inclusive").
struct FunctionTime {
    std::string name;  // or "[FILE]" for all unnamed places of a file
    std::string module;
    std::string source;      // path of the source file where most of the time went; empty: not known
    std::uint32_t line = 0;  // in it, of the function's own code or of the call in it; 0: not known
    bool kernel = false;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t waiting_ns = 0;      // for a CPU
    std::uint64_t self_on_cpu_ns = 0;  // in the function's own code
    std::string reason;                // the longest reason of its blocked time; empty if there is none
    double depth = 0;                  // mean number of frames that called it

    [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
};

// Time at a stack; stacks that differ in nothing but places within functions are one.
struct StackTime {
    std::vector<std::string> frames;  // labels, outermost first
    std::size_t kernel_from = 0;      // frames from here on are the kernel's
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t waiting_ns = 0;  // for a CPU
    std::string reason;            // of blocked time

    [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
};

class StackTimes {
  public:
    struct Times {
        std::uint64_t on_cpu_ns = 0;
        std::uint64_t blocked_ns = 0;
        std::uint64_t waiting_ns = 0;  // for a CPU
        [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
    };

    // Blocked intervals count at their stack with their length. Time on a CPU, `split.on_cpu_ns`, is shared out
    // evenly over the samples that the threads have in the intervals. Waiting for a CPU counts at the stack where
    // the thread was seen last or next, or where it yielded, whichever is fewer steps of running away: while it waits it does not move.
    static StackTimes of(const Recording& recording, const std::vector<Interval>& intervals, const TimeSplit& split);

    [[nodiscard]] std::uint64_t samples() const { return samples_; }
    [[nodiscard]] const std::unordered_map<StackId, Times>& by_stack() const { return times_; }
    // Longest first; functions that share the same two percent of the whole go by depth, the deepest first, so
    // that the function which does the thing stands before its callers. Thread starts are left out, and so are
    // the kernel's system call entry, scheduler and tracing functions.
    [[nodiscard]] std::vector<FunctionTime> functions(const Recording& recording) const;
    // Longest first.
    [[nodiscard]] std::vector<StackTime> stacks(const Recording& recording) const;

  private:
    void add_waiting(const Recording& recording, const std::vector<Interval>& intervals);
    std::unordered_map<StackId, Times> times_;
    std::uint64_t samples_ = 0;
};

}  // namespace lagtrap::analysis
