// The function that somebody means by a short name.
#pragma once

#include <string>
#include <vector>

#include "cli/add/add_target.hpp"
#include "cli/programs/function_ways.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// As settings name it. `wanted` is its whole name, that without parameters, or the last part of that: "serve" of
// "shop::serve(int)". Errors: there is none, several are meant, or it cannot be watched.
[[nodiscard]] Result<std::string> choose_function(const std::vector<FunctionWay>& functions, const std::string& wanted,
                                                  const std::string& program);

// Of the target's program, whose file is read.
[[nodiscard]] Result<std::string> find_function(const AddTarget& target, const std::string& wanted);

}  // namespace lagtrap::cli
