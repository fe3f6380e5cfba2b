// Tests whether delayed runs have more of a quantity than normal ones, host by host, so that
// differences between hosts do not count. Internal to server/reports/.
#pragma once

#include <cstddef>
#include <vector>

#include "server/reports/cause_weights.hpp"

namespace lagtrap::server::reports {

// One-sided p-value by ranks of `values`, the quantity by run. Compares runs within hosts that have
// both kinds, and the means of the other hosts. If fewer than `min_runs` of these have only normal
// runs, the normal means of all hosts count instead.
[[nodiscard]] double rank_p_value(const RunWeights& weights, const std::vector<double>& values,
                                  std::size_t min_runs);

// The same question by the number of runs whose excess is at least `much`; a host with one kind of
// runs counts if more than half of them have that.
[[nodiscard]] double count_p_value(const RunWeights& weights, const Excess& excess, double much,
                                   std::size_t min_runs);

}  // namespace lagtrap::server::reports
