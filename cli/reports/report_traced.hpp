// The functions of a delay's process in a report, where <functions> had them traced.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Empty: they were not traced.
[[nodiscard]] std::string traced_part(const analysis::Recording& recording, const trace::Delay& delay,
                                      const ReportLook& look);

// null: they were not traced.
[[nodiscard]] boost::json::value traced_functions_json(const analysis::Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::cli
