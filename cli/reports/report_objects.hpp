// The part of a report about the objects of a delay's process, if <object> followed them.
#pragma once

#include <string>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Empty if none were followed.
[[nodiscard]] std::string objects_part(const analysis::Recording& recording,
                                       const trace::Delay& delay, const ReportLook& look);

}  // namespace lagtrap::cli
