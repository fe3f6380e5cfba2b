// Looks for dirty runs of an event by the rule on durations, and marks them.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

// Over the newest 20,000 runs of the event. Runs that the rule hid before and that do not differ any more, now that more
// is known, are put back; what a person decided stays. Gives how many runs changed.
[[nodiscard]] Result<std::uint64_t> mark_dirty_runs(RunStore& store, const std::string& event,
                                                    std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
