// Cost of the programs at the markers of one event, from times that they measured themselves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

using CostCounts = std::array<std::uint64_t, LAGTRAP_COST_BUCKETS>;

// Mean time of uninterrupted programs; if a program is preempted, its time includes that of other
// threads. nullopt if there are too few measurements.
[[nodiscard]] std::optional<std::uint64_t> program_cost_ns(const CostCounts& counts);

}  // namespace lagtrap::daemon
