#pragma once

#include <string>

#include "analysis/delay_report.hpp"
#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {

// "7 of 12,304 context switches".
[[nodiscard]] inline std::string loss_words(const analysis::LossCount& loss) {
    return with_commas(loss.count) + (loss.of > 0 ? " of " + with_commas(loss.of) : "") + " " +
           loss.what;
}

}  // namespace lagtrap::cli
