// Names of functions as people want to read them.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::analysis {

// A C++ function's name without its parameters and without "(anonymous namespace)::"; other names as they are.
[[nodiscard]] std::string short_function_name(std::string_view name);

}  // namespace lagtrap::analysis
