// `lagtrap report --json`: everything in a report, for programs.
#pragma once

#include <optional>

#include <boost/json/object.hpp>

#include "analysis/delay_report.hpp"

namespace lagtrap::cli {

// With `only` (from 1), contains only that delay. At most 1,000 delays are included;
// "delays_left_out" counts the rest. Shares are between 0 and 1 and refer to the recorded part of
// the delay.
[[nodiscard]] boost::json::object report_json(const analysis::Recording& recording,
                                              std::optional<std::size_t> only);

}  // namespace lagtrap::cli
