// The part of a report about the functions of a delay's process, if <functions> traced them.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Empty if they were not traced.
[[nodiscard]] std::string traced_part(const analysis::Recording& recording,
                                      const trace::Delay& delay, const ReportLook& look);

// null if they were not traced.
[[nodiscard]] boost::json::value traced_functions_json(const analysis::Recording& recording,
                                                       const trace::Delay& delay);

}  // namespace lagtrap::cli
