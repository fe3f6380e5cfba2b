// What a report lists of the runs that a cause affects. Runs are indices into the tree's runs, and
// `excess` is of the time in the cause. Internal to server/reports/.
#pragma once

#include <cstdint>
#include <vector>

#include "server/reports/cause_candidate.hpp"
#include "server/reports/cause_tree.hpp"
#include "server/reports/cause_weights.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::server::reports {

// The builds of all runs, oldest first, the newest 100, each with those of `affected`.
[[nodiscard]] std::vector<CauseBuild> builds_with_cause(const CauseTree& tree, const Excess& excess,
                                                        const std::vector<std::uint32_t>& affected);

// The newest 1,000 of `runs`, newest first. They must have a bundle.
[[nodiscard]] std::vector<CauseDelay> newest_delays(const CauseTree& tree, const Excess& excess,
                                                    const Candidate& candidate,
                                                    std::vector<std::uint32_t> runs);

}  // namespace lagtrap::server::reports
