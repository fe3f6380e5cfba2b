// Formats call trees as JSON, for programs.
#pragma once

#include <vector>

#include <boost/json/array.hpp>

#include "calls/call_tree.hpp"

namespace lagtrap::cli {

// Callers precede callees; `times` has the times of each call without probe overhead.
[[nodiscard]] boost::json::array tree_calls_json(const calls::Tree& tree,
                                                 const std::vector<calls::Times>& times,
                                                 const std::vector<calls::Function>& functions);

}  // namespace lagtrap::cli
