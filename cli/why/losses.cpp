#include "cli/why/losses.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "analysis/delay_report.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/loss_words.hpp"

namespace lagtrap::cli {

std::string losses_part(const analysis::Recording& recording, std::size_t columns) {
    const auto quality = analysis::report_quality(recording);
    std::string losses;
    for (const auto& loss : quality.lost) losses += (losses.empty() ? "" : ", ") + loss_words(loss);
    const auto machine = analysis::report_machine(recording);
    const std::string idle = percent(std::max(0.0, 1 - machine.share(machine.busy_ns)));
    return "\n" +
           wrap_words(fmt::format("The machine's CPUs were {} idle; recording cost {} of them.{}",
                                  idle, percent(quality.own_cost),
                                  losses.empty() ? "" : " Lost: " + losses + "."),
                      columns, 0);
}

}  // namespace lagtrap::cli
