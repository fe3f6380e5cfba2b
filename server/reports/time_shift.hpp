// Where slow runs spend more time than usual ones: the slowest hundredth against the middle fifth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server::reports {

struct TimedDuration {
    std::uint64_t duration_ns = 0;
    std::uint32_t weight = 1;  // how many runs it stands for
    trace::RunTimes times;
};

// Runs with similar durations. The mean is over all runs they stand for.
struct DurationGroup {
    std::uint64_t runs = 0;
    std::uint64_t shortest_ns = 0, longest_ns = 0;
    std::uint64_t mean_ns = 0;
};

struct PartShift {
    // "on CPU", "runnable", "blocked", "handed over", "unknown"
    std::string state;
    // for "blocked" as in reports; for "runnable" "CPU quota" or empty
    std::string reason;
    std::uint64_t middle_ns = 0, slow_ns = 0;  // means
};

struct TimeShift {
    DurationGroup middle;          // from the 40th to the 60th percentile
    DurationGroup slow;            // from the 99th percentile on
    std::vector<PartShift> parts;  // those that either group has; the largest difference first
};

// Visits the parts of a run that are not zero, named as in PartShift.
void each_part(const TimedDuration& run,
               const std::function<void(const std::string& state, const std::string& reason,
                                        std::uint64_t time_ns)>& take);

inline constexpr std::uint64_t shift_runs_needed = 20;

// nullopt if there are fewer runs (by `weight`) than shift_runs_needed.
[[nodiscard]] std::optional<TimeShift> time_shift(std::vector<TimedDuration> runs);

}  // namespace lagtrap::server::reports
