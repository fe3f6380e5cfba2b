// Looks for the causes of an event's delays in the recordings that are kept, and notes them.
#pragma once

#include "server/reports/causes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Hands the newest profiles of delayed and of normal runs that the filter selects to the finder, at most `limit` of each.
[[nodiscard]] Status add_profiles(BundleStore& store, const Filter& filter, std::uint32_t limit,
                                  reports::CauseFinder& finder);

// In the 30 days up to the event's newest delay. Takes seconds where there are thousands of recordings.
[[nodiscard]] Result<std::vector<CauseNews>> note_causes_of(Store& store, const std::string& event,
                                                            std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
