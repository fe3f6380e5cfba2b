// Finds where in the tree of call stacks the extra time of delayed runs lies. Internal to
// server/reports/.
#pragma once

#include <cstdint>
#include <vector>

#include "server/reports/cause_tree.hpp"
#include "server/reports/cause_weights.hpp"

namespace lagtrap::server::reports {

// A place to blame: a frame below one caller.
struct Suspect {
    std::uint32_t node = 0;  // its node with the most extra time
    double excess = 0;       // weighted
    // Found inside a caller that grew only as much as everything else; it must have grown more than
    // the whole run.
    bool by_share = false;
    std::uint32_t caller = 0;  // the function's caller, if nearly all of the caller's extra time is
                               // the function's; otherwise 0
};

inline constexpr std::uint32_t no_suspect = UINT32_MAX;

struct SearchResult {
    std::vector<Suspect> suspects;
    // the suspect that time ending at a node counts for; or no_suspect
    std::vector<std::uint32_t> suspect_of_node;
    // places that could have been suspected, whatever the runs' labels
    std::size_t places = 0;
    double total_excess = 0;  // weighted
};

[[nodiscard]] SearchResult search_causes(const CauseTree& tree, const RunWeights& weights);

}  // namespace lagtrap::server::reports
