// The part of a report about the calls of a delay's run, if <calls> recorded them.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Empty if they were not recorded.
[[nodiscard]] std::string calls_part(const analysis::Recording& recording,
                                     const trace::Delay& delay, const ReportLook& look);

// A list, callers first; null if they were not recorded.
[[nodiscard]] boost::json::value run_calls_json(const analysis::Recording& recording,
                                                const trace::Delay& delay);

}  // namespace lagtrap::cli
