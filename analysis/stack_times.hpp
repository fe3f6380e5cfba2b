// Time by stack and by function: where a thread was while it ran or waited.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Time in a function including what it called ("inclusive").
struct FunctionTime {
    std::string name;  // or "[FILE]" for all unnamed places of a file
    std::string module;
    // path of the source file where most of the time went; empty if unknown
    std::string source;
    std::uint32_t line = 0;  // in the source file, of its own code or the call in it; 0 if unknown
    bool kernel = false;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t waiting_ns = 0;      // for a CPU
    std::uint64_t self_on_cpu_ns = 0;  // in the function's own code
    std::string reason;                // longest reason of its blocked time; empty if there is none
    std::uint64_t reason_ns = 0;       // part of blocked_ns: for this reason
    double depth = 0;                  // mean number of frames above it

    [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + blocked_ns + waiting_ns; }
};

// Time at a stack. Stacks that differ only in places within functions are merged.
struct StackTime {
    std::vector<std::string> frames;  // labels, outermost first
    std::size_t kernel_from = 0;      // index of the first kernel frame
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

    // Blocked intervals count at their stack with their length. Time on a CPU, `split.on_cpu_ns`,
    // is distributed evenly over the threads' samples in the intervals. Waiting for a CPU counts at
    // the stack where the thread was last or next seen or where it yielded, whichever is closer in
    // running time, because it does not move while it waits.
    static StackTimes of(const Recording& recording, const std::vector<Interval>& intervals,
                         const TimeSplit& split);

    [[nodiscard]] std::uint64_t samples() const { return samples_; }
    [[nodiscard]] const std::unordered_map<StackId, Times>& by_stack() const { return times_; }
    // Longest first. Functions within the same two percent of the whole are ordered by depth,
    // deepest first, so that the function that does the work precedes its callers. Thread starts
    // and the kernel's system call entry, scheduler and tracing functions are left out.
    [[nodiscard]] std::vector<FunctionTime> functions(const Recording& recording) const;
    // Longest first.
    [[nodiscard]] std::vector<StackTime> stacks(const Recording& recording) const;

  private:
    void add_waiting(const Recording& recording, const std::vector<Interval>& intervals);
    std::unordered_map<StackId, Times> times_;
    std::uint64_t samples_ = 0;
};

}  // namespace lagtrap::analysis
