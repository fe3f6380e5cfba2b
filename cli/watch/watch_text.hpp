// The progress line and the summary of `lagtrap watch`, and the threshold that it proposes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/status/histogram.hpp"

namespace lagtrap::cli {

// Sums over all events in the daemon's status.
struct Watched {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t open = 0;
    std::uint64_t p50_ns = 0, p99_ns = 0, max_ns = 0;
    std::vector<HistogramBucket> histogram;  // in order
    std::uint64_t used_ppm = 0;              // what watching costs, in millionths of a CPU
    std::string problem;                     // why no event is armed; empty if one is
};

[[nodiscard]] Watched watched_in(const boost::json::object& status);

// "1,234 runs, 20 per second; half within 1.00 ms, 99 % within 5.00 ms, longest 7.00 ms".
[[nodiscard]] std::string runs_text(const Watched& watched, std::chrono::nanoseconds time);

// The line on a terminal: runs_text() in short, and what watching costs.
[[nodiscard]] std::string progress_text(const Watched& watched, std::chrono::nanoseconds time);

// How the runs' durations are distributed, in at most ten lines with a bar each; empty without
// runs.
[[nodiscard]] std::string distribution_text(const Watched& watched);

// A threshold from the runs seen so far, which none of them exceeds; nullopt without runs.
[[nodiscard]] std::optional<std::string> threshold_from(const Watched& watched);

// A sentence about the runs during `time`; `shown` is the number of delays already reported.
[[nodiscard]] std::string summary_text(const Watched& watched, std::chrono::nanoseconds time,
                                       std::uint64_t shown);

}  // namespace lagtrap::cli
