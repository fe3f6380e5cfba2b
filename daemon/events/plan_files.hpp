// Whether the files of a plan are still what was read, so that markers may be attached to them.
#pragma once

#include <set>
#include <string>

#include "core/result.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/probes/write_guard.hpp"

namespace lagtrap::daemon {

// What is wrong with an event while somebody writes to this file.
[[nodiscard]] std::string being_written(const std::string& path);
// Paths of the files that get markers.
[[nodiscard]] std::set<std::string> files_of(const EventPlan& plan);
// ErrorKind::Busy: somebody writes to one of them.
[[nodiscard]] Status check_not_written(const WriteGuard& guard, const std::set<std::string>& paths);
// ErrorKind::Busy: a file has changed since it was opened. Waits for a slow file, up to a limit.
[[nodiscard]] Status check_unchanged(const WriteGuard& guard, const EventPlan& plan);

}  // namespace lagtrap::daemon
