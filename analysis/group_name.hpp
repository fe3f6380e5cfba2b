#pragma once

#include <string>
#include <string_view>

namespace lagtrap::analysis {

// For sentences: identifiers of containers (32 hexadecimal digits or more) in the name of a unit or
// the path of a control group keep their first twelve digits, as container managers show them.
[[nodiscard]] std::string short_group_name(std::string_view name);

}  // namespace lagtrap::analysis
