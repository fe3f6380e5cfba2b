// The functions of a report: the program's calls as a tree, with what they were doing. Used by report_text alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/delay_report.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Lines of a tree, shares being of `whole_ns`. At most `limit` calls, those with the most time, in the tree's order.
[[nodiscard]] std::string call_rows(const std::vector<analysis::CallLine>& calls, std::uint64_t whole_ns,
                                    std::size_t limit, std::size_t indent, const ReportLook& look);

// The section of a delay.
[[nodiscard]] std::string functions_part(const analysis::DelayReport& report, const ReportLook& look);

// Whole stacks, innermost last.
[[nodiscard]] std::string stacks_part(const analysis::DelayReport& report, const ReportLook& look);

// A section's title and a note at its right.
[[nodiscard]] std::string section_title(const Paint& paint, const std::string& text, const std::string& note = {});

}  // namespace lagtrap::cli
