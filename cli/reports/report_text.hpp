// `lagtrap report` for people: one screen.
#pragma once

#include <optional>
#include <string>

#include "analysis/delay_report.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct ReportLook {
    Paint paint;
    std::size_t columns = 80;
    bool all = false;  // omit nothing and cut nothing off
};

// Number (from 1) of the delay that was recorded most completely; 1 if there is none.
[[nodiscard]] std::size_t default_delay(const analysis::Recording& recording);

// One delay in full (`number` from 1; nullopt: the one recorded most completely), one line for each
// of the others, then the machine and the quality of the recording. `number` must be a delay of the
// system file.
[[nodiscard]] std::string report_text(const analysis::Recording& recording,
                                      std::optional<std::size_t> number, const ReportLook& look);

// The beginning of that report: the delay in a line, the facts, the cause and where the time went.
[[nodiscard]] std::string report_beginning(const analysis::Recording& recording,
                                           const ReportLook& look);

}  // namespace lagtrap::cli
