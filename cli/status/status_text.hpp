// `lagtrap status` for people: the daemon's answer as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct HistogramBucket {
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = 0;
    std::uint64_t count = 0;
};

// The duration that a share (0 to 1) of all runs do not exceed, assuming that runs are spread
// evenly within each bucket; 0 without runs.
[[nodiscard]] std::uint64_t percentile_ns(const std::vector<HistogramBucket>& histogram,
                                          double share);

// Formats the answer to {"command":"status"}; a missing field, or one of another type, counts as 0
// or empty.
[[nodiscard]] std::string status_text(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
