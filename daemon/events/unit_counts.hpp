// Counts processes by systemd unit or container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace lagtrap::daemon {

inline constexpr std::size_t counted_units_limit = 20;

// Counts the processes by unit, "" if it is unknown. Beyond the limit, the units with the fewest
// processes are added up as "other".
[[nodiscard]] std::map<std::string, std::uint64_t> count_by_unit(
    const std::set<std::uint32_t>& pids, const std::map<std::uint32_t, std::string>& units);

}  // namespace lagtrap::daemon
