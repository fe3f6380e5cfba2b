// Finds the reachable branches of a function. Internal to binaries/.
#pragma once

#include <vector>

#include "binaries/code/program_code.hpp"

namespace lagtrap::binaries {

// For each branch of each part: whether it can be reached from the first instruction. Functions
// written in assembly may be followed by data, which also decodes as instructions. If there are
// landing pads or jumps with unknown targets, everything counts as reachable.
[[nodiscard]] std::vector<std::vector<bool>> reached_branches(const ProgramCode& code,
                                                              const std::vector<CodePart>& parts);

}  // namespace lagtrap::binaries
