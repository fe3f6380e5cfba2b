// Finds how functions of a process report errors besides their results.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

// Where exceptions are thrown and caught.
struct ExceptionPlaces {
    std::vector<CodePlace> throws, catches;
};
[[nodiscard]] ExceptionPlaces find_exceptions(ProcessFiles& code);

// Address in the process of the offset of errno from the thread pointer; 0 if unknown.
[[nodiscard]] std::uint64_t find_errno_slot(ProcessFiles& code);

}  // namespace lagtrap::daemon
