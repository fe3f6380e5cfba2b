// The objects of a delay's process in a report, where <object> had them followed.
#pragma once

#include <string>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Empty: none were followed.
[[nodiscard]] std::string objects_part(const analysis::Recording& recording, const trace::Delay& delay,
                                       const ReportLook& look);

}  // namespace lagtrap::cli
