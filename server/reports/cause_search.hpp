// Where in the tree of stacks the extra time of delayed runs lies. Used inside server/reports/ alone.
#pragma once

#include <cstdint>
#include <vector>

#include "server/reports/cause_tree.hpp"
#include "server/reports/cause_weights.hpp"

namespace lagtrap::server::reports {

// A place to blame: a frame under one caller.
struct Suspect {
    std::uint32_t node = 0;  // the one of its nodes with the most extra time
    double excess = 0;       // weighted
    // It was looked for inside a caller that grew only as everything did: it must have grown more than the whole run.
    bool by_share = false;
    std::uint32_t caller =
        0;  // the function's caller, where nearly all the caller's extra time is the function's; else 0
};

inline constexpr std::uint32_t no_suspect = UINT32_MAX;

struct SearchResult {
    std::vector<Suspect> suspects;
    std::vector<std::uint32_t> suspect_of_node;  // where time that ends at a node counts; no_suspect: nowhere
    std::size_t places = 0;                      // places that could have been suspected, whatever the labels of runs
    double total_excess = 0;                     // weighted
};

[[nodiscard]] SearchResult search_causes(const CauseTree& tree, const RunWeights& weights);

}  // namespace lagtrap::server::reports
