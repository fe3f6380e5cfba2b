// Marks runs of an event whose durations clearly differ from the others. Marked runs stay visible.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "server/store/evidence.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

// Judges the newest 20,000 runs of the event. Removes marks of runs that no longer differ; never
// changes what a person decided. Returns how many runs changed.
[[nodiscard]] Result<std::uint64_t> mark_dirty_runs(const Evidence& evidence,
                                                    const std::string& event,
                                                    std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
