// Finds a function by a short name.
#pragma once

#include <string>
#include <vector>

#include "cli/add/add_target.hpp"
#include "cli/programs/function_ways.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// Returns the function's name for the settings. `wanted` is its full name, with or without
// parameters, or the last component: "serve" for "shop::serve(int)". Fails if no function or
// several match, or if it cannot be watched.
[[nodiscard]] Result<std::string> choose_function(const std::vector<FunctionWay>& functions,
                                                  const std::string& wanted,
                                                  const std::string& program);

// The same for the functions of the target's program; reads its file.
[[nodiscard]] Result<std::string> find_function(const AddTarget& target, const std::string& wanted);

}  // namespace lagtrap::cli
