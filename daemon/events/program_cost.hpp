// What the programs at the markers of one event take, from times that they measured themselves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bpf/listener.h"

namespace lagtrap::daemon {

using CostCounts = std::array<std::uint64_t, LAGTRAP_COST_BUCKETS>;

// The mean time of those that were not interrupted: a program that was preempted took as long as others ran. Nothing
// where too few were measured.
[[nodiscard]] std::optional<std::uint64_t> program_cost_ns(const CostCounts& counts);

}  // namespace lagtrap::daemon
