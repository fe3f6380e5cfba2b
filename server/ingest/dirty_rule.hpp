// Looks for runs of an event whose durations differ plainly from the others', and marks them: they stay shown.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

// Over the newest 20,000 runs of the event. Marks of runs that do not differ any more, now that more is known, are
// taken back; what a person decided stays. Gives how many runs changed.
[[nodiscard]] Result<std::uint64_t> mark_dirty_runs(RunStore& store, const std::string& event,
                                                    std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
