// Finds where functions of a running process begin in its source files, from debug information on
// this machine.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/call_tree.hpp"

namespace lagtrap::cli {

// Sets `source` and `line` of functions where found. Only uses files that the process has mapped,
// read by lagtrap-reader if it is installed, for at most two seconds of CPU time. Handles at most
// the first 4,096 functions. Sets nothing if the caller may not inspect the process.
void find_sources(std::vector<calls::Function>& functions, std::uint32_t pid);

}  // namespace lagtrap::cli
