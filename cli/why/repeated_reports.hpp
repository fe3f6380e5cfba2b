// The reports of `lagtrap why --watch`, one after another.
#pragma once

#include <functional>
#include <string>

#include "cli/console/console.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// Makes one report. `first`: the processes were found just now.
using MakeReport = std::function<Result<std::string>(bool first)>;

// Returns the exit code when interrupted, or with an error when a round fails.
[[nodiscard]] int repeat_reports(const MakeReport& make, Console& console);

}  // namespace lagtrap::cli
