// Decides whether one more trace of calls, functions or objects may run.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

// More traces would take memory and time from the daemon's main task.
inline constexpr std::size_t max_traces_at_once = 3;

// `running` has an entry for each trace that clients run: its owner if that user may trace only
// their own processes, otherwise nullopt. Those users have one trace each, and together leave room
// for one of other clients. ErrorKind::Busy if there is no room for a trace of `owner`.
[[nodiscard]] Status check_trace_room(const std::vector<std::optional<uid_t>>& running,
                                      std::optional<uid_t> owner);

}  // namespace lagtrap::daemon
