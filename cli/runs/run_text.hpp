// Output of `lagtrap runs`.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "cli/runs/run_summary.hpp"

namespace lagtrap::cli {

struct RunLook {
    Paint paint;
    std::size_t columns = 80;
};

// Percentiles of the whole run and of each stage (only the wished one, if any), then single runs.
[[nodiscard]] std::string runs_text(const SpoolRuns& found, const RunWish& wish,
                                    const RunLook& look);
[[nodiscard]] boost::json::object runs_json(const SpoolRuns& found, const RunWish& wish);

// For an event without single runs: percentiles of the histogram in the daemon's status.
[[nodiscard]] std::string histogram_text(const boost::json::object& event, const RunLook& look);
[[nodiscard]] boost::json::object histogram_json(const boost::json::object& event);

}  // namespace lagtrap::cli
