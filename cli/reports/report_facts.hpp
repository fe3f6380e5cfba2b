// The first lines of a report: which run was slow, how long it took, and whose it was.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/delay_report.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// The delay with this number (from 1) of `count`; on two lines if the event's name is too long for
// one.
[[nodiscard]] std::string delay_headline(const trace::Delay& delay, std::size_t number,
                                         std::size_t count, const ReportLook& look);

// Process, program, unit, user, time and request of the delay, one line each; without what is
// unknown.
[[nodiscard]] std::string facts_part(const analysis::Recording& recording,
                                     const analysis::DelayReport& report, const ReportLook& look);

}  // namespace lagtrap::cli
