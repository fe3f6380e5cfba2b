// Finds a process's allocator and its functions to watch.
#pragma once

#include "daemon/objects/object_plan.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

inline constexpr std::size_t max_memory_functions = 32;

// Fills the plan's memory fields. If memory is not counted, or only in part, the plan has the
// reason.
void find_memory(ProcessFiles& code, bool wanted, ObjectPlan& plan);

}  // namespace lagtrap::daemon
