// SQL for people who may see only part of the data.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/store/connection.hpp"
#include "server/store/filter_sql.hpp"

namespace lagtrap::server {

// The filter for events that are visible only in part: limited to the visible units.
[[nodiscard]] NumberedFilter of_units(const NumberedFilter& filter);
// Limits `where` to these events in `table`.
void limit_to_events(Where& where, const std::string& table,
                     const std::vector<std::uint64_t>& events);

// Events of which some units are visible, but not the whole event.
[[nodiscard]] Result<std::vector<std::uint64_t>> events_seen_in_part(Connection& connection,
                                                                     const NumberedSight& sight);
// The hosts of these events in the filter's time, from visible runs and delays.
[[nodiscard]] Result<std::map<std::uint32_t, std::set<std::uint32_t>>> hosts_seen_in_part(
    Connection& connection, const NumberedFilter& filter);
// All hosts with something visible.
[[nodiscard]] Result<std::vector<std::uint64_t>> hosts_in_sight(Connection& connection,
                                                                const NumberedFilter& filter);

}  // namespace lagtrap::server
