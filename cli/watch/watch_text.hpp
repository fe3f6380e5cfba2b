// The progress line and the summary of `lagtrap watch`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

// Sums over all events in the daemon's status.
struct Watched {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t open = 0;
    std::uint64_t p50_ns = 0, p99_ns = 0, max_ns = 0;
    std::string problem;  // why no event is armed; empty if one is
};

[[nodiscard]] Watched watched_in(const boost::json::object& status);

// "1,234 runs, 20 per second; half within 1.00 ms, 99 % within 5.00 ms, longest 7.00 ms".
[[nodiscard]] std::string runs_text(const Watched& watched, std::chrono::nanoseconds time);

// A sentence about the runs during `time`; `shown` is the number of delays already reported.
[[nodiscard]] std::string summary_text(const Watched& watched, std::chrono::nanoseconds time,
                                       std::uint64_t shown);

}  // namespace lagtrap::cli
