#include "daemon/tracing/trace_room.hpp"

#include <algorithm>
#include <string>

namespace lagtrap::daemon {

Status check_trace_room(const std::vector<std::optional<uid_t>>& running,
                        std::optional<uid_t> owner) {
    if (running.size() >= max_traces_at_once)
        return make_error(ErrorKind::Busy,
                          std::to_string(max_traces_at_once) +
                              " call traces are already running; wait for one to end");
    if (!owner) return success();
    if (std::find(running.begin(), running.end(), owner) != running.end())
        return make_error(ErrorKind::Busy, "you already have a trace running; wait for it to end");
    const auto of_owners = std::count_if(running.begin(), running.end(),
                                         [](const auto& one) { return one.has_value(); });
    if (static_cast<std::size_t>(of_owners) + 1 < max_traces_at_once) return success();
    return make_error(ErrorKind::Busy, "traces of other users are running; wait for one to end");
}

}  // namespace lagtrap::daemon
