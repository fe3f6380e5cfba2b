// The events in `lagtrap status`: the table of their runs, what went wrong with them, and how often each marker was hit.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/console.hpp"
#include "cli/status_text.hpp"

namespace lagtrap::cli {

// The histogram of an event in the daemon's answer.
[[nodiscard]] std::vector<HistogramBucket> histogram_of(const boost::json::object& event);

[[nodiscard]] std::string event_lines(const boost::json::object& answer, const Paint& paint);

}  // namespace lagtrap::cli
