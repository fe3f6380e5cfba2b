// Searches for the causes of an event's delays in the stored recordings, and records them.
#pragma once

#include "server/reports/causes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Passes the newest profiles that the filter selects to the finder, at most `limit` delayed and
// `limit` normal runs.
[[nodiscard]] Status add_profiles(const DelayStore& store, const Filter& filter,
                                  std::uint32_t limit, reports::CauseFinder& finder);

// Covers the 30 days up to the event's newest delay. Takes seconds for thousands of recordings.
[[nodiscard]] Result<std::vector<CauseNews>> note_causes_of(const Store& store,
                                                            const std::string& event,
                                                            std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
