// What a suspect is called: frames, state, signature, and the parts of the title. Internal to
// server/reports/.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/reports/cause_search.hpp"
#include "server/reports/cause_title.hpp"
#include "server/reports/cause_tree.hpp"

namespace lagtrap::server::reports {

// By node: the node of the own thread's wait that contains it; 0 if none does.
[[nodiscard]] std::vector<std::uint32_t> first_waits(const CauseTree& tree);

// The largest node of the name with the most time; 0 if there is none.
[[nodiscard]] std::uint32_t largest_state(const CauseTree& tree,
                                          const std::map<std::uint32_t, double>& by_name,
                                          const std::map<std::uint32_t, double>& by_node);

// Sets the cause's frames, state, reason and signature. `wait` is the node of the own thread's
// wait; 0 if there is none.
[[nodiscard]] CauseParts describe(const CauseTree& tree, const Suspect& suspect, std::uint32_t wait,
                                  Cause& cause);

}  // namespace lagtrap::server::reports
