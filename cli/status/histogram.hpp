// How long the runs of an event took, as counts in the daemon's answer.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/json/object.hpp>

namespace lagtrap::cli {

struct HistogramBucket {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    std::uint64_t count = 0;
};

// An event's histogram from the daemon's answer. A missing field, or one of another type, counts
// as 0 or empty.
[[nodiscard]] std::vector<HistogramBucket> histogram_of(const boost::json::object& event);

// The duration that a share (0 to 1) of all runs do not exceed, assuming that runs are spread
// evenly within each bucket; 0 without runs.
[[nodiscard]] std::uint64_t percentile_ns(const std::vector<HistogramBucket>& histogram,
                                          double share);

}  // namespace lagtrap::cli
