// `lagtrap report --json`: all that a report knows, for programs.
#pragma once

#include <optional>

#include <boost/json/object.hpp>

#include "analysis/delay_report.hpp"

namespace lagtrap::cli {

// With `only` (from 1) the delays hold that one alone. At most 1,000 delays get in; "delays_left_out" counts the
// rest. Shares lie between 0 and 1 and are of the recorded part of the delay.
[[nodiscard]] boost::json::object report_json(const analysis::Recording& recording, std::optional<std::size_t> only);

}  // namespace lagtrap::cli
