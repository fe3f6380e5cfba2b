// Where functions of a running process begin in its source files, by the debug information that lies on this machine.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/call_tree.hpp"

namespace lagtrap::cli {

// Gives functions their `source` and `line`, where these are found: in files that are those which the process has mapped, read by
// lagtrap-reader where it is installed, for two seconds of CPU time at most. Of more than 4,096 functions the first ones.
// Who may not look at the process gets none.
void find_sources(std::vector<calls::Function>& functions, std::uint32_t pid);

}  // namespace lagtrap::cli
