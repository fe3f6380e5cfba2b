// Whose allocator a process uses, and which of its functions are watched.
#pragma once

#include "daemon/objects/object_plan.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

inline constexpr std::size_t most_memory_functions = 32;

// Fills what the plan has of memory; where it is not counted, or not all of it, the plan says why.
void find_memory(ProcessFiles& code, bool wanted, ObjectPlan& plan);

}  // namespace lagtrap::daemon
