// Which branches of a function can be reached. Used by the other files of this folder.
#pragma once

#include <vector>

#include "binaries/code/program_code.hpp"

namespace lagtrap::binaries {

// Of each part, of each of its branches: whether it can be reached from the first instruction. Behind the code of functions
// that are written in assembly there may be data, which decodes as something. Where exceptions or jumps lead that cannot
// be read, everything can be reached.
[[nodiscard]] std::vector<std::vector<bool>> reached_branches(const ProgramCode& code,
                                                              const std::vector<CodePart>& parts);

}  // namespace lagtrap::binaries
