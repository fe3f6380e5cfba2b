// One or two sentences about a recording's cost and losses.
#pragma once

#include <string>

#include "analysis/recording.hpp"

namespace lagtrap::cli {

// Begins with an empty line.
[[nodiscard]] std::string losses_part(const analysis::Recording& recording, std::size_t columns);

}  // namespace lagtrap::cli
