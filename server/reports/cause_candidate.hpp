// A possible cause while the search weighs it. Internal to server/reports/.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/reports/cause_search.hpp"
#include "server/reports/cause_title.hpp"
#include "server/reports/cause_tree.hpp"
#include "server/reports/cause_weights.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::server::reports {

// A possible cause. Several suspects can be one: a function called from several places.
struct Candidate {
    Cause cause;
    std::vector<std::uint32_t> suspects;
    std::vector<double> values;  // by run
    // by run: the thread waited for in its longest entry, into texts()
    std::vector<std::uint32_t> awaited;
    std::vector<std::uint64_t> awaited_ns;  // of that entry
    bool by_share = false;
    std::vector<double> below;  // by run, including everything below it and other suspects
    // by run: growth of the rest of the run; empty if there is almost no rest
    std::vector<double> rest_growth;
    // a wait or a function's own time, not everything a function calls
    bool one_place = false;
    double p_value = 1, q_value = 1;
    CauseParts parts;   // for the title
    double excess = 0;  // of its suspects
    // the part under each caller, by its name; 0: several callers or none
    std::map<std::uint32_t, double> callers;
    double rank = 0;

    void add(std::size_t run, const TreeEntry& entry) {
        values[run] += static_cast<double>(entry.time_ns);
        if (entry.awaited == 0 || entry.time_ns <= awaited_ns[run]) return;
        awaited[run] = entry.awaited;
        awaited_ns[run] = entry.time_ns;
    }
};

// Joins suspects of the same signature, in the order of their first one, with title and times of
// each run. Leaves open what the tests find.
[[nodiscard]] std::vector<Candidate> gather_candidates(const CauseTree& tree,
                                                       const RunWeights& weights,
                                                       const SearchResult& search);

}  // namespace lagtrap::server::reports
