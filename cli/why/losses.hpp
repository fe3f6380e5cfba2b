// What a recording cost and lacks, in a sentence or two.
#pragma once

#include <string>

#include "analysis/recording.hpp"

namespace lagtrap::cli {

// After an empty line.
[[nodiscard]] std::string losses_part(const analysis::Recording& recording, std::size_t columns);

}  // namespace lagtrap::cli
