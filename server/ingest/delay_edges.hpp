// The requests that held a delay up, as the store keeps them.
#pragma once

#include <vector>

#include "analysis/delay_cause.hpp"
#include "server/store/delay_store.hpp"

namespace lagtrap::server {

// Per delay.
inline constexpr std::size_t edges_limit = 20;

// Longest first. Texts are shortened.
[[nodiscard]] std::vector<DelayEdge> delay_edges(const analysis::DelayCauses& causes);

}  // namespace lagtrap::server
