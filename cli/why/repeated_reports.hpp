// The reports of `lagtrap why --watch`, one after another.
#pragma once

#include <functional>
#include <string>

#include "cli/console/console.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct ReportRounds {
    std::function<Result<std::string>()> once;  // makes one report
    std::function<Status()> find_again;         // called before each but the first
};

// Returns the exit code when interrupted, or with an error when a round fails.
[[nodiscard]] int repeat_reports(const ReportRounds& rounds, Console& console);

}  // namespace lagtrap::cli
