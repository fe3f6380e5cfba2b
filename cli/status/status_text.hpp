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

// The duration below which a share (0 to 1) of all runs lie, placed within its bucket as if the runs were spread
// evenly in it; 0 without runs.
[[nodiscard]] std::uint64_t percentile_ns(const std::vector<HistogramBucket>& histogram, double share);

// The answer to {"command":"status"}; a field that is missing or of another type counts as 0 or empty.
[[nodiscard]] std::string status_text(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
