// The part of a report about the recording itself: what was lost, and how complete stacks and names
// are.
#pragma once

#include <string>

#include "analysis/recording.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

[[nodiscard]] std::string quality_part(const analysis::Recording& recording, const Paint& paint);

}  // namespace lagtrap::cli
