// The part of a report about functions: the program's calls as a tree, with what they were doing.
// For report_text only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/delay_report.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

// Lines of a tree; shares refer to `whole_ns`. At most `limit` calls, those with the most time, in
// tree order.
[[nodiscard]] std::string call_rows(const std::vector<analysis::CallLine>& calls,
                                    std::uint64_t whole_ns, std::size_t limit, std::size_t indent,
                                    const ReportLook& look);

// The section for a delay.
[[nodiscard]] std::string functions_part(const analysis::DelayReport& report,
                                         const ReportLook& look);

// Complete stacks, innermost last.
[[nodiscard]] std::string stacks_part(const analysis::DelayReport& report, const ReportLook& look);

// Title of a section, with a note on the right.
[[nodiscard]] std::string section_title(const Paint& paint, const std::string& text,
                                        const std::string& note = {});

}  // namespace lagtrap::cli
